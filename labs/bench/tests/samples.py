"""Made results for the tests of the report. SAMPLES: none of these figures was measured anywhere.

They have the shape that the runner writes, and every case that the page must show: a refused cell, a run that
is not finished, a lab that was never run, a file that holds no results, text that looks like HTML.
"""

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Figures = dict[str, float]

MACHINE = {
    "cpu": "SAMPLE, not a real machine",
    "cores": 2,
    "memory_bytes": 8 * 2**30,
    "kernel": "6.1",
    "engine": "20.10.24",
}
VERSIONS = {"nginx": "1.26.3", "varnish": "7.7.0", "backend": "3.13.5", "generator": "2.4.66"}
WAYS = {
    "direct": (650.0, 82.0),
    "classic": (1210.0, 0.7),
    "default": (8900.0, 0.4),
    "nginx": (540.0, 85.0),
    "static": (9100.0, 0.3),
    "varnish": (7600.0, 0.4),
}
REFUSED = {"way": "nginx", "file": "big", "clients": 25, "keepalive": True}


def cell(
    key: Mapping[str, Any], median: Figures, *, spread: float = 0.04, samples: int = 3
) -> dict[str, Any]:
    """A measured cell: its samples lie `spread` (a share of the median) to either side."""
    return {
        "key": dict(key),
        "samples": [
            {name: value * (1 + spread * side) for name, value in median.items()} for side in (-1, 0, 1)
        ][:samples],
        "median": dict(median),
        "spread": {name: [value * (1 - spread), value * (1 + spread)] for name, value in median.items()},
        "problem": None,
    }


def refused(key: Mapping[str, Any], problem: str) -> dict[str, Any]:
    """A cell whose figure must not be reported."""
    return {"key": dict(key), "samples": [], "median": {}, "spread": {}, "problem": problem}


def waiting(key: Mapping[str, Any]) -> dict[str, Any]:
    """A cell that the run has not come to."""
    return {"key": dict(key), "samples": [], "median": {}, "spread": {}, "problem": None}


def run(
    lab: str,
    title: str,
    cells: list[dict[str, Any]],
    *,
    primary: str,
    baseline: Mapping[str, Any] | None = None,
    mode: str = "full",
    **others: Any,
) -> dict[str, Any]:
    """A results file."""
    return {
        "lab": lab,
        "title": f"{title} (SAMPLE)",
        "mode": mode,
        "primary": primary,
        "baseline": dict(baseline or {}),
        "machine": MACHINE,
        "versions": VERSIONS,
        "configuration": {"nginx": "a1" * 32, "varnish": "b2" * 32},
        "started": "2026-11-21T10:20:00Z",
        "finished": "2026-11-21T10:29:00Z",
        "noise": {"calibration_milliseconds": [20.0, 21.0], "calibration_spread_percent": 4.1, "notes": []},
        "cells": cells,
    } | others


def upstage() -> dict[str, Any]:
    """All 72 cells, one of them refused, one of them losing against the baseline."""
    cells = []
    for file, alive, clients, way in itertools.product(("small", "big"), (False, True), (1, 10, 25), WAYS):
        key = {"file": file, "keepalive": alive, "clients": clients, "way": way}
        requests, backend = WAYS[way]
        requests *= (1 if file == "small" else 0.17) * (0.55 if clients == 1 else 1)
        if alive and way not in ("direct", "nginx"):
            requests *= 2.1
        if key == REFUSED:
            cells.append(refused(key, "37 of 2000 requests failed <script>alert('no')</script>"))
        else:
            figures = {
                "requests_per_second": requests,
                "milliseconds": clients / requests * 1000,
                "generator_cpu_percent": 55.0,
                "cpu_percent.backend": backend,
                "cpu_percent.nginx": 60.0,
                "cpu_percent.generator": 57.0,
                "system_cpu_percent": 91.0,
            }
            cells.append(cell(key, figures))
    notes = ["2 of 72 calibrations took over 10 % longer than the median of 20 ms."]
    noise = {"calibration_milliseconds": [20.0], "calibration_spread_percent": 12.3, "notes": notes}
    return run("upstage", "Accelerating UpStage", cells, primary="requests_per_second",
               baseline={"way": "direct"}, noise=noise)  # fmt: skip


def opendata() -> dict[str, Any]:
    """Two ways, no scale."""
    cells = [
        cell(
            {"page": "home", "keepalive": False, "clients": clients, "way": way},
            {"requests_per_second": requests, "milliseconds": 1000 / requests},
        )
        for clients, way, requests in (
            (5, "direct", 71.0), (5, "varnish", 9300.0), (100, "direct", 70.0), (100, "varnish", 9800.0),
        )
    ]  # fmt: skip
    return run("opendata", "A slow page behind Varnish", cells, primary="requests_per_second",
               baseline={"way": "direct"}, mode="quick")  # fmt: skip


