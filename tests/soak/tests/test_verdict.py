"""What counts as growth, and the table of a run."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.soak.verdict import MEASURES, Row, rows, table

HALF_HOUR = 360  # samples


def run(measure: str, name: str, value: Callable[[float], float | None]) -> list[dict[str, Any]]:
    """Samples of half an hour with one series: its value after so many hours, None for none."""
    samples: list[dict[str, Any]] = []
    for turn in range(1, HALF_HOUR + 1):
        seconds = turn * 5.0
        found = value(seconds / 3600)
        empty: dict[str, dict[str, float]] = {one.key: {} for one in MEASURES}
        series = {measure: {name: found}} if found is not None else {}
        samples.append({"seconds": seconds, **empty, **series})
    return samples


def judged(measure: str, name: str, value: Callable[[float], float | None], limit: float = 512) -> Row:
    [row] = rows(run(measure, name, value), {name: limit})
    return row


def wobble(hours: float) -> float:
    """Noise between -1 and 1."""
    return float(round(hours * 3600) * 7919 % 201 - 100) / 100


def test_a_level_with_noise_is_zero() -> None:
    row = judged("memory", "policyd", lambda hours: 80 + wobble(hours))
    assert (row.verdict, row.fault) == ("zero", False)


def test_what_grows_only_in_the_first_half_is_zero() -> None:
    row = judged("memory", "policyd", lambda hours: 80 + min(hours, 0.25) * 400 + wobble(hours))
    assert (row.verdict, row.fault) == ("zero", False)
    assert row.end - row.start > 90


def test_memory_that_would_take_a_twentieth_of_its_limit_in_a_day_grows() -> None:
    row = judged("memory", "policyd", lambda hours: 80 + 1.2 * hours)
    assert (row.verdict, row.fault) == ("GROWS", True)
    assert row.trend
    assert row.trend.slope == pytest.approx(1.2)


def test_memory_that_would_take_less_is_small() -> None:
    row = judged("memory", "policyd", lambda hours: 80 + 0.9 * hours)
    assert (row.verdict, row.fault) == ("small", False)


def test_what_shrinks_is_no_fault() -> None:
    row = judged("memory", "policyd", lambda hours: 80 - 20 * hours)
    assert (row.verdict, row.fault) == ("falls", False)


def test_a_cache_that_fills_has_a_reason_until_its_end() -> None:
    row = judged("memory", "varnish", lambda hours: 60 + 100 * hours)
    assert row.verdict.startswith("explained: VARNISH_STORAGE")
    assert not row.fault
    row = judged("memory", "varnish", lambda hours: 350 + 100 * hours)
    assert (row.verdict, row.fault) == ("GROWS", True)


def test_the_reason_is_for_memory_alone() -> None:
    assert judged("descriptors", "varnish", lambda hours: 60 + 100 * hours).fault


@pytest.mark.parametrize("measure", ["cpu", "descriptors", "log", "p50", "p95"])
def test_anything_else_grows_if_it_would_double_in_a_day(measure: str) -> None:
    assert judged(measure, "x", lambda hours: 40 + 2 * hours).verdict == "GROWS"
    assert judged(measure, "x", lambda hours: 40 + 1 * hours).verdict == "small"


def test_a_service_without_output_has_a_slope_of_zero() -> None:
    assert judged("log", "policyd", lambda _: 0).verdict == "zero"


def test_a_series_with_too_few_samples_is_a_fault() -> None:
    row = judged("p95", "join", lambda hours: 4 if hours < 0.26 else None)
    assert row.verdict.startswith("NOT MEASURED")
    assert row.fault


def test_requests_are_drawn_and_not_judged() -> None:
    assert rows(run("requests", "all", lambda hours: 100 + 100 * hours), {}) == []


def test_the_table_has_a_line_for_each_row() -> None:
    text = table([judged("memory", "policyd", lambda hours: 1234 + 4 * hours)])
    head, rule, line = text.splitlines()
    assert len(head) == len(rule) == len(line)
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == ["memory, MB", "policyd", "1,234", "1,236", "+4.00", "+4.00 to +4.00", "GROWS"]
