"""A learner's results, as the checks have kept them in NN.json.

The files belong to the learner, so they may hold anything.
"""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lessons.checking.lesson import lessons

MOST = 64 * 1024  # bytes of a file; an attempt takes less than 2 KiB
LATEST = 1e11  # seconds since 1970: the year 5138
LETTERS = 300  # of what a check has said


@dataclass(frozen=True)
class Result:
    """One lesson of one learner. Times are seconds since 1970, 0: never."""

    lesson: int
    state: str = ""  # done, begun or empty
    attempts: int = 0
    answers: int = 0  # given to the question, in the attempt that counts
    began: float = 0  # the attempt that counts: the one that was done, or else the newest
    done: float = 0
    again: float = 0  # when the newest attempt began, if an earlier one was done
    said: str = ""  # the last sentence of the newest attempt's check

    @property
    def newest(self) -> float:
        """When the newest attempt began."""
        return self.again or self.began


def results(folder: Path) -> tuple[list[Result], list[str]]:
    """The results of all lessons, and the names of files that hold no attempt."""
    found, damaged = [], []
    for lesson in lessons():
        file = folder / f"{lesson.number:02}.json"
        try:
            found.append(parse_result(lesson.number, json.loads(_read(file))))
        except FileNotFoundError:
            found.append(Result(lesson.number))
        except (ValueError, OSError, RecursionError):
            damaged.append(file.name)
            found.append(Result(lesson.number))
    return found, damaged


def parse_result(lesson: int, kept: Any) -> Result:
    """The result in a file's JSON. What is missing counts as 0. Raise ValueError if it is no attempt.

    An attempt that was done before it began, or without an answer, counts as begun.
    """
    attempts, said = int(_number(kept, "attempts")), kept.get("said") or ""
    if not isinstance(said, str):
        raise ValueError("said")
    newest, best = _attempt(kept), _attempt(kept.get("best") or {})
    counts = newest if _is_done(newest) else best if _is_done(best) else None
    began, done, answers = counts or newest
    state, again = "done" if counts else "begun", newest[0] if counts is best else 0
    return Result(lesson, state, attempts, answers, began, done if counts else 0, again, said[:LETTERS])


def _attempt(kept: Any) -> tuple[float, float, int]:
    """When it began, when it was done, and how many answers were given."""
    return _number(kept, "began"), _number(kept, "done"), int(_number(kept, "answers"))


def _is_done(attempt: tuple[float, float, int]) -> bool:
    began, done, answers = attempt
    return done >= began > 0 and answers >= 1


def _number(kept: Any, name: str) -> float:
    value = kept.get(name) or 0 if isinstance(kept, Mapping) else None
    if not isinstance(value, int | float) or not 0 <= value < LATEST:  # NaN is in no range
        raise ValueError(name)
    return value


def _read(file: Path) -> str:
    """Read a small file; its name may be that of a link, a pipe or gigabytes. Raise OSError or ValueError."""
    with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise ValueError("no file")
        content = opened.read(MOST + 1)
    if len(content) > MOST:
        raise ValueError("too long")
    return content.decode()