def static() -> dict[str, Any]:
    """A sweep to saturation, and connections held; the server as shipped cannot hold them."""
    limits = {
        "nginx as shipped": 9_000,
        "nginx of the article": 11_500,
        "nginx of today": 14_000,
        "Apache event": 4_000,
    }
    cells: list[dict[str, Any]] = []
    for server, limit in limits.items():
        for rate in (1000, 2000, 4000, 6000, 8000, 10_000, 12_000):
            late = max(1.0, rate / limit) ** 6
            cells.append(
                cell(
                    {"server": server, "rate": rate},
                    {
                        "replies_per_second": min(rate, limit * 0.98),
                        "milliseconds": (0.4 + rate / limit) * late,
                        "deviation_milliseconds": 0.2 * late,
                        "errors": max(0.0, rate - limit * 0.98) * 5,
                        "saturated": float(rate > limit),
                    },
                )
            )
    for server, each in {
        "nginx of the article": 1260.0,
        "nginx of today": 610.0,
        "Apache event": 21_500.0,
    }.items():
        cells.append(cell({"server": server, "connections": 10_000}, {"bytes_per_connection": each}))
    cells.insert(
        -3,
        refused({"server": "nginx as shipped", "connections": 10_000}, "9232 of 10000 connections refused"),
    )
    return run("static", "Serving static content", cells, primary="replies_per_second")


def ladder() -> dict[str, Any]:
    """Gains, a loss, one step that is lost in the noise, one refused."""
    steps = {
        "classic": 1210.0,
        "keep-alive to Varnish": 2900.0,
        "Unix socket to Varnish": 3350.0,
        "buffers as large as the files": 3400.0,
        "no access log": None,
        "larger hash": 3150.0,
        "a cache of one second in nginx": 7800.0,
        "default": 8900.0,
    }
    cells = [
        cell(
            {"keepalive": alive, "step": name},
            {
                "requests_per_second": requests * (1.6 if alive else 1),
                "generator_cpu_percent": 40.0,
                "cpu_percent.nginx": 80.0,
                "cpu_percent.varnish": 20.0,
                "cpu_percent.generator": 42.0,
                "system_cpu_percent": 92.0,
            },
        )
        if requests
        else refused({"keepalive": alive, "step": name}, "nginx did not start")
        for alive in (False, True)
        for name, requests in steps.items()
    ]
    return run(
        "ladder", "From 2011 to today", cells, primary="requests_per_second", baseline={"step": "classic"}
    )


def show() -> dict[str, Any]:
    """Round trips that grow with the rush; the run is not finished."""
    cells = []
    for way, rush in itertools.product(("direct", "default"), (0, 30, 60, 90)):
        if (way, rush) == ("default", 90):
            cells.append(waiting({"way": way, "rush": rush}))
            continue
        late = 1 + (rush / 30) ** 3 if way == "direct" else 1 + rush / 200
        cells.append(
            cell(
                {"way": way, "rush": rush},
                {
                    "p50_milliseconds": 2.1 * late,
                    "p95_milliseconds": 4.4 * late,
                    "p99_milliseconds": 7.9 * late,
                    "cpu_percent.backend": 6 + (rush if way == "direct" else rush / 20),
                },
                spread=0.1,
            )
        )
    return run(
        "show", "The stage during the rush", cells, primary="p99_milliseconds", finished=None, mode="quick"
    )


PUBLISHED = """
[[cell]]
key = { file = "small", clients = 25, way = "direct", keepalive = false }
requests_per_second = 628.08
"cpu_percent.backend" = 85

[[cell]]
key = { file = "small", clients = 25, way = "classic", keepalive = false }
requests_per_second = 1618.57
"cpu_percent.backend" = "<1"

[[cell]]
key = { file = "big", clients = 25, way = "direct", keepalive = false }
requests_per_second = 112.86

[[cell]]
key = { file = "big", clients = 25, way = "classic", keepalive = false }
requests_per_second = 207.26
"""

ASSUMPTIONS = """
audience = 10_000
seconds_between_files = 10
dollars_per_hour = 0.1
memory_bytes = 1_000_000_000
load = 0.5
hours = 100
"""

README = "# A lab\n\nBefore.\n\n<!-- results -->\nold figures\n<!-- /results -->\n\nAfter.\n"


def write(folder: Path, *labs: dict[str, Any]) -> tuple[Path, Path]:
    """Results and lab folders as the report finds them. Returns the two folders."""
    results, places = folder / "bench", folder / "labs"
    results.mkdir(parents=True)
    for lab in labs:
        (results / f"{lab['lab']}.json").write_text(json.dumps(lab))
        place = places / lab["lab"]
        place.mkdir(parents=True)
        (place / "lab.toml").write_text(f'title = "{lab["title"]}"\n')
        (place / "README.md").write_text(README)
        if lab["lab"] == "upstage":
            (place / "published.toml").write_text(PUBLISHED)
        if lab["lab"] == "static":
            (place / "assumptions.toml").write_text(ASSUMPTIONS)
    return results, places


def everything(folder: Path) -> tuple[Path, Path]:
    """Every lab, a lab that was never run, and a file that holds no results."""
    results, labs = write(folder, upstage(), opendata(), static(), ladder(), show())
    (labs / "bakeoff").mkdir()
    (labs / "bakeoff" / "lab.toml").write_text('title = "Five servers (SAMPLE)"\n')
    (labs / "broken").mkdir()
    (labs / "broken" / "lab.toml").write_text('title = "A broken lab (SAMPLE)"\n')
    (results / "broken.json").write_text('{"lab": "broken"')
    return results, labs
