"""The learner's progress in each lesson, as `make check` reports it."""

import json
import re
from typing import Any

LIMIT = 256 * 1024  # characters of a whole report
CHOICES = 4  # choices of a question
STATES = ("", "begun", "done")
WORD = re.compile(r"|k[0-9a-f]{8}")
NOTHING: dict[str, Any] = {"state": "", "word": "", "said": "", "choices": []}


class ResultsError(ValueError):
    """The text is not a list of results."""


def read_results(text: str) -> dict[int, dict[str, Any]]:
    """Return the result of each lesson, by its number: NOTHING's fields and `lesson`. Raise ResultsError."""
    try:
        if len(text) > LIMIT:
            raise ValueError(f"more than {LIMIT} characters")
        told = json.loads(text)
        if isinstance(told, dict):  # the form in which an earlier release stored them
            told = [{"lesson": number, **result} for number, result in told.items()]
        return {one["lesson"]: one for one in map(_read, told)}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ResultsError(f"not a list of results: {error!r}") from error


def _read(told: dict[str, Any]) -> dict[str, Any]:
    """Return a checked result, or raise ValueError; its texts come from a learner, and are not HTML."""
    result = {name: told.get(name) or empty for name, empty in NOTHING.items()}
    if result["state"] not in STATES or not WORD.fullmatch(result["word"]):
        raise ValueError(f"{result['state']!r}, {result['word']!r}")
    result["said"] = _text(result["said"])
    result["choices"] = [_text(choice) for choice in result["choices"]]
    if len(result["choices"]) not in (0, CHOICES):
        raise ValueError(f"a question has {CHOICES} choices")
    return {"lesson": int(told["lesson"]), **result}


def _text(told: Any) -> str:
    """Return a text without characters that UTF-8 cannot encode. Raise TypeError."""
    if not isinstance(told, str):
        raise TypeError("not a text")
    return told.encode("utf-8", "replace").decode()
