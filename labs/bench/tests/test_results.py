"""The results file: medians, spread, factors, and which run another one can continue."""

from dataclasses import replace
from pathlib import Path

from labs.bench.results import Measured, Results


def results() -> Results:
    cells = [Measured({"topology": topology, "clients": 25}) for topology in ("direct", "default")]
    for cell, figures in zip(cells, ([100.0, 90.0, 110.0], [400.0, 500.0, 300.0]), strict=True):
        for figure in figures:
            cell.add({"rps": figure})
    return Results(
        lab="x",
        title="X",
        mode="quick",
        primary="rps",
        baseline={"topology": "direct"},
        machine={"cores": 2},
        versions={"nginx": "1.26"},
        configuration={"nginx": "abc"},
        started="2026-11-21T10:00:00Z",
        finished=None,
        noise={"notes": []},
        cells=cells,
    )


def test_median_and_spread() -> None:
    cell = Measured({})
    samples = [{"rps": 100.0, "late": 7.0}, {"rps": 90.0}, {"rps": 150.0}]
    for sample in samples:
        cell.add(sample)
    assert cell.samples == samples
    assert cell.median == {"rps": 100, "late": 7}
    assert cell.spread == {"rps": [90, 150], "late": [7, 7]}


def test_a_rejected_cell_has_no_figures() -> None:
    measured = results()
    measured.cells[1].reject("3 requests failed")
    assert (measured.cells[1].median, measured.cells[1].spread) == ({}, {})
    assert measured.factor(measured.cells[1]) is None
    measured.cells[0].reject("no")
    assert measured.factor(measured.cells[1]) is None


def test_a_factor_is_over_the_baselines_median() -> None:
    measured = results()
    assert [measured.factor(cell) for cell in measured.cells] == [1.0, 4.0]
    assert replace(measured, baseline={}).factor(measured.cells[1]) is None
    assert replace(measured, baseline={"topology": "elsewhere"}).factor(measured.cells[1]) is None


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x.json"
    measured = results()
    measured.write(path)
    assert Results.read(path) == measured
    assert [file.name for file in path.parent.iterdir()] == ["x.json"]


def test_only_the_same_experiment_can_continue() -> None:
    measured = results()
    assert measured.differs_from(replace(measured, started="later", noise={})) == []
    for name, changed in {
        "mode": replace(measured, mode="full"),
        "machine": replace(measured, machine={"cores": 4}),
        "versions": replace(measured, versions={"nginx": "1.27"}),
        "configuration": replace(measured, configuration={"nginx": "other"}),
        "cells": replace(measured, cells=measured.cells[:1]),
    }.items():
        assert measured.differs_from(changed) == [name]
