from urllib.parse import urlencode

import pytest

from visitors.stamp import SKEW, Ear, Stamp, find, run_name, token, wall

MARK = Stamp("7f3a09", "c41e77", 12, 1795681091.123456)


def test_a_stamp_reads_as_chat_and_survives_the_wire() -> None:
    assert str(MARK) == "at-7f3a09-c41e77-12-1795681091.123456"
    frame = urlencode({"text": f"Bravo, Grüße & Küsse! {MARK}", "mode": "ANONTEXT"}).encode()
    assert find(frame) == MARK
    assert str(MARK).encode() in frame


@pytest.mark.parametrize(
    "frame",
    [
        b"text=hello&mode=ANONTEXT",
        b"text=at-noon&mode=ANONTEXT",
        b"text=at-7f3a09-c41e77-12-1795681091&mode=ANONTEXT",
        b"text=at-7f3a09-c41e7-12-1795681091.123456&mode=ANONTEXT",
        b"text=at-7f3a09-c41e77-12-1795681091.1234567&mode=ANONTEXT",
    ],
)
def test_other_lines_have_none(frame: bytes) -> None:
    assert find(frame) is None


def test_the_age_of_a_line_is_in_milliseconds() -> None:
    heard = Ear("7f3a09").hear(MARK, MARK.said + 0.25)
    assert heard
    assert heard[0] == pytest.approx(250, abs=0.01)
    assert heard[1] is None


def test_other_runs_are_not_heard() -> None:
    assert Ear("ffffff").hear(MARK, MARK.said) is None


def test_a_gap_is_a_lost_line() -> None:
    ear = Ear("r")
    faults = []
    for speaker, number in [("a", 5), ("b", 1), ("a", 6), ("a", 8), ("a", 9), ("b", 2), ("b", 2)]:
        heard = ear.hear(Stamp("r", speaker, number, 0.0), 0.0)
        assert heard
        faults.append(heard[1] is not None)
    assert faults == [False, False, False, True, False, False, True]


def test_clocks_that_differ_are_said_to() -> None:
    ear = Ear("7f3a09")
    assert ear.hear(MARK, MARK.said - SKEW / 2) == (0.0, None)
    heard = Ear("7f3a09").hear(MARK, MARK.said - SKEW * 2)
    assert heard
    assert "clocks" in (heard[1] or "")


def test_names() -> None:
    assert run_name("monday7") == "monday7"
    assert run_name("") == ""
    with pytest.raises(ValueError, match="letters"):
        run_name("Monday 7")
    assert token() != token()
    assert 0 <= wall() - wall() + 1 <= 1
