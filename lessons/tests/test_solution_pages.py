"""The solutions fit the shipped files; pupils/test_solutions.py does what they say on a running stack."""

import re
import subprocess

import pytest

from checking.lesson import LESSONS, Lesson, lessons
from printed import CHANGING, NOT_TYPED, blocks, changes, in_section, solution
from stack import REPO

ALL = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.folder.name)


@ALL
def test_a_solution_has_its_title_its_commands_and_the_question(lesson: Lesson) -> None:
    page = (LESSONS / "solutions" / f"{lesson.folder.name}.md").read_text()
    title = lesson.title.removeprefix("Encore: ")
    assert page.splitlines()[0].lower() == f"# {lesson.number}. {title}: solution".lower()
    assert len(re.findall(r"^\*\*The question", page, re.M)) == 1
    # The only block that is neither typed nor a change is a second way, which pupils/test_lesson_11.py goes.
    others = ["nginx"] if lesson.number == 11 else []
    languages = [block.language for block in solution(lesson.number)]
    assert "" in languages
    assert [language for language in languages if language not in ("", *CHANGING)] == others


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


def test_what_is_not_typed_is_still_on_a_page() -> None:
    printed = [block for lesson in lessons() for block in blocks(lesson.section("Do"))]
    assert {command for block in printed for command in block.commands} >= NOT_TYPED


def test_a_command_of_both_pages_is_typed_once() -> None:
    """Repeated before the change, some of them would leave a copy that hides its effect."""
    typed = [lesson.number for lesson in lessons() if in_section(lesson, "Do")]
    assert typed == [2, 3, 7, 8, 9, 10, 11, 15, 17, 18, 19, 21]
