"""The keys of `make learn`, without a terminal and without a stack."""

import time
from types import SimpleNamespace
from typing import cast

import pytest

from checking import learn
from checking.attempt import Attempt
from checking.lesson import lessons
from checking.progress import Finding
from checking.question import LETTERS
from checking.watching import Watch


@pytest.mark.parametrize("letter", LETTERS)
def test_every_letter_of_a_choice_is_an_answer(letter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, answers = [letter], list[str]()

    def pressed() -> str:
        time.sleep(0.01)
        return keys.pop() if keys else "q" if letter in answers or time.monotonic() > late else ""

    window = learn.Window(next(iter(lessons())))
    window._finding = Finding(False, "One question is left.", asked=True)
    monkeypatch.setattr(window, "_check", answers.append)
    monkeypatch.setattr(learn, "pressed", pressed)
    monkeypatch.setattr(learn, "publish", lambda: None)
    late = time.monotonic() + 5
    key = window._until_a_key(cast(Attempt, None), cast(Watch, SimpleNamespace(news=lambda: False)))
    assert (key, answers[-1]) == ("q", letter)
