"""Lesson 18's judgement of runs, as nginx and the backend log them."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import cast
from zlib import crc32

import pytest

from lessons.checking.errors import Missing
from lessons.checking.laboratory import Laboratory
from lessons.checking.lesson import lessons
from logs.serverlogs import Line

(LESSON,) = (lesson for lesson in lessons() if lesson.number == 18)
LONG = 32.0  # seconds of a run


def run(began: float, pauses: tuple[float, ...] = (17.0,), lasts: float = LONG) -> Iterator[Line]:
    """The lines of a run on nginx.localhost whose backend pauses at these seconds, for two each time."""

    def line(url: str, at: float, seconds: float) -> Line:
        return Line(
            "GET", f"/stages/load?{url}={began:.0f}", 200, 9, f"{url}{began}{at}", host="nginx.localhost",
            seconds=seconds, ended=began + at + seconds,
        )  # fmt: skip

    def lasting(at: float) -> float:
        return max((pause + 2 - at for pause in pauses if pause <= at < pause + 2), default=0.004)

    for number in range(round(lasts * 50)):
        yield line("arrives", number / 50, lasting(number / 50))
    for user in range(5):
        at = user / 50
        while at < lasts:
            yield line("waits", at, lasting(at))
            at += max(0.1, lasting(at))


def check(*runs: Iterator[Line], unlogged: str = "none") -> str:
    """What the check says of these runs, or "". `unlogged`: a row that the backend has not logged."""
    lines = [line for each in runs for line in each]
    backend = [line for line in lines if unlogged not in line.url]
    evidence = SimpleNamespace(nginx_lines=lambda _: lines, backend_lines=lambda _: backend)

    try:
        LESSON.check(cast(Laboratory, SimpleNamespace(evidence=evidence, began=100.0, word="k1")))
    except Missing as missing:
        return str(missing)
    return ""


def test_three_runs_with_a_pause_each_are_right() -> None:
    assert check(run(100), run(135), run(170)) == ""


def test_a_model_without_requests_shows_nothing() -> None:
    alone = [[line for line in run(began) if "arrives" in line.url] for began in (100, 135, 170)]
    assert "the users who wait made 0 requests" in check(*map(iter, alone))


def test_the_percentiles_of_each_run_are_told() -> None:
    said = check(run(100), run(135))
    assert "these are 2" in said
    assert said.count("`waits` 1256 requests, p99 4 ms; `arrives` 1350 requests, p99 1740 ms") == 2


@pytest.mark.parametrize(
    ("last", "said"),
    [
        pytest.param(run(135, lasts=20), "15 s after its warm-up, too few", id="short"),
        pytest.param(run(135, pauses=()), "the backend answered all the time", id="no pause"),
        pytest.param(run(135, pauses=(1.0,)), "the backend answered all the time", id="pause in the warm-up"),
        pytest.param(run(135, (8, 12, 16, 20)), "p99 of both is high", id="four pauses"),
        pytest.param(
            (line for line in run(135) if crc32(line.id.encode()) % 4), "fifty times a second", id="busy"
        ),
    ],
)
def test_a_run_that_shows_nothing(last: Iterator[Line], said: str) -> None:
    assert said in check(run(100), last)


def test_requests_that_the_backend_has_not_logged() -> None:
    assert "backend's log has only" in check(run(100), unlogged="arrives")


def test_another_host_another_url_and_an_earlier_run_do_not_count() -> None:
    elsewhere = (replace(line, host="localhost") for line in run(100))
    other_url = (replace(line, url="/stages/load?word") for line in run(135))
    assert "no requests of a run" in check(elsewhere, other_url, run(50, lasts=30))
