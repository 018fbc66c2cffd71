"""The keys and the events of `make learn`, without a terminal and without a stack."""

import os
import sys
import threading
import time
from types import SimpleNamespace
from typing import cast

import pytest

from checking import learn
from checking.lesson import lessons
from checking.progress import Finding
from checking.question import LETTERS
from checking.terminal import Terminal
from checking.watching import Watch

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
        self.typed, late = list(keys), time.monotonic() + 5
        watch = cast(Watch, SimpleNamespace(news=self.take_news))
        while not (left := self.window.turn(watch)) and time.monotonic() < late:
            if not self.typed and len(self.checks) >= checks and self.window.events.empty():
                break
        return left


@pytest.fixture
def learner(monkeypatch: pytest.MonkeyPatch) -> Learner:
    monkeypatch.setattr(learn, "publish", lambda: None)
    monkeypatch.setattr(learn, "course", lambda: [(lesson.title, "") for lesson in lessons()])
    return Learner()


@pytest.mark.parametrize("letter", LETTERS)
def test_an_answer_is_judged_at_once_if_nothing_has_happened(learner: Learner, letter: str) -> None:
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
    read, write = os.pipe()
    with os.fdopen(read) as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        os.write(write, b"\x1b")
        threading.Timer(0.01, os.write, (write, b"[AC\x1bOB\x1b[6~ ")).start()
        assert Terminal().keys() == ["up", "c", "down", "pagedown", "pagedown"]
        os.close(write)
        assert Terminal().keys() == ["q"]
