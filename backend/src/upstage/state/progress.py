"""The results of the lessons, as `make check` reports them: a file in the data folder."""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from upstage.state.files import write_private

FILE = "lessons.json"
STATES = ("", "begun", "done")
WORD = re.compile(r"k[0-9a-f]{8}")
CHOICES = 4  # of each question
# Limits, in characters: for the whole report, then for each text, which is cut to this length.
MAX_REPORT = 256 * 1024
MAX_SAID = 2000
MAX_CHOICE = 500


class ProgressError(ValueError):
    """The text is not a list of results."""


@dataclass(frozen=True)
class Result:
    """How far a learner is with one lesson. Its texts come from outside and are not HTML."""

    state: str = ""  # one of STATES
    word: str = ""  # of the attempt, which only the learner's URLs contain; empty: not known
    said: str = ""  # the last sentences of the last check; empty: not checked yet
    choices: tuple[
        str, ...
    ] = ()  # the answers to the question in the order of their letters; none: not asked


def keep_progress(data: Path, text: str) -> bool:
    """Replace the results with those of `make check LESSON=all JSON=1`; return whether they differ.

    Raise ProgressError, OSError.
    """
    if len(text) > MAX_REPORT:
        raise ProgressError(f"the results have more than {MAX_REPORT} characters")
    try:
        told = {int(result["lesson"]): _result(result) for result in json.loads(text)}
    except (ValueError, TypeError, KeyError) as error:
        raise ProgressError(f"not a list of results: {error!r}") from error
    if told == read_progress(data):
        return False
    write_private(data / FILE, json.dumps({number: asdict(result) for number, result in told.items()}))
    return True


def read_progress(data: Path) -> dict[int, Result]:
    """Return the result of each lesson by its number; empty if none was reported."""
    try:
        kept = json.loads((data / FILE).read_text("utf-8"))
        return {
            # A file that an earlier release has written has only the states.
            int(number): Result(result) if result in STATES else _result(result)
            for number, result in kept.items()
        }
    except (OSError, ValueError, AttributeError, TypeError, KeyError):
        return {}


def _result(told: Any) -> Result:
    """Make a result of decoded JSON; an older checker reports the state only.

    Raise ValueError, TypeError, KeyError.
    """
    state, word = told["state"], told.get("word") or ""
    if state not in STATES:
        raise ValueError(f"a state can be {', '.join(map(repr, STATES))}")
    if word and not WORD.fullmatch(word):
        raise ValueError("a word is a k and eight hexadecimal digits")
    choices = tuple(_text(choice, MAX_CHOICE) for choice in told.get("choices") or ())
    if len(choices) not in (0, CHOICES):
        raise ValueError(f"a question has {CHOICES} choices")
    return Result(state, word, _text(told.get("said") or "", MAX_SAID), choices)


def _text(told: Any, limit: int) -> str:
    """Return the beginning of a text, without what UTF-8 cannot encode. Raise TypeError."""
    if not isinstance(told, str):
        raise TypeError("not a text")
    return told[:limit].encode("utf-8", "replace").decode()
