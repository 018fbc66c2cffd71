"""The state of each copy: its services, and its learner's results, which the checks write to NN.json.

These files belong to the learner, so they may contain anything; none of the copy's own code runs here.
"""

import csv
import io
import json
import time
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from lessons.lesson import lessons

from .copies import SERVICES, handed_out, made, run

LATEST = 1e11  # seconds since 1970: later times cannot be shown
LETTERS = 200  # characters that are kept of a check's message
WORDS = 60  # characters of it that the table shows
ROW = "{:>4}  {:>6}  {:24}  {:14}  {:60}  {}"
DAMAGED = "damaged"


@dataclass(frozen=True)
class Result:
    """One lesson of one learner. Times are in seconds since 1970; 0: never."""

    lesson: int
    state: str = ""  # done, begun, damaged or empty
    answers: int = 0  # to the question, in the attempt that counts: the best of the finished ones
    attempts: int = 0
    began: float = 0  # when the attempt that counts began
    done: float = 0
    newest: float = 0  # when the newest attempt began
    working: bool = False  # whether the newest attempt is unfinished, even if an earlier one is done
    said: str = ""  # the last sentence of its check


@dataclass(frozen=True)
class Copy:
    """One copy of the stack."""

    number: int
    health: str  # healthy, or the services that are not
    results: list[Result]  # one for each lesson

    def numbers(self, state: str) -> str:
        """Return the lessons in a state; a range of neighbours in the course is written as 1-4."""
        groups = groupby(self.results, lambda result: result.state == state)
        numbers = ([result.lesson for result in group] for alike, group in groups if alike)
        return ",".join("-".join(map(str, dict.fromkeys((each[0], each[-1])))) for each in numbers)

    @property
    def count(self) -> str:
        """How many lessons are done, and how many there are."""
        return f"{sum(result.state == 'done' for result in self.results)}/{len(self.results)}"

    @property
    def summary(self) -> str:
        """The lessons that are done, and those in another state."""
        others = [f"({self.numbers(state)} {state})" for state in ("begun", DAMAGED) if self.numbers(state)]
        return " ".join([self.numbers("done") or "-", *others])

    @property
    def current(self) -> Result | None:
        """The lesson whose newest attempt began last."""
        begun = [result for result in self.results if result.newest]
        return max(begun, key=lambda result: result.newest, default=None)


def read_copies(folder: Path) -> list[Copy]:
    """Return all copies of the class in a folder. Raise CalledProcessError."""
    services = running_services()
    found = []
    for copy in made(folder):
        project = handed_out(copy)["COMPOSE_PROJECT_NAME"]
        kept = copy / ".run" / project / "lessons"
        results = [read_result(lesson.number, kept) for lesson in lessons()]
        found.append(Copy(int(copy.name), health(services.get(project, {})), results))
    return found


def running_services() -> dict[str, dict[str, str]]:
    """Return the state of each service of each Compose project. Raise CalledProcessError."""
    labels = '{{.Label "com.docker.compose.project"}} {{.Label "com.docker.compose.service"}}'
    found: dict[str, dict[str, str]] = {}
    for line in run("docker", "ps", "--all", "--format", labels + " {{.State}} {{.Status}}"):
        project, service, state, status = line.split(" ", 3)
        if state == "running":  # as in "Up 5 minutes (healthy)", "Up 2 seconds (health: starting)"
            state = status.partition("(")[2].rstrip(")").removeprefix("health: ") or state
        found.setdefault(project, {})[service] = state
    return found


def health(services: dict[str, str]) -> str:
    """Return `healthy`, or each service that is not healthy, with its state."""
    if not services:
        return "down"
    states = dict.fromkeys(SERVICES, "missing") | services
    return ", ".join(f"{name} {state}" for name, state in states.items() if state != "healthy") or "healthy"


def read_result(lesson: int, folder: Path) -> Result:
    """Return a learner's result of a lesson."""
    try:
        return parse_result(lesson, json.loads((folder / f"{lesson:02}.json").read_text()))
    except FileNotFoundError:
        return Result(lesson)
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return Result(lesson, DAMAGED)


def parse_result(lesson: int, kept: Any) -> Result:
    """Return the result in a file's JSON. Raise ValueError, TypeError or AttributeError if it is not one."""
    tries = [one for one in (kept.get("best"), kept) if one and number(one, "done")]
    counts = min(tries, key=lambda one: number(one, "answers"), default=kept)
    return Result(
        lesson,
        "done" if tries else "begun",
        int(number(counts, "answers")),
        int(number(kept, "attempts")),
        number(counts, "began"),
        number(counts, "done"),
        number(kept, "began"),
        not number(kept, "done"),
        str(kept.get("said") or "")[:LETTERS],
    )


def number(kept: Any, name: str) -> float:
    """Return a number, or a time that can be shown."""
    value = float(kept.get(name) or 0)
    if not 0 <= value < LATEST:  # NaN is in no range
        raise ValueError(name)
    return value


def as_table(found: list[Copy], now: float) -> str:
    """Return a table for the teacher's terminal or a projector, learners longest at their lesson first."""
    lines = [ROW.format("copy", "done", "lessons", "now at", "the check's last words", "health")]
    for copy in sorted(found, key=lambda one: -minutes(one, now)):
        current, spent = copy.current, minutes(copy, now)
        working = f"{current.lesson}, for {spent} min" if current and spent >= 0 else "-"
        said = printable(current.said) if current and current.working else ""
        lines.append(ROW.format(copy.number, copy.count, copy.summary, working, said[:WORDS], copy.health))
    at_work = Counter(copy.current.lesson for copy in found if copy.current and copy.current.working)
    counts = [f"lesson {lesson}: {number}" for lesson, number in sorted(at_work.items())]
    return "\n".join([*lines, f"Learners at work: {'; '.join(counts) or 'none'}"])


def minutes(copy: Copy, now: float) -> int:
    """Return how many minutes the learner has been at an unfinished lesson; -1: at none."""
    current = copy.current
    return max(0, int(now - current.newest) // 60) if current and current.working else -1


def printable(text: str) -> str:
    """Return a learner's text as one line, without control characters for a terminal."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def as_csv(found: list[Copy]) -> str:
    """Return CSV for a gradebook: a line for each copy and lesson, without texts that a learner may write."""
    text, titles = io.StringIO(), {lesson.number: lesson.title for lesson in lessons()}
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("copy", "lesson", "title", "state", "answers", "attempts", "began", "done"))
    for copy in found:
        for one in copy.results:
            times = [day_and_time(at) for at in (one.began, one.done)]
            counts = (one.state, one.answers, one.attempts)
            table.writerow((copy.number, one.lesson, titles[one.lesson], *counts, *times))
    return text.getvalue().rstrip()


def day_and_time(at: float) -> str:
    """Return a time in a form that spreadsheets read; empty for never."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else ""
