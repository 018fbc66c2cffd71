"""Made-up results for the tests of the report. SAMPLES: none of these figures was measured anywhere."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.experiment import load
from bench.report.reading import Lab, read
from stack import REPO

MACHINE = {
    "cpu": "SAMPLE, not a real machine",
    "cores": 2,
    "memory_bytes": 8 * 2**30,
    "kernel": "6.1",
    "engine": "20.10.24",
}
# Every metric that an exhibit of a lab asks for; what a tool measures decides which of them a real cell has.
FIGURES = {
    "hit_ratio": 0.1,
    "requests_to_backend": 5.0,
    "requests_per_second": 1000.0,
    "milliseconds": 2.5,
    "lowest_milliseconds": 0.3,
    "highest_milliseconds": 31.0,
    "deviation_milliseconds": 1.2,
    "errors": 3.0,
    "completed_percent": 99.2,
    "lost_records": 12.0,
    "doubled_records": 5.0,
    "damaged_records": 1.0,
    "crashes": 2.0,
    "malformed_files": 4.0,
    "operations_per_second": 6200.0,
    "memory_bytes": 17e6,
    "bytes_per_connection": 2040.0,
    "process_bytes_per_connection": 570.0,
    "tasks": 351.0,
    "p50_milliseconds": 2.1,
    "handshakes_per_second": 3100.0,
    "bytes_per_second": 9e8,
    "round_trips": 3.1,
    "server_cpu_microseconds_per_request": 140.0,
    "server_memory_bytes": 64e6,
    "requests_to_origin": 1.0,
    "served": 200.0,
    "first_milliseconds": 5.5,
    "fresh_status": 200.0,
    "expired_status": 200.0,
    "missing_status": 503.0,
    "p95_milliseconds": 4.4,
    "p99_milliseconds": 7.9,
    "join_milliseconds": 450.0,
    "memory_bytes_per_listener": 21_000.0,
    "server_cpu_percent": 61.0,
    "generator_cpu_percent": 55.0,
    "system_cpu_percent": 91.0,
    "system_without_generator_cpu_percent": 62.0,
    "cpu_percent.nginx": 60.0,
    "cpu_percent.backend": 40.0,
    "cpu_percent.generator": 57.0,
    "memory_percent.nginx": 12.0,
    "connections_per_second": 250.0,
    "attempts_without_a_port": 341.0,
    "loaded_percent": 98.0,
    "highest_memory_bytes": 90e6,
    "chat_p50_milliseconds": 4.7,
    "chat_p99_milliseconds": 46.0,
    "speakers_late_p99_milliseconds": 3.0,
}


def cell(key: Mapping[str, Any], median: Mapping[str, float], spread: float = 0.04) -> dict[str, Any]:
    """A measured cell of three samples, `spread` of the median apart on either side."""
    return {
        "key": dict(key),
        "samples": [
            {name: value * (1 + spread * side) for name, value in median.items()} for side in (-1, 0, 1)
        ],
        "median": dict(median),
        "spread": {name: [value * (1 - spread), value * (1 + spread)] for name, value in median.items()},
        "problem": None,
    }


def rejected(key: Mapping[str, Any], problem: str) -> dict[str, Any]:
    """A rejected cell."""
    return {**waiting(key), "problem": problem}


def waiting(key: Mapping[str, Any]) -> dict[str, Any]:
    """A cell that has not been measured yet."""
    return {"key": dict(key), "samples": [], "median": {}, "spread": {}, "problem": None}


def run(cells: list[dict[str, Any]], lab: str = "sample", **others: Any) -> dict[str, Any]:
    """A results file."""
    return {
        "lab": lab,
        "title": f"{lab} (SAMPLE)",
        "mode": "full",
        "primary": "requests_per_second",
        "baseline": {},
        "machine": MACHINE,
        "versions": {"nginx": "1.26.3"},
        "configuration": {"nginx": "a1" * 32},
        "started": "2026-11-21T10:20:00Z",
        "finished": "2026-11-21T10:29:00Z",
        "noise": {"calibration_milliseconds": [20.0], "calibration_spread_percent": 4.1, "notes": []},
        "cells": cells,
    } | others


def write(folder: Path, results: dict[str, Any], toml: str = "", published: str = "") -> tuple[Path, Path]:
    """Put a lab where the report finds it; returns the folder of the results and that of the labs."""
    place = folder / "labs" / results["lab"]
    place.mkdir(parents=True)
    (folder / "results").mkdir(exist_ok=True)
    (folder / "results" / f"{results['lab']}.json").write_text(json.dumps(results))
    (place / "lab.toml").write_text(toml)
    (place / "published.toml").write_text(published)
    return folder / "results", folder / "labs"


def lab(folder: Path, results: dict[str, Any], toml: str = "", published: str = "") -> Lab:
    """A lab as the report reads it."""
    [found] = read(*write(folder, results, toml, published))
    return found


def real(name: str, mode: str = "full", **others: Any) -> dict[str, Any]:
    """Results for every cell of one of our labs, all figures made up; the third cell is rejected."""
    experiment = load(REPO / "labs" / name, mode)
    cells = [
        cell(each.key, {metric: value * (1 + place % 7) for metric, value in FIGURES.items()})
        for place, each in enumerate(experiment.cells)
    ]
    if len(cells) > 3:
        cells[2] = rejected(
            experiment.cells[2].key, "37 of 2000 requests failed <script>alert('no')</script>"
        )
    given = {"mode": mode, "primary": experiment.primary, "baseline": dict(experiment.baseline)}
    return run(cells, name, **given | others)


def everything(folder: Path) -> tuple[Path, Path]:
    """All our labs, one of them half measured and one not at all, and a file that holds no results."""
    for place in sorted((REPO / "labs").glob("*/lab.toml")):
        name, published = place.parent.name, place.with_name("published.toml")
        results = real(name, "full" if name in ("chat-under-load", "fan-out") else "quick")
        if name == "chat-under-load":
            results["cells"][-1] = waiting(results["cells"][-1]["key"])
            results |= {"finished": None, "mode": "quick"}
        results["noise"]["notes"] = ["2 of 72 calibrations took over 10 % longer than the median, 20 ms."]
        write(folder, results, place.read_text(), published.read_text() if published.exists() else "")
    (folder / "results" / "bakeoff.json").unlink()
    (folder / "labs" / "broken").mkdir()
    (folder / "labs" / "broken" / "lab.toml").write_text('title = "A broken lab (SAMPLE)"\n')
    (folder / "results" / "broken.json").write_text('{"lab": "broken"')
    return folder / "results", folder / "labs"
