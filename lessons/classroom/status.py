"""What each copy is doing: its services, memory and CPU, and the lessons that its learner has done."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from checking.lesson import lessons
from classroom.checkout import SERVICES, checks_sum
from classroom.class_state import ClassState
from classroom.engine import Usage, usage
from classroom.plan import Copy

MIB = 2**20


@dataclass
class State:
    """One copy."""

    number: int
    health: str  # healthy, or what is not
    memory: float  # MiB
    cpu: float  # percent of one core
    done: list[int]  # lessons
    begun: list[int]
    note: str = ""  # why the list of lessons may be wrong


def states(opened: ClassState) -> list[State]:
    """All copies."""
    used = usage(opened.copies)
    return [state_of(opened, copy, used[copy.number]) for copy in opened.copies]


def state_of(opened: ClassState, copy: Copy, used: Usage) -> State:
    """One copy: its containers as the engine sees them, its learner's attempts as the checks have kept them.

    This checkout's own list of lessons is used; nothing in the learner's checkout runs.
    """
    folder = opened.folder_of(copy)
    done, begun, damaged = attempts(folder / ".run" / copy.project / "lessons")
    notes = [f"{name} cannot be read" for name in damaged]
    if checks_sum(folder) != opened.entries[copy.number].checks:
        notes.append("the learner has changed what checks the lessons")
    return State(copy.number, health(used), used.memory / MIB, used.cpu, done, begun, "; ".join(notes))


def health(used: Usage) -> str:
    """`healthy`, or each service that is not, with its state."""
    missing = {name: "missing" for name in SERVICES if name not in used.services}
    ill = {name: state for name, state in used.services.items() if state != "healthy"} | missing
    if len(missing) == len(SERVICES):
        return "down"
    return ", ".join(f"{name} {state}" for name, state in sorted(ill.items())) or "healthy"


def attempts(folder: Path) -> tuple[list[int], list[int], list[str]]:
    """The numbers of the finished and of the begun lessons, and the files that hold no attempt."""
    done: list[int] = []
    begun: list[int] = []
    damaged: list[str] = []
    for lesson in lessons():
        file = folder / f"{lesson.number:02}.json"
        if not file.exists():
            continue
        try:
            attempt: dict[str, Any] = json.loads(file.read_text())
            finished = attempt["done"] >= attempt["began"] > 0 and attempt["answers"] >= 1
            (done if finished else begun).append(lesson.number)
        except (ValueError, TypeError, KeyError, OSError):
            damaged.append(file.name)
    return done, begun, damaged


def as_json(found: list[State]) -> str:
    """For grading, or for another program."""
    return json.dumps([asdict(state) for state in found], indent=1)


def as_table(found: list[State]) -> str:
    """For the teacher, with totals in the last line."""
    lines = [f"{'copy':4}  {'memory':>9}  {'CPU':>6}  {'done':>7}  {'lessons':24}  health"]
    number = len(lessons())
    for state in found:
        done = ",".join(map(str, state.done)) or "-"
        begun = f" ({','.join(map(str, state.begun))} begun)" if state.begun else ""
        used = f"{state.memory:5.0f} MiB  {state.cpu:4.1f} %  {len(state.done):3}/{number:<3}"
        health = "; ".join(filter(None, (state.health, state.note)))
        lines.append(f"{state.number:4}  {used}  {done + begun:24}  {health}")
    memory, cpu = sum(state.memory for state in found), sum(state.cpu for state in found)
    lines.append(f"all   {memory:5.0f} MiB  {cpu:4.1f} %")
    return "\n".join(lines)
