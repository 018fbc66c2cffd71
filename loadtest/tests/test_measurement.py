"""The figures of a measurement, and how they are shown."""

import csv
import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from comparison.measurement import Measurement
from results import chart, table
from verdict import judge

RUN = judge.Run(
    rows=[
        judge.Row("GET", "/media/*.svg", 90, 0, {5: 80, 50: 10}, length=9_000_000),
        judge.Row("GET", "/stages/demo", 10, 1, {5: 5, 200: 5}, length=1_000_000),
        # The backend holds these until there is a new picture.
        judge.Row("poll", "/media/video/*.jpg", 20, 0, {30_000: 20}, length=500_000),
        judge.Row("stage", "chat", 60, 0, {10: 59, 70: 1}),
        judge.Row("ws", "chat", 40, 0, {10: 39, 90: 1}),
        judge.Row("stage", "heard", 400, 4, {20: 400}),
        judge.Row("arrival", "visit", 10, 0, {900: 10}),
    ],
    caches={
        ("/media/*.svg", "client", "hit"): 80,
        ("/media/*.svg", "client", "stale"): 4,
        ("/media/*.svg", "varnish", "stale"): 4,
        ("/media/*.svg", "client", "miss"): 6,
        ("/media/*.svg", "backend", "miss"): 6,
        ("/stages/demo", "client", "none"): 30,
        ("/stages/demo", "backend", "none"): 30,
    },
)
BACKEND = {"requests_per_second": 3.7, "cpu_percent": 12.5, "clients": 9.0}
MEASURED = Measurement(
    topology="upstage.localhost",
    users=50,
    began=1_700_000_000.0,
    seconds=10.0,
    warm_up=77,
    run=RUN,
    lines=judge.judge(RUN, {"p95_ms": {"GET /media/*": 100}}),
    asked={"media": 9, "stage": 30},
    backend=BACKEND,
)
TOO_SLOW = judge.judge(RUN, {"p95_ms": {"GET /media/*": 20}})
DIRECT = replace(MEASURED, topology="direct.localhost", lines=TOO_SLOW, backend={"absent": "status 404"})


def test_crawlers_are_not_in_the_figures_of_visitors() -> None:
    caches = {**RUN.caches, ("(crawlers) page", "client", "miss"): 500}
    assert replace(MEASURED, run=replace(RUN, caches=caches)).figures() == MEASURED.figures()


def test_the_figures_of_a_measurement() -> None:
    assert MEASURED.figures() == {
        "requests_per_second": 12.0,
        "bytes_per_second": 1_050_000,
        "p50_ms": 5,
        # One of the hundred failed, and counts as infinitely slow.
        "p95_ms": 200,
        "p99_ms": 200,
        "hit_ratio": 0.7,
        "backend_requests_per_second": 3.7,
        "backend_cpu_percent": 12.5,
        "chat_p99_ms": 70,
        "visit_p99_ms": 900,
        "failures": 5,
        "failure_ratio": 0.0079,
        "warm_up_samples": 77,
        "seconds": 10.0,
    }


def test_what_was_not_measured_is_no_number() -> None:
    nothing = replace(MEASURED, run=judge.Run(), backend={"absent": "status 404"})
    empty = {name for name, figure in nothing.figures().items() if figure is None}
    assert empty == {
        *("p50_ms", "p95_ms", "p99_ms", "chat_p99_ms", "visit_p99_ms", "hit_ratio", "failure_ratio"),
        *("backend_requests_per_second", "backend_cpu_percent"),
    }
    assert table.row(nothing)["p95_ms"] == "-"


def test_a_row_has_every_column() -> None:
    row = table.row(MEASURED)
    assert list(row) == [column["key"] for column in table.COLUMNS]
    assert (row["topology"], row["bytes_per_second"], row["hit_ratio"]) == ("default", 1.05, 70.0)
    assert (row["warm_up_samples"], row["verdict"]) == (77, "GOOD")
    both = replace(MEASURED, arrivals=4.0)
    assert (table.row(both)["topology"], table.row(both)["users"]) == ("default, arrivals", "4 visits/s")
    assert table.row(MEASURED, "measuring")["verdict"] == "measuring"


def test_the_text_has_a_line_for_each_measurement_and_each_reason() -> None:
    lines = table.as_text([DIRECT, MEASURED], "default carries 50 visitors.").strip().splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["direct", "default"]
    assert len({len(line) for line in lines[:4]}) == 1
    reason = "p95 of GET /media/* 50 ms, at most 20 ms: too slow: GET /media/*.svg"
    assert lines[4] == f"direct, 50 users: {reason}"
    assert lines[5:] == ["default carries 50 visitors."]
    assert "Nothing was measured" in table.as_text([], "")


def test_csv_and_json_have_the_figures_in_full() -> None:
    first, second = csv.DictReader(table.as_csv([DIRECT, MEASURED]).splitlines())
    assert (first["topology"], first["verdict"], first["backend_cpu_percent"]) == ("direct", "FAILED", "")
    assert {name: float(second[name]) for name in MEASURED.figures()} == MEASURED.figures()
    busy = replace(MEASURED, run=replace(RUN, generator_cpu=41.26, generator_late=3.0))
    record: dict[str, Any] = json.loads(json.dumps(table.as_json(busy)))
    assert (record["generator_cpu_percent"], record["generator_late_milliseconds"]) == (41.3, 3.0)
    assert record["host"] == "upstage.localhost"
    assert {"row": "/media/*.svg", "tier": "backend", "outcome": "refresh", "answers": 3} in record["caches"]
    assert record["lines"][0]["what"] == "p95 of GET /media/*"


def bars(svg: str) -> list[float]:
    """Return the lengths of all bars."""
    root = ElementTree.fromstring(svg)
    return [float(bar.attrib["width"]) for bar in root.iter("{http://www.w3.org/2000/svg}rect")]


def test_the_picture_has_a_bar_for_each_figure_in_proportion() -> None:
    faster = replace(MEASURED, seconds=5.0)
    lengths = bars(chart.svg([MEASURED, faster]))
    assert len(lengths) == 2 * len(chart.PANELS)
    assert lengths[0] == pytest.approx(lengths[1] / 2, abs=0.1)
    assert {"12.0", "24.0", "1.05", "2.10"} <= set(
        ElementTree.fromstring(chart.svg([MEASURED, faster])).itertext()
    )
    assert chart.svg([]) == ""
