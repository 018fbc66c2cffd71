"""What `make learn` draws, without a terminal: every lesson, in a small window and a large one."""

import re
from types import SimpleNamespace
from typing import cast

import pytest

from checking import learn
from checking.attempt import Attempt
from checking.commands import broken
from checking.lesson import Lesson, lessons
from checking.progress import Finding
from checking.screen import View, draw, rows

ATTEMPT = cast(Attempt, SimpleNamespace(word="k0123456"))
SIZES = pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
LESSONS = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.folder.name)


@pytest.fixture(autouse=True)
def ports(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, port in {
        "HTTP_PORT": "8080",
        "HTTPS_PORT": "8443",
        "LOCUST_PORT": "8089",
        "OBSERVE_PORT": "9090",
    }.items():
        monkeypatch.setenv(name, port)


def view(lesson: Lesson) -> View:
    """With a wrong answer, which takes the most room."""
    question = lesson.questions[0]
    choices = tuple(choice.text for choice in question.choices(""))
    wrong = max(question.wrong, key=lambda choice: len(choice.because))
    finding = Finding(
        False, f"{wrong.text}\nNo: {wrong.because}\n\nA `thing` is left:", "Why **so**?", choices
    )
    course = [(one.title, "done" if one.number < 5 else "") for one in lessons()]
    files = tuple(sorted(lesson.changes))
    return View(lesson.number, course, learn.page(lesson, ATTEMPT), files, lesson.hint, finding=finding)


def drawn(view: View, width: int, height: int) -> str:
    lines, _ = draw(view, width, height)
    assert rows(lines, width) == height
    return "\n".join("".join(part.text for part in line) for line in lines)


@SIZES
@LESSONS
def test_progress_verdict_question_and_keys_are_always_there(lesson: Lesson, width: int, height: int) -> None:
    for offset in (0, 10**6):
        shown = view(lesson)
        shown.offset = offset
        text = re.sub(r"\s+", " ", drawn(shown, width, height))
        assert f"Lesson {lesson.number}: {lesson.title} ████░" in text
        assert f" 4 of {len(lessons())} " in text
        assert re.search(
            r"No: .* A thing is left: Why so\? a .* b .* c .* d .* a b c d answer h hint .* q quit$", text
        )


@SIZES
@LESSONS
def test_a_page_has_whole_commands_and_no_markdown(lesson: Lesson, width: int, height: int) -> None:
    text = drawn(view(lesson), width, 200)
    assert not re.search(r"`|\*\*|\|--|\]\(", text)
    whole = re.sub(r" \\\n +", " ", text)
    for command in re.findall(r"^ {4,}(\S.*)$", learn.page(lesson, ATTEMPT), re.M):
        assert command in whole
    assert all(file in text for file in lesson.changes)


@SIZES
def test_the_list_has_every_lesson_or_those_around_the_chosen_one(width: int, height: int) -> None:
    shown = view(lessons()[4])
    shown.chosen = 18
    text = drawn(shown, width, height)
    assert re.search(r"^ +4  done +What is not there$(.*\n)+>  18 .*\n(.*\n)+.*Enter open", text, re.M)


@pytest.mark.parametrize(
    ("commands", "lines"),
    [
        ("for i in 1 2; do echo $i; done", ["for i in 1 2; \\", "    do echo \\", "    $i; done"]),
        ("echo 'a b c d e f g' \"h i j\"", ["echo \\", "    'a b c d e f g' \\", '    "h i j"']),
        ("echo 'a\nb c d e f g h i j'", ["echo 'a", "b c d e f g h i j'"]),
        ("ls # a comment of ours", ["ls \\", "    # a comment of ours"]),
        ("  echo a\\ b\\ c\\ d\\ e f", ["  echo \\", "      a\\ b\\ c\\ d\\ e \\", "      f"]),
    ],
)
def test_a_command_is_broken_where_the_shell_allows_it(commands: str, lines: list[str]) -> None:
    assert broken(commands, 16) == lines
