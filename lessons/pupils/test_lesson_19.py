"""Lesson 19: a fault that was drawn. test_solutions.py mends it as the solution says."""

import json

from checking.lesson import LESSONS
from faults.fault import faults
from school import Pupil


def title(pupil: Pupil) -> str:
    """What was drawn."""
    note = json.loads((pupil.folder / ".run" / pupil.stack.project / "fault.json").read_text())
    return next(fault.title for fault in faults() if fault.name == note["drawn"])


def mend(pupil: Pupil) -> str:
    """The command in the solution's row of this fault."""
    page = (LESSONS / "solutions" / "19-something-is-broken.md").read_text()
    (row,) = (line for line in page.splitlines() if f"| {title(pupil)} |" in line)
    return row.rsplit("| `")[-1].removesuffix("` |")


def test_step_by_step(pupil: Pupil) -> None:
    """What make break and make faults say does not tell the fault, and make mend ends it."""
    pupil.refused("Nothing is broken that is yours to find")
    said = pupil.stack.make("break", "FAULT=drawn")
    titles = [fault.title for fault in faults()]
    assert "A visitor writes: " in said
    assert not any(title in said for title in titles)
    assert "* " not in pupil.stack.make("faults")
    code, refused = pupil.check()
    assert code, refused
    assert any(sentence in refused for sentence in ("is not healthy", "still gets", "is paused"))
    pupil.stack.make("mend")
    pupil.refused("Nothing is broken that is yours to find")
