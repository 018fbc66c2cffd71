"""Judges the series of a run: what grows, and whether that has a known reason and an end. Pure.

The first half of a run is warm-up: caches fill, and allocators take the memory that they then keep.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from tests.soak.trend import PARTS, Trend, trend

Sample = Mapping[str, Any]  # "seconds", and by measure: name -> value

MEMORY_A_DAY = 0.05  # share of its limit by which a service's memory may grow in a day
OTHERS_A_DAY = 1.0  # share of its own level by which anything else may: it has no limit to be compared with
AROUND = 12  # samples at the start and at the end of a run, a minute


@dataclass(frozen=True)
class Measure:
    """One panel of the plot. `judged`: growth of it would be a fault."""

    key: str
    title: str
    unit: str
    judged: bool = True


MEASURES = (
    Measure("memory", "memory", "MB"),
    Measure("cpu", "CPU", "% of a core"),
    Measure("descriptors", "open descriptors", ""),
    Measure("log", "output", "kB/min"),
    Measure("p50", "response time, p50", "ms"),
    Measure("p95", "response time, p95", "ms"),
    Measure("requests", "requests", "/s", judged=False),  # the users wait for their answers
    Measure("failures", "failed requests so far", "", judged=False),  # a single one is a fault
)


@dataclass(frozen=True)
class Expected:
    """A growth with a reason that ends at a share of the service's memory limit."""

    reason: str
    up_to: float


# Service -> the growth of its memory that is no fault.
EXPECTED = {
    "nginx": Expected("the micro-cache fills, up to 3,000 copies of 80 kB", up_to=0.3),
    "backend": Expected(
        "2,000 lines and 10,000 marks of each stage, and 1,000 sign-ins and keys, fill", up_to=0.15
    ),
    "locust": Expected("it keeps the points of its charts until its statistics are reset", up_to=0.5),
    "varnish": Expected(
        "VARNISH_STORAGE fills, mostly with spoken lines; overhead of each object", up_to=0.75
    ),
}


@dataclass(frozen=True)
class Row:
    """One series: medians of its first and last minute, and its trend per hour in the second half."""

    measure: Measure
    name: str
    start: float
    end: float
    trend: Trend | None  # None: too few samples
    verdict: str
    fault: bool


def rows(samples: Sequence[Sample], limits: Mapping[str, float]) -> list[Row]:
    """Every judged series of a run. `limits`: service -> memory in MB that it may use."""
    found = []
    for measure in MEASURES:
        if measure.judged:
            names = dict.fromkeys(name for sample in samples for name in sample[measure.key])
            found += [row(measure, name, samples, limits.get(name, 0.0)) for name in names]
    return found


def row(measure: Measure, name: str, samples: Sequence[Sample], limit: float) -> Row:
    """The verdict on one series; `limit` in MB is that of a service's memory."""
    series = [
        (sample["seconds"] / 3600, sample[measure.key][name])
        for sample in samples
        if name in sample[measure.key]
    ]
    values = [value for _, value in series]
    start, end = median(values[:AROUND]), median(values[-AROUND:])
    half = samples[-1]["seconds"] / 3600 / 2
    late = [(hours, value) for hours, value in series if hours > half]
    if len(late) < PARTS:
        return Row(measure, name, start, end, None, "NOT MEASURED: too few samples", True)
    hours, values = [list(column) for column in zip(*late, strict=True)]
    found = trend(hours, values)
    is_memory = measure.key == "memory"
    allowed = limit * MEMORY_A_DAY if is_memory else median(values) * OTHERS_A_DAY
    if found.low <= 0 <= found.high:
        return Row(measure, name, start, end, found, "zero", False)
    if found.slope < 0:
        return Row(measure, name, start, end, found, "falls", False)
    if found.slope * 24 <= allowed:
        return Row(measure, name, start, end, found, "small", False)
    expected = EXPECTED.get(name) if is_memory else None
    if expected and end <= expected.up_to * limit:
        return Row(measure, name, start, end, found, f"explained: {expected.reason}", False)
    return Row(measure, name, start, end, found, "GROWS", True)


def table(judged: Sequence[Row]) -> str:
    """The rows as a table in Markdown that can also be read as it is."""
    head = ("measure", "of", "start", "end", "slope per hour", "its 99.9 % interval", "verdict")
    lines = [head, *map(_cells, judged)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    right = (2, 3, 4, 5)
    padded = [
        [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in lines
    ]
    rule = ["-" * (width - 1) + (":" if column in right else "-") for column, width in enumerate(widths)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [padded[0], rule, *padded[1:]]) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    title = ", ".join(filter(None, (row.measure.title, row.measure.unit)))
    if row.trend is None:
        return title, row.name, number(row.start), number(row.end), "", "", row.verdict
    slope, low, high = (number(value, "+") for value in (row.trend.slope, row.trend.low, row.trend.high))
    return title, row.name, number(row.start), number(row.end), slope, f"{low} to {high}", row.verdict


def number(value: float, sign: str = "") -> str:
    """Three figures are enough: 1,234 and 12.3 and 0.123; `sign` "+": also of a positive number."""
    size = abs(value)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2
    return f"{value:{sign if round(value, decimals) else ''},.{decimals}f}"
