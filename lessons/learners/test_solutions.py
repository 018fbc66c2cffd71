"""Each lesson is done by what its pages say: README.md, and the solution."""

import re
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from lessons.checking.lesson import Lesson, lessons
from lessons.learners.printed import in_section, solution
from lessons.learners.school import Learner
from lessons.learners.test_refused_07_to_12 import excuse_a_busy_machine
from lessons.learners.test_refused_13_to_22 import mend, title
from lessons.learners.watched import watched
from tests.support.wait import wait_until


@pytest.fixture
def extras(learner: Learner, lesson: Lesson) -> Iterator[None]:
    """Those that the lesson is begun with, and the program in its second terminal."""
    start = lesson.section("Start")
    named = re.search(r"^    make up EXTRAS=(\w+)", start, re.M)
    if named:
        learner.start_with(named[1])
    program = re.search(r"^    python3 \S+/application.py$", start, re.M)
    with learner.application() if program else nullcontext():
        yield
    if named or program:
        learner.start_with("")


@pytest.mark.usefixtures("extras")
@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.folder.name)
def test_the_pages_lead_to_the_end(learner: Learner, lesson: Lesson) -> None:
    learner.begin(lesson.number)
    learner.follow(in_section(lesson, "Do"))
    # In lesson 17, visitors come and a page is open: the browser's part.
    with watched(learner) if lesson.number == 17 else nullcontext():
        learner.follow(solution(lesson.number))
    if lesson.number == 19:
        learner.type(mend(learner))
        wait_until(lambda: "Not done yet" not in learner.check()[1], within=60, every=1)
    learner.follow(in_section(lesson, "Look"))
    if lesson.number == 12:
        excuse_a_busy_machine(learner)
    for _ in range(3 if lesson.number == 18 else 0):  # a busy machine can spoil one of its runs
        if "Not done yet" in learner.check()[1]:
            learner.follow(solution(lesson.number))
    right = {question.right for question in lesson.questions}
    if lesson.number == 19:  # what is right for one fault is wrong for another
        right = {f"{title(learner)}."}
    code, said = learner.answer(*right)
    assert (code, f"Lesson {lesson.number} is done" in said) == (0, True), said
