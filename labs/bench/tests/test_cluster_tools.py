"""The tools of labs/cluster, and what they read; tests/test_cluster.py runs them on real engines."""

from typing import Any

import pytest

from bench.experiment import load
from bench.tools import event
from stack import REPO


def second(**figures: float) -> dict[str, float]:
    quiet = {"asked": 10, "hits": 10, "misses": 0, "failed": 0, "retried": 0}
    return {**quiet, "p50_milliseconds": 1.0, "p99_milliseconds": 5.0, "slowest_milliseconds": 9.0, **figures}


def report(*seconds: dict[str, float]) -> dict[str, Any]:
    return {"begin": 0.0, "p99_milliseconds": 7.0, "seconds": list(seconds)}


def test_seconds_are_counted_from_the_event() -> None:
    figures = event.metrics(report(second(), second(hits=5, misses=5), second(retried=2)), 1)
    assert {name: value for name, value in figures.items() if name.startswith("hit_ratio@")} == {
        "hit_ratio@-1": 1.0,
        "hit_ratio@0": 0.5,
        "hit_ratio@1": 1.0,
    }
    assert (figures["errors@1"], figures["misses@0"]) == (2, 5)
    assert (figures["asked"], figures["misses"], figures["retried"], figures["failed"]) == (30, 5, 2, 0)
    assert figures["p99_milliseconds"] == 7.0


@pytest.mark.parametrize(
    ("after", "healed"),
    [
        ([second(retried=3)], 0.0),
        ([second(misses=1), second(), second()], 1.0),
        ([second(), second(failed=1), second()], 2.0),
        ([second(), second(), second(slowest_milliseconds=1500.0)], 3.0),
    ],
)
def test_it_is_healed_when_all_are_answered_at_once_from_a_cache(
    after: list[dict[str, float]], healed: float
) -> None:
    before = second(misses=3)  # no concern of the event
    assert event.metrics(report(before, *after), 1)["healed_seconds"] == healed


def test_the_lab_has_every_event() -> None:
    cells = load(REPO / "labs" / "cluster", "full").cells
    assert {cell.key.get("event") for cell in cells} - {None} == event.EVENTS.keys()
