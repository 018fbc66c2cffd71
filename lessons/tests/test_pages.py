"""Every lesson has a page with all its sections, and a check whose names exist."""

import re
import subprocess

import pytest

from checking.lesson import Lesson, lessons
from checking.question import Question
from checking.rules import HOSTS, cases
from stack import REPO

SECTIONS = ("Start", "Do", "Look", "Question", "In production", "Manual")
ALL = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.folder.name)
QUESTIONS = [pytest.param(question, id=lesson.title) for lesson in lessons() for question in lesson.questions]


def test_the_numbers_have_no_gap() -> None:
    assert [lesson.number for lesson in lessons()] == list(range(1, len(lessons()) + 1))


@ALL
def test_a_page_has_its_sections_in_order(lesson: Lesson) -> None:
    headings = re.findall(r"^## (.*)", lesson.page, re.M)
    assert tuple(headings) == SECTIONS
    assert lesson.page.startswith(f"# {lesson.number}. ")
    assert lesson.title
    assert lesson.goal
    assert f"    make lesson LESSON={lesson.number}" in lesson.section("Start").splitlines()
    assert "](" not in lesson.section("Start").partition("\n\n")[0], "a link from here is none in the list"
    assert "https://" in lesson.section("Manual") or "](../" in lesson.section("Manual")
    assert "<details><summary>Hint</summary>" in lesson.section("Question")
    assert lesson.question_text.endswith("?")


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_has_four_different_choices_that_explain_themselves(question: Question) -> None:
    for order in ("a", "b"):
        choices = question.choices(order)
        assert len({choice.text for choice in choices}) == 4
        assert all(choice.because for choice in choices)
        assert question.right in choices
    orders = {tuple(choice.text for choice in question.choices(str(n))) for n in range(50)}
    assert len(orders) > 10


def test_no_answer_can_be_told_by_its_length() -> None:
    """By chance, each end of the lengths is right in a quarter of the lessons; a tie counts in part."""
    for end in (max, min):
        told = 0.0
        for lesson in lessons():
            for question in lesson.questions:
                length = end(len(choice.text) for choice in (question.right, *question.wrong))
                ties = sum(len(choice.text) == length for choice in question.choices(""))
                told += (len(question.right.text) == length) / ties / len(lesson.questions)
        assert told <= len(lessons()) / 3, end


@ALL
def test_a_check_names_files_and_rules_that_exist(lesson: Lesson) -> None:
    assert all((REPO / file).is_file() or file.endswith(".vtc") for file in lesson.changes)  # a new one
    assert lesson.changed_rules <= {case.rule for case in cases(HOSTS)}
    assert callable(lesson.check)


def test_a_reader_that_has_seen_enough_ends_the_list_quietly() -> None:
    listed = ["bash", "-c", "bin/lesson list | true"]
    assert subprocess.run(listed, cwd=REPO, stderr=subprocess.PIPE, text=True, check=True).stderr == ""
