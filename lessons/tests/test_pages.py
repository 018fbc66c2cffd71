"""Every lesson has a page with all its sections, and a check whose names exist."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from checking.lesson import Lesson, lessons
from checking.rules import HOSTS, cases
from stack import REPO

SECTIONS = ("You need", "Start", "Do", "Look", "Question", "In production", "Manual")
ALL = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.folder.name)


def test_the_numbers_have_no_gap() -> None:
    assert [lesson.number for lesson in lessons()] == list(range(1, len(lessons()) + 1))


@ALL
def test_a_page_has_its_sections_in_order(lesson: Lesson) -> None:
    headings = re.findall(r"^## (.*)", lesson.page, re.M)
    assert tuple(headings) == SECTIONS
    assert lesson.page.startswith(f"# {lesson.number}. ")
    assert lesson.title
    assert lesson.goal
    assert f"make lesson LESSON={lesson.number}\n" in lesson.section("Start")
    assert "https://" in lesson.section("Manual") or "](../" in lesson.section("Manual")
    assert "<details><summary>Hint</summary>" in lesson.section("Question")
    assert lesson.question_text.endswith("?")


@ALL
def test_a_question_has_four_different_choices_that_explain_themselves(lesson: Lesson) -> None:
    for order in ("a", "b"):
        choices = lesson.question.choices(order)
        assert len({choice.text for choice in choices}) == 4
        assert all(choice.because for choice in choices)
        assert lesson.question.right in choices
    orders = {tuple(choice.text for choice in lesson.question.choices(str(n))) for n in range(50)}
    assert len(orders) > 10


@ALL
def test_a_check_names_files_and_rules_that_exist(lesson: Lesson) -> None:
    assert all((REPO / file).is_file() for file in lesson.changes)
    assert lesson.changed_rules <= {case.rule for case in cases(HOSTS)}
    assert callable(lesson.check)


def test_the_table_of_refusals_quotes_the_checks() -> None:
    table = (REPO / "lessons" / "pupils" / "README.md").read_text()
    rows = [
        [cell.strip() for cell in row.split(" | ")] for row in re.findall(r"^\| (\d+ \| .*) \|$", table, re.M)
    ]
    common = sentences(REPO / "lessons" / "checking" / "judging.py")
    for number, attempt, said in rows:
        own = sentences(lessons()[int(number) - 1].folder / "check.py")
        assert any(said in sentence for sentence in own + common), (number, attempt, said)
    assert {int(number) for number, *_ in rows} == {lesson.number for lesson in lessons()}


def sentences(file: Path) -> list[str]:
    """The texts in a program; what an f-string fills in is left out."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(part.value) for part in node.values if isinstance(part, ast.Constant)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


@ALL
def test_each_refusal_of_a_check_meets_a_pupil(lesson: Lesson) -> None:
    """By a common part of a check's sentence and of what the pupil's tests expect."""
    expected = [
        text.replace("\\", "")
        for text in sentences(REPO / "lessons" / "pupils" / f"test_lesson_{lesson.number:02}.py")
    ]
    for sentence in refusals(lesson.folder / "check.py"):
        parts = {sentence[start : start + 14] for start in range(len(sentence) - 13)}
        assert any(part in text for text in expected for part in parts), sentence


def refusals(file: Path) -> list[str]:
    """The texts with which a check says that something is missing, named constants filled in."""
    tree = ast.parse(file.read_text())
    named = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "need":
            inside = [
                named.get(part.id, part) if isinstance(part, ast.Name) else part
                for part in ast.walk(node.args[1])
            ]
            found.append(
                " ".join(
                    part.value
                    for part in inside
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )
            )
    return found


def test_a_reader_that_has_seen_enough_ends_the_list_quietly() -> None:
    listed = ["bash", "-c", "bin/lesson list | true"]
    assert subprocess.run(listed, cwd=REPO, stderr=subprocess.PIPE, text=True, check=True).stderr == ""
