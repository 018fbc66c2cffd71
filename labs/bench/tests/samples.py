"""Made-up results for the tests of the report. SAMPLES: none of these figures was measured anywhere."""

import json
import tomllib
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
    return {"key": dict(key), "samples": [], "median": {}, "spread": {}, "problem": problem}


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
        "noise": {"repeated": [], "calibration_spread_percent": 4.1, "notes": []},
        "cells": cells,
    } | others


def write(folder: Path, results: dict[str, Any], toml: str = "", published: str = "") -> tuple[Path, Path]:
    """Put a lab where the report finds it; return the folders of the results and of the labs."""
    own = folder / "labs" / results["lab"]
    own.mkdir(parents=True)
    (folder / "results").mkdir(exist_ok=True)
    (folder / "results" / f"{results['lab']}.json").write_text(json.dumps(results))
    (own / "lab.toml").write_text(toml)
    (own / "published.toml").write_text(published)
    return folder / "results", folder / "labs"


def lab(folder: Path, results: dict[str, Any], toml: str = "", published: str = "") -> Lab:
    """A lab as the report reads it."""
    [found] = read(*write(folder, results, toml, published))
    return found


def real(name: str) -> dict[str, Any]:
    """Results for every cell of one of our labs with every metric that it declares; the third is rejected."""
    experiment = load(REPO / "labs" / name, "full")
    document = tomllib.loads((REPO / "labs" / name / "lab.toml").read_text())
    metrics = {"requests_per_second", "cpu_percent.nginx", "generator_cpu_percent", "system_cpu_percent"}
    metrics |= {cell.primary for cell in experiment.cells}
    for each in (*document["headlines"], *document["exhibits"]):
        metrics |= {each.get("metric", experiment.primary), *each.get("metrics", {})}
    cells = [cell(each.key, dict.fromkeys(metrics, 3.0)) for each in experiment.cells]
    if len(cells) > 3:
        cells[2] = rejected(experiment.cells[2].key, "37 of 2000 requests failed")
    return run(cells, name, primary=experiment.primary, baseline=dict(experiment.baseline))
