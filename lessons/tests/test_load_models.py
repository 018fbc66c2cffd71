"""Lesson 12's judgement of a comparison, and of runs as nginx logs them."""

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from lessons.checking import checks
from lessons.checking.errors import Missing
from lessons.checking.laboratory import Laboratory
from lessons.lesson import lessons
from logs.serverlogs import Line

(LESSON,) = (lesson for lesson in lessons() if lesson.number == 12)


def run(began: float, pause: float = 17.0, lasts: float = 32.0) -> Iterator[Line]:
    """Yield the lines of a run on nginx.localhost whose backend pauses at that second, for two seconds."""

    def line(model: str, at: float) -> Line:
        seconds = pause + 2 - at if pause <= at < pause + 2 else 0.004
        url, ended = f"/stages/load?{model}={began:.0f}", began + at + seconds
        return Line("GET", url, 200, 9, f"{at}", host="nginx.localhost", seconds=seconds, ended=ended)

    for number in range(round(lasts * 50)):
        yield line("arrives", number / 50)
        if not number % 5 and not pause + 0.1 <= number / 50 < pause + 2:  # five users, ten times a second
            yield from [line("waits", number / 50)] * 5


def check(*runs: Iterable[Line], **nginx: object) -> str:
    """Return the check's refusal of these runs, or "". `nginx`: differences in that host's report."""
    one = {"topology": "default", "users": 50, "seconds": 30.0, "verdict": "PASS", "reason": "late"}
    report = {"measurements": [one, {**one, "topology": "nginx", **nginx}]}
    evidence = SimpleNamespace(nginx_lines=lambda _: [line for each in runs for line in each])
    lab = SimpleNamespace(evidence=evidence, began=100.0, word="k1", report=lambda _: report)
    try:
        checks.check(LESSON, cast(Laboratory, lab))
    except Missing as missing:
        return str(missing)
    return ""


@pytest.mark.parametrize(
    ("runs", "nginx", "said"),
    [
        pytest.param([run(100), run(135)], {}, "", id="right"),
        pytest.param([], {"users": 20}, "20 users for 30 seconds are too few", id="few users"),
        pytest.param([], {"topology": "static"}, "The comparison was of default, static", id="another site"),
        pytest.param([], {"verdict": "INCONCLUSIVE"}, "On nginx, Locust may have been", id="locust"),
        pytest.param([run(50, lasts=30)], {}, "no requests of a run", id="before the lesson"),
        pytest.param([run(100), run(135, lasts=20)], {}, "it lasted 15 s after its warm-up", id="short"),
        pytest.param([run(100), run(135, pause=99)], {}, "shows nothing yet", id="no pause"),
        pytest.param([run(100)], {}, "p99 4 ms; `arrives` 1350 requests, p99 1740 ms", id="once"),
    ],
)
def test_a_comparison_and_two_runs(runs: list[Iterator[Line]], nginx: dict[str, object], said: str) -> None:
    assert said in check(*runs, **nginx) if said else check(*runs, **nginx) == ""
