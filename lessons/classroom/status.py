"""What each copy is doing: its services, memory and CPU, and the lessons that its learner has done."""

import csv
import io
import json
import time
from dataclasses import asdict, dataclass

from lessons.checking.lesson import lessons
from lessons.classroom.checkout import SERVICES, checks_sum
from lessons.classroom.class_state import ClassState
from lessons.classroom.engine import Usage, usage
from lessons.classroom.plan import Copy
from lessons.classroom.results import Result, results

MIB = 2**20


@dataclass
class State:
    """One copy."""

    number: int
    health: str  # healthy, or what is not
    memory: float  # MiB
    cpu: float  # percent of one core
    lessons: list[Result]  # all of them
    note: str = ""  # why the list of lessons may be wrong

    def numbers(self, state: str) -> list[int]:
        """The lessons in a state."""
        return [result.lesson for result in self.lessons if result.state == state]


def states(opened: ClassState) -> list[State]:
    """All copies."""
    used = usage(opened.copies)
    return [state_of(opened, copy, used[copy.number]) for copy in opened.copies]


def state_of(opened: ClassState, copy: Copy, used: Usage) -> State:
    """One copy: its containers as the engine sees them, its learner's attempts as the checks have kept them.

    This checkout's own list of lessons is used; nothing in the learner's checkout runs.
    """
    folder = opened.folder_of(copy)
    found, damaged = results(folder / ".run" / copy.project / "lessons")
    notes = [f"{name} cannot be read" for name in damaged]
    if checks_sum(folder) != opened.entries[copy.number].checks:
        notes.append("the learner has changed what checks the lessons")
    return State(copy.number, health(used), used.memory / MIB, used.cpu, found, "; ".join(notes))


def health(used: Usage) -> str:
    """`healthy`, or each service that is not, with its state."""
    missing = {name: "missing" for name in SERVICES if name not in used.services}
    ill = {name: state for name, state in used.services.items() if state != "healthy"} | missing
    if len(missing) == len(SERVICES):
        return "down"
    return ", ".join(f"{name} {state}" for name, state in sorted(ill.items())) or "healthy"


def as_json(found: list[State]) -> str:
    """For grading, or for another program: each copy, and in it each lesson."""
    return json.dumps([asdict(state) for state in found], indent=1)


def as_csv(found: list[State]) -> str:
    """For a gradebook: one line for each copy and lesson, without what a learner could have written."""
    text, titles = io.StringIO(), {lesson.number: lesson.title for lesson in lessons()}
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("copy", "lesson", "title", "state", "answers", "attempts", "began", "done", "note"))
    for state in found:
        for one in state.lessons:
            times = (
                time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else ""
                for at in (one.began, one.done)
            )
            counts = one.state, one.answers, one.attempts
            table.writerow((state.number, one.lesson, titles[one.lesson], *counts, *times, state.note))
    return text.getvalue().rstrip()


def as_table(found: list[State]) -> str:
    """For the teacher, with totals in the last line."""
    lines = [f"{'copy':4}  {'memory':>9}  {'CPU':>6}  {'done':>7}  {'lessons':24}  health"]
    number = len(lessons())
    for state in found:
        done, begun = state.numbers("done"), ",".join(map(str, state.numbers("begun")))
        shown = (",".join(map(str, done)) or "-") + (f" ({begun} begun)" if begun else "")
        used = f"{state.memory:5.0f} MiB  {state.cpu:4.1f} %  {len(done):3}/{number:<3}"
        health = "; ".join(filter(None, (state.health, state.note)))
        lines.append(f"{state.number:4}  {used}  {shown:24}  {health}")
    memory, cpu = sum(state.memory for state in found), sum(state.cpu for state in found)
    lines.append(f"all   {memory:5.0f} MiB  {cpu:4.1f} %")
    return "\n".join(lines)
