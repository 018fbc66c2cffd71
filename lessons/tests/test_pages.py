"""Every lesson has a page with all its sections, a check whose names exist, and a solution that fits the
shipped files. (lessons/learners/test_solutions.py follows it on a running stack.)
"""

import ast
import re
import subprocess

import pytest

from lessons.checking.checks import questions
from lessons.checking.question import Question
from lessons.checking.rules import HOSTS, cases
from lessons.learners.printed import CHANGING, blocks, changes, in_section, solution
from lessons.lesson import PORTS, Lesson, gone, lessons
from tests.stack import REPO

SECTIONS = ("Start", "Do", "Look", "Question", "In production", "Manual")
ALL = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.folder.name)
QUESTIONS = [pytest.param(asked, id=lesson.title) for lesson in lessons() for asked in questions(lesson)]


def test_a_number_is_a_lesson_or_leads_to_one_or_to_a_page() -> None:
    numbers = {lesson.number for lesson in lessons()}
    assert numbers | gone().keys() == set(range(1, max(numbers) + 1))
    assert not numbers & gone().keys()
    for lead in gone().values():
        assert lead.keys() in ({"lesson"}, {"page"})
        assert lead.get("lesson") in {None, *numbers}
        file, _, heading = lead.get("page", "lessons/README.md").partition("#")
        titles = re.findall(r"^#+ (.*)", (REPO / file).read_text(), re.M)
        assert heading in ["", *(title.lower().replace(" ", "-") for title in titles)]


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
        assert len(choices) == 4
        assert all(question.reasons[choice] for choice in choices)
    orders = {tuple(question.choices(str(n))) for n in range(50)}
    assert len(orders) > 10


def test_no_answer_can_be_told_by_its_length() -> None:
    """By chance, the longest answer is right in a quarter of lessons, and so is the shortest; a tie counts
    in part.
    """
    for end in (max, min):
        told = 0.0
        for lesson in lessons():
            for question in questions(lesson):
                length = end(map(len, question.reasons))
                ties = sum(len(choice) == length for choice in question.reasons)
                told += (len(question.right) == length) / ties / len(questions(lesson))
        assert told <= len(lessons()) / 3, end


@ALL
def test_a_check_names_files_and_rules_that_exist(lesson: Lesson) -> None:
    assert all((REPO / file).is_file() or file.endswith(".vtc") for file in lesson.changes)  # a new VTC
    assert lesson.names("changed_rules") <= {case.rule for case in cases(HOSTS)}


@ALL
def test_learners_on_one_machine_share_no_port(lesson: Lesson) -> None:
    """A page names default ports, which `filled` replaces; a lesson's program listens on a free port."""
    solved = lesson.solution
    lines = f"{lesson.page}\n{solved}\n{lesson.told}".splitlines()
    here = "\n".join(line for line in lines if "docker compose exec" not in line)
    assert set(re.findall(r"localhost:(\d+)", here)) <= set(PORTS.values())
    assert not re.findall(r"127\.0\.0\.1:\d+", here)
    for program in lesson.folder.glob("*.py"):
        assert not re.findall(r'\("(?:|localhost|127\.0\.0\.1)", \d+', program.read_text()), program


@ALL
def test_a_check_says_every_sentence_with_its_figures(lesson: Lesson) -> None:
    nodes = ast.walk(ast.parse((lesson.folder / "check.py").read_text()))
    calls = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "need"]
    said = {ast.literal_eval(call.args[1]): len(call.args) - 2 for call in calls}
    assert said == {refusal: text.count("{") for refusal, text in lesson.told["refused"].items()}


def test_a_reader_that_has_seen_enough_ends_the_list_quietly() -> None:
    listed = ["bash", "-c", "bin/lesson list | true"]
    assert subprocess.run(listed, cwd=REPO, stderr=subprocess.PIPE, text=True, check=True).stderr == ""


# --- The solutions.


@ALL
def test_a_solution_has_its_title_its_commands_and_the_question(lesson: Lesson) -> None:
    page = lesson.solution
    assert page.splitlines()[0] == f"# {lesson.number}. {lesson.title}: solution"
    assert len(re.findall(r"^\*\*The question", page, re.M)) == 1
    languages = {block.language for block in solution(lesson.number)}
    assert "" in languages
    assert languages <= {"", *CHANGING}


@ALL
def test_a_solution_changes_texts_that_the_shipped_files_have_once(lesson: Lesson) -> None:
    found = changes(lesson.number)
    files = {change.file for change in found}
    own = {file for file in files if file.startswith(f"lessons/{lesson.folder.name}/")}
    assert files - own <= lesson.changes
    assert bool(files - own) == bool(lesson.changes)
    texts = {file: (REPO / file).read_text() if (REPO / file).exists() else "" for file in files}
    for file, old, new in found:
        assert old != new
        assert not old or texts[file].count(old) == 1, f"{file} has {texts[file].count(old)} times:\n{old}"
        texts[file] = texts[file].replace(old, new) if old else texts[file] + new


@ALL
def test_the_commands_are_bash(lesson: Lesson) -> None:
    printed = [block for heading in ("Do", "Look") for block in blocks(lesson.section(heading))]
    assert {block.language for block in printed} <= {""}
    for block in printed + [block for block in solution(lesson.number) if not block.language]:
        subprocess.run(["bash", "-n", "-c", block.text], check=True)


def test_a_command_of_both_pages_is_typed_once() -> None:
    """If some commands were repeated before a change, they would leave a copy that hides its effect."""
    typed = [lesson.number for lesson in lessons() if in_section(lesson, "Do")]
    assert typed == [2, 3, 7, 8, 9, 12, 15, 17, 21]
