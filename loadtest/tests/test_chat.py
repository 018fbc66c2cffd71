import re

import pytest

from users import chat


def test_a_line_is_a_readable_sentence() -> None:
    for number in range(1000):
        assert re.fullmatch(r"[A-Z][a-z]+[!?] The [a-z]+( [a-z]+)+\.", chat.say(1, number))


def test_no_two_lines_are_the_same_while_they_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    few = iter(["One.", "One.", "One.", "Two."])
    monkeypatch.setattr(chat, "sentence", lambda: next(few))
    assert [chat.say(1, 1), chat.say(2, 1)] == ["One.", "Two."]


def test_old_lines_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(chat.time, "monotonic", lambda: now)  # type: ignore[attr-defined]
    old = chat.say(1, 1)
    now += chat.KEPT
    last = chat.say(1, 2)
    assert set(chat.lines) == {old, last}
    now += 0.1
    chat.say(1, 3)
    assert old not in chat.lines
    assert chat.lines[last] == chat.Line(1, 2, 100.0 + chat.KEPT)


def test_the_age_of_a_line_is_in_milliseconds() -> None:
    age, fault = chat.Listener().hear(chat.Line(1, 12, 40.0), 40.25)
    assert age == pytest.approx(250)
    assert fault is None


def test_a_gap_is_a_lost_line() -> None:
    listener = chat.Listener()
    said = [(1, 5), (2, 1), (1, 6), (1, 8), (1, 9), (2, 2), (2, 2)]
    faults = [listener.hear(chat.Line(speaker, number, 0.0), 0.0)[1] for speaker, number in said]
    assert [fault is not None for fault in faults] == [False, False, False, True, False, False, True]
