"""The results of the lessons, as `make check` reports them: a file in the data folder."""

import json
from pathlib import Path

from upstage.state.files import write_private

FILE = "lessons.json"
STATES = ("", "begun", "done")


class ProgressError(ValueError):
    """The text is not a list of results."""


def keep_progress(data: Path, text: str) -> bool:
    """Replace the results with those of `make check LESSON=all JSON=1`; return whether they differ.

    Raise ProgressError, OSError.
    """
    try:
        told = {int(result["lesson"]): str(result["state"]) for result in json.loads(text)}
    except (ValueError, TypeError, KeyError) as error:
        raise ProgressError(f"not a list of results: {error!r}") from error
    if not set(told.values()) <= set(STATES):
        raise ProgressError(f"a state can be {', '.join(map(repr, STATES))}")
    if told == read_progress(data):
        return False
    write_private(data / FILE, json.dumps(told))
    return True


def read_progress(data: Path) -> dict[int, str]:
    """Return the state of each lesson by its number; empty if none was reported."""
    try:
        return {int(number): state for number, state in json.loads((data / FILE).read_text("utf-8")).items()}
    except (OSError, ValueError, AttributeError):
        return {}
