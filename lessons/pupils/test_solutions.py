"""Each lesson is done by what its pages say: README.md, and the solution."""

import re
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from lessons.checking.lesson import Lesson, lessons
from lessons.pupils.printed import in_section, solution
from lessons.pupils.school import Pupil
from lessons.pupils.test_refused_07_to_12 import excuse_a_busy_machine
from lessons.pupils.test_refused_13_to_22 import mend, title
from lessons.pupils.watched import watched
from tests.support.wait import wait_until


@pytest.fixture
def extras(pupil: Pupil, lesson: Lesson) -> Iterator[None]:
    """Those that the lesson is begun with, and the program in its second terminal."""
    start = lesson.section("Start")
    named = re.search(r"^    make up EXTRAS=(\w+)", start, re.M)
    if named:
        pupil.start_with(named[1])
    program = re.search(r"^    python3 \S+/application.py$", start, re.M)
    with pupil.application() if program else nullcontext():
        yield
    if named or program:
        pupil.start_with("")


@pytest.mark.usefixtures("extras")
@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.folder.name)
def test_the_pages_lead_to_the_end(pupil: Pupil, lesson: Lesson) -> None:
    pupil.begin(lesson.number)
    pupil.follow(in_section(lesson, "Do"))
    # In lesson 17, visitors come and a page is open: the browser's part.
    with watched(pupil) if lesson.number == 17 else nullcontext():
        pupil.follow(solution(lesson.number))
    if lesson.number == 19:
        pupil.type(mend(pupil))
        wait_until(lambda: "Not done yet" not in pupil.check()[1], within=60, every=1)
    pupil.follow(in_section(lesson, "Look"))
    if lesson.number == 12:
        excuse_a_busy_machine(pupil)
    for _ in range(3 if lesson.number == 18 else 0):  # a busy machine can spoil one of its runs
        if "Not done yet" in pupil.check()[1]:
            pupil.follow(solution(lesson.number))
    right = {question.right for question in lesson.questions}
    if lesson.number == 19:  # what is right for one fault is wrong for another
        right = {f"{title(pupil)}."}
    code, said = pupil.answer(*right)
    assert (code, f"Lesson {lesson.number} is done" in said) == (0, True), said
