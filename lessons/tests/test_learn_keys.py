"""The keys and events of `make learn`, without a terminal and without a stack."""

import os
import pty
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import ClassVar, cast

import pytest

from lessons.checking import learn, printing
from lessons.checking.attempt import Attempt
from lessons.checking.progress import Finding
from lessons.checking.watching import Watch
from lessons.lesson import Lesson, lessons

ASKED = Finding(False, "One question is left.", "Why?", ("1", "2", "3", "4"))
ATTEMPT = cast(Attempt, SimpleNamespace(word="k0123456"))


class Progress:
    """A Progress whose checks find that the question is left, and which records the checks."""

    checks: ClassVar[list[tuple[str, bool]]] = []

    def __init__(self, evidence: object) -> None:
        """Do nothing: there is no stack."""

    def check(self, lesson: Lesson, letter: str, judged: bool) -> Finding:
        self.checks.append((letter, judged))
        return Finding(True, "It is done.") if letter == "c" else ASKED

    def results(self) -> list[dict[str, object]]:
        return [{"lesson": lesson.number, "state": ""} for lesson in lessons()]

    def publish(self) -> None:
        """Do nothing: there are no pages."""


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch, settings: None) -> list[tuple[str, bool]]:
    monkeypatch.setattr(learn, "Progress", Progress)
    Progress.checks = []
    return Progress.checks


def press(keys: str, news: str = "") -> Lesson | str | None:
    """Press each key in its turn; `news` says for each turn whether something has happened (+)."""
    turns, happened = iter(keys), iter(news)
    window = learn.Window(lessons()[0], lambda seconds: next(turns))
    window.attempt = ATTEMPT
    watch = cast(Watch, SimpleNamespace(news=lambda: next(happened, "") == "+"))
    return window.loop(watch)


@pytest.mark.parametrize(
    ("keys", "news", "expected"),
    [
        (" q", "", [("", False)]),
        (" aq", "", [("", False), ("a", True)]),  # an answer alone
        (" aq", "  +", [("", False), ("a", True)]),
        (" aq", " +", [("", False), ("a", False)]),  # something has happened before the answer
        ("    q", " ++ ", [("", False), ("", False)]),  # one check when all is calm again
        (" nc n", "", [("", False), ("c", True)]),
        (" c   n", "  ++", [("", False), ("c", True)]),  # a lesson that is done is not checked again
    ],
)
def test_a_check_follows_what_happens(
    checks: list[tuple[str, bool]], keys: str, news: str, expected: list[tuple[str, bool]]
) -> None:
    left = press(keys, news)
    assert checks == expected
    assert left == (lessons()[1] if keys[-1] == "n" else None)


def test_a_number_opens_a_lesson_and_a_wrong_one_none(checks: list[tuple[str, bool]]) -> None:
    assert press(" l2x3\x7f2\n") == lessons()[-1]  # 22
    assert press(" l99\nq") is None
    assert press(" g") == "g"


def test_the_page_says_all_that_is_needed(
    checks: list[tuple[str, bool]], capsys: pytest.CaptureFixture[str]
) -> None:
    press(" hq")
    shown = capsys.readouterr().out.rpartition(learn.CLEAR)[2]
    for part in ("Lesson 1: First hit", "k0123456", "Hint", "One question is left", "  d) 4", "quit"):
        assert part in shown
    assert "WORD" not in shown


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Yield the end of a terminal on which keys are pressed; the other end is standard input."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        yield ours
    os.close(ours)


def test_an_arrow_is_no_letter(terminal: int) -> None:
    with learn.keyboard() as key:
        os.write(terminal, b"A2\r")
        assert [key(60), key(60), key(60)] == ["a", "2", "\n"]
        os.write(terminal, b"\x1b[A")
        assert key(60) == ""
        os.write(terminal, b"c")
        assert key(60) == "c"


def test_commands_and_tables_stay_as_they_are(settings: None) -> None:
    command = "    " + "curl -s " + "x" * 150 + " # WORD"
    text = f"Words of **a** page, [a link](../a.md) and `code`, {'long ' * 30}\n\n{command}\n\n| a | **b** |"
    plain = printing.typed(text, ATTEMPT)
    assert plain.startswith("Words of a page, a link and `code`, long")
    assert command.replace("WORD", "k0123456") in plain.splitlines()
    assert max(len(line) for line in plain.splitlines() if "long" in line) <= 100
    assert f"{printing.BOLD}code{printing.PLAIN}" in printing.typed(text, ATTEMPT, bold=True)
