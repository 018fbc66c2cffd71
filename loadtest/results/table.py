"""The measurements as rows of the tab Compare, as text, as CSV, and as JSON."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from caches import table
from comparison.measurement import Measurement

# Title in the tab and in the text; key of the figure; its factor and decimals.
FIGURES: tuple[tuple[str, str, float, int], ...] = (
    ("requests/s", "requests_per_second", 1, 1),
    ("MB/s", "bytes_per_second", 1e-6, 2),
    ("p50 ms", "p50_ms", 1, 0),
    ("p95 ms", "p95_ms", 1, 0),
    ("p99 ms", "p99_ms", 1, 0),
    ("hits %", "hit_ratio", 100, 1),
    ("backend requests/s", "backend_requests_per_second", 1, 1),
    ("backend CPU %", "backend_cpu_percent", 1, 1),
    ("chat p99 ms", "chat_p99_ms", 1, 0),
    ("visit p99 ms", "visit_p99_ms", 1, 0),
    ("failures %", "failure_ratio", 100, 2),
)
COLUMNS = [
    {"key": "topology", "title": "Topology"},
    {"key": "users", "title": "Users"},
    *({"key": key, "title": title} for title, key, _, _ in FIGURES),
    {"key": "seconds", "title": "seconds"},
    {"key": "warm_up_samples", "title": "warm-up samples, left out"},
    {"key": "verdict", "title": "Verdict"},
]


def shown(value: float | None, factor: float, decimals: int) -> float | int | str:
    """Return a figure as the table shows it; `-` for a figure that was not measured."""
    if value is None:
        return "-"
    number = round(value * factor, decimals)
    return number if decimals else int(number)


def row(measured: Measurement, note: str = "") -> dict[str, Any]:
    """Return one row; `note` replaces the verdict while the measurement is under way."""
    figures = measured.figures()
    return {
        "topology": measured.name,
        "users": measured.load if measured.arrivals else measured.users,
        **{key: shown(figures[key], factor, decimals) for _, key, factor, decimals in FIGURES},
        "seconds": figures["seconds"],
        "warm_up_samples": figures["warm_up_samples"],
        "verdict": note or measured.conclusion.verdict,
    }


def as_text(measurements: Sequence[Measurement], outcome: str) -> str:
    """Return the table, then the reason for each bad verdict, then the conclusion."""
    if not measurements:
        return "\nNothing was measured: the run ended during the first warm-up.\n"
    cells = [[column["title"] for column in COLUMNS]]
    cells += [[str(row(measured)[column["key"]]) for column in COLUMNS] for measured in measurements]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells]
    lines.insert(1, "-" * len(lines[0]))
    return "\n".join(["", *lines, *reasons(measurements), *([outcome] if outcome else []), ""])


def reasons(measurements: Sequence[Measurement]) -> list[str]:
    """Return a line with the reason for each measurement that is not good."""
    return [f"{one.name}, {one.load}: {one.reason}" for one in measurements if one.reason]


def as_csv(measurements: Sequence[Measurement]) -> str:
    """Return a line for each measurement, with unrounded figures."""
    text = io.StringIO()
    writer = csv.writer(text)
    for number, measured in enumerate(measurements):
        record = summary(measured)
        if not number:
            writer.writerow(record)
        writer.writerow(record.values())
    return text.getvalue()


def summary(measured: Measurement) -> dict[str, Any]:
    """Return the figures of one measurement, and its verdict."""
    return {
        "topology": measured.name,
        "users": measured.users,
        "arrivals": measured.arrivals,
        **measured.figures(),
        "verdict": measured.conclusion.verdict,
        "reason": measured.reason,
    }


def as_json(measured: Measurement) -> dict[str, Any]:
    """Return everything about one measurement."""
    return {
        **summary(measured),
        "host": measured.topology,
        "began": measured.began,
        "carried": measured.carried,
        "limited": measured.limited,
        "generator_cpu_percent": round(measured.run.generator_cpu, 1),
        "generator_late_milliseconds": round(measured.run.generator_late, 1),
        "lines": [asdict(line) for line in measured.lines],
        "rows": [
            {"method": row.kind, "name": row.name, "num_requests": row.samples, "num_failures": row.failures}
            for row in measured.run.rows
        ],
        "caches": table.records(measured.caches),
    }
