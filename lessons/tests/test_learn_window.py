"""What `make learn` draws, and its keys and events: without a terminal and without a stack."""

import os
import re
import sys
import threading
import time
from types import SimpleNamespace
from typing import cast

import pytest

from lessons.checking import learn, terminal
from lessons.checking.attempt import Attempt
from lessons.checking.lesson import Lesson, lessons
from lessons.checking.progress import Finding
from lessons.checking.question import LETTERS
from lessons.checking.screen import View, broken, draw, rows
from lessons.checking.terminal import Terminal
from lessons.checking.watching import Watch

# --- Every lesson, in a small window and a large one.


pytestmark = pytest.mark.usefixtures("settings")
ATTEMPT = cast(Attempt, SimpleNamespace(word="k0123456"))
SIZES = pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
LESSONS = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.folder.name)


def view(lesson: Lesson) -> View:
    """With a wrong answer, which takes the most room."""
    question = lesson.questions[0]
    wrong, reason = max(question.reasons.items(), key=lambda each: len(each[1]))
    said = f"{wrong}\nNo: {reason}\n\nA `thing` is left:"
    finding = Finding(False, said, "Why **so**?", tuple(question.choices("")))
    course = [(one.title, "done" if one.number < 5 else "") for one in lessons()]
    files = tuple(sorted(lesson.changes | lesson.names("edits")))
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


# --- Keys and events.


ASKED = Finding(False, "One question is left.", "Why?", ("1", "2", "3", "4"))


class Learner:
    """Presses keys in a window whose checks find that the question is left."""

    def __init__(self) -> None:
        self.typed, self.news = list[str](), False
        terminal = SimpleNamespace(
            keys=self.keys, resized=lambda: False, show=lambda view: view.offset, forget=lambda: None
        )
        self.window = learn.Window(lessons()[0], cast(Terminal, terminal))
        self.window.check = self.check  # type: ignore[method-assign]
        self.checks = list[tuple[str, bool]]()

    def keys(self) -> list[str]:
        typed, self.typed = self.typed, []
        time.sleep(0.005)
        return typed

    def check(self, letter: str, judged: bool) -> None:
        self.checks.append((letter, judged))
        self.window.events.put(learn.Event(finding=ASKED))

    def take_news(self) -> bool:
        news, self.news = self.news, False
        return news

    def press(self, *keys: str, checks: int = 0) -> str:
        """Until that many checks were made; return the key that leaves the loop."""
        self.typed, late = list(keys), time.monotonic() + 60
        watch = cast(Watch, SimpleNamespace(news=self.take_news))
        while not (left := self.window.turn(watch)) and time.monotonic() < late:
            waits = self.typed or self.window._running or not self.window.events.empty()
            if not waits and len(self.checks) >= checks:
                break
        return left


@pytest.fixture
def learner(monkeypatch: pytest.MonkeyPatch) -> Learner:
    monkeypatch.setattr(learn, "CALM", 0)
    monkeypatch.setattr(learn, "publish", lambda: None)
    monkeypatch.setattr(learn, "course", lambda: [(lesson.title, "") for lesson in lessons()])
    return Learner()


def test_an_answer_is_judged_at_once_if_nothing_has_happened(learner: Learner) -> None:
    letter = LETTERS[-1]
    learner.news = True
    learner.press(checks=1)
    learner.press(letter, checks=2)
    assert learner.checks == [("", False), (letter, True)]
    learner.news = True
    learner.press(letter, checks=3)
    assert learner.checks[2] == (letter, False)


def test_a_number_chooses_a_lesson(learner: Learner) -> None:
    for keys, number in (("12", 12), ("192", 2), ("8", 8)):
        learner.window.view.chosen = 0
        assert learner.press("l", *keys, "enter") == "n"
        assert learner.window._next == lessons()[number - 1]


def test_a_fault_in_a_thread_is_a_sentence(learner: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", learner.window._failed)
    thread = threading.Thread(target=lambda: 1 // 0)
    thread.start()
    thread.join()
    learner.press()
    assert "ZeroDivisionError" in learner.window.view.finding.verdict


def test_an_arrow_is_no_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "REST", 60)  # the rest of the first key comes later
    read, write = os.pipe()
    with os.fdopen(read) as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        os.write(write, b"\x1b")
        threading.Timer(0.01, os.write, (write, b"[AC\x1bOB\x1b[6~ ")).start()
        assert Terminal().keys() == ["up", "c", "down", "pagedown", "pagedown"]
        os.close(write)
        assert Terminal().keys() == ["q"]
