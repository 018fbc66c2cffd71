"""lab.toml becomes cells, cells become samples, samples become tables."""

import fcntl
import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from labs.bench import __main__ as bench
from labs.bench import report
from labs.bench.experiment import load
from labs.bench.lab_stack import Problem, Usage
from labs.bench.tests.generator import Generator

LABS = Path(__file__).parents[2]
NAMES = [path.parent.name for path in sorted(LABS.glob("*/lab.toml"))]
LAB = """
title = "A lab"
driver = "fake"
services = ["nginx", "generator"]
repetitions = { quick = 3, full = 5 }
primary = "requests_per_second"
baseline = { topology = "direct" }
settings = { requests = { quick = 100, full = 5000 } }
warm_up = { requests = 1 }
cells = [{ topology = ["direct", "default"], clients = [1, 25], quick = { clients = [25] } }]
exhibits = [
    { kind = "limits", series = ["topology"] },
    { title = "Side by side", series = ["topology"] },
    { title = "From one to many", series = ["topology"], over = "clients" },
]
[topology]
direct = { url = "backend", rate = 10.0 }
default = { url = "nginx", rate = 25.0 }
"""
PUBLISHED = """
[[tables]]
keys = ["topology", "clients"]
figures = ["requests_per_second"]
rows = [["direct", 25, 628.08]]
"""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    folder = tmp_path / "labs" / "small"
    folder.mkdir(parents=True)
    (folder / "lab.toml").write_text(LAB)
    (folder / "published.toml").write_text(PUBLISHED)
    return folder


class Stack(Generator):
    """A stack without containers, in which each reading finds a service a second busier."""

    engine = SimpleNamespace(
        info=lambda: {"NCPU": 2, "MemTotal": 2**30, "KernelVersion": "6.1", "ServerVersion": "29"}
    )
    seconds = 0.0

    def __init__(self, *_: object) -> None:
        super().__init__(*["model name : x\n1.2"] * 3)

    def __enter__(self) -> "Stack":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def usage(self, services: Any) -> dict[str, Usage]:
        self.seconds += 1.0
        return dict.fromkeys(services, Usage(self.seconds, 30, 100))


class Driver:
    """Measures the rate in the settings; request number `fails` fails."""

    def __init__(self, fails: int = 0) -> None:
        self.asked: list[tuple[str, int]] = []
        self.fails = fails

    def measure(self, _: Stack, settings: Mapping[str, Any]) -> dict[str, float]:
        self.asked.append((settings["url"], settings["requests"]))
        if len(self.asked) == self.fails:
            raise Problem("a request\nfailed")
        rate = settings["rate"] + len(self.asked) % 2
        return {"requests_per_second": rate, "seconds": 2.0, "requests": 50}


@pytest.fixture
def run(lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    monkeypatch.setattr(bench, "REPO", tmp_path)
    monkeypatch.setattr(bench, "RESULTS", tmp_path)
    monkeypatch.setattr(bench, "LabStack", Stack)

    def run(driver: Driver, *arguments: str) -> int:
        monkeypatch.setattr(bench, "driver", lambda _: driver)
        monkeypatch.setattr("sys.argv", ["bench", *arguments])
        return bench.main()

    return run


def test_the_full_mode_has_every_combination_once_and_the_quick_mode_what_it_keeps(lab: Path) -> None:
    quick, full = load(lab, "quick"), load(lab, "full")
    assert [tuple(cell.key.values()) for cell in quick.cells] == [("direct", 25), ("default", 25)]
    every = [("direct", 1), ("direct", 25), ("default", 1), ("default", 25)]
    assert [tuple(cell.key.values()) for cell in full.cells] == every
    assert quick.cells[1].settings == {"requests": 100, "url": "nginx", "rate": 25.0, "clients": 25}


def test_each_round_is_measured_there_and_back_and_the_tables_are_written(run: Any, tmp_path: Path) -> None:
    driver = Driver()
    assert run(driver, "small", "--publish") == 0
    warm_up, there = [("backend", 1), ("nginx", 1)], [("backend", 100), ("nginx", 100)]
    assert driver.asked == [*warm_up, *there, *there[::-1], *there]
    [direct, default] = json.loads((tmp_path / "small.json").read_text())["cells"]
    assert direct["spread"]["requests_per_second"] == [10.0, 11.0]
    assert default["median"]["cpu_percent.nginx"] == 50.0
    assert default["median"]["memory_percent.nginx"] == 30.0
    text = (tmp_path / "labs" / "small" / "results.md").read_text()
    assert "| 25 clients | 11 [10 to 11] | 25 (2.27\N{MULTIPLICATION SIGN}) [25 to 26] |" in text
    assert "| direct · 25 clients | 628 | 11 |" in text
    assert "CPU of a request in µs" in text
    assert "From one to many" not in text


def test_a_rejected_cell_has_its_reason_and_sets_the_exit_code(run: Any, tmp_path: Path) -> None:
    assert run(Driver(fails=5), "small") == 1
    text = (tmp_path / "small.md").read_text()
    assert "- default · 25 clients: a request failed" in text
    assert "| 25 clients | 11" in text
    assert not (tmp_path / "labs" / "small" / "results.md").exists()


def test_a_mistake_is_named_and_the_other_labs_are_measured(
    run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "labs" / "wrong"
    wrong.mkdir()
    (wrong / "lab.toml").write_text(LAB.replace("baseline", "base_line"))
    assert run(Driver(), "wrong", "small") == 2
    assert "unexpected keyword argument 'base_line'" in capsys.readouterr().out
    assert (tmp_path / "small.md").exists()


def test_two_runs_at_once_would_remove_each_others_containers(run: Any, tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        driver = Driver()
        assert run(driver, "small") == 2
        assert driver.asked == []


@pytest.mark.parametrize("mode", ["quick", "full"])
@pytest.mark.parametrize("name", NAMES)
def test_every_lab_expands_and_its_exhibits_show_what_was_measured(name: str, mode: str) -> None:
    lab = load(LABS / name, mode)
    assert all((LABS / "bench" / "drivers" / f"{cell.driver}.py").exists() for cell in lab.cells)
    assert len({str(cell.key) for cell in lab.cells}) == len(lab.cells)
    figures = {lab.primary, "requests_per_second", "system_cpu_percent"}
    figures |= {metric for wanted in lab.exhibits for metric in wanted.get("metrics", ())}
    cells: list[Any] = [
        {"key": cell.key, "samples": [], "problem": None, "spread": {}, "median": dict.fromkeys(figures, 1.5)}
        for cell in lab.cells
    ]
    results = {"lab": name, "mode": mode, "cells": cells, "versions": {}, "machine": "", "measured": ""}
    text = report.write(results, LABS / name)
    missing = [
        wanted
        for wanted in lab.exhibits
        if "over" not in wanted and "kind" not in wanted and wanted.get("title", "All figures") not in text
    ]
    assert not missing


@pytest.mark.parametrize("name", [name for name in NAMES if (LABS / name / "published.toml").exists()])
def test_each_published_figure_stands_beside_a_cell(name: str) -> None:
    keys = [cell.key for cell in load(LABS / name, "full").cells]
    for article in tomllib.loads((LABS / name / "published.toml").read_text())["tables"]:
        if "from" in article["keys"]:
            continue  # no lab measures from that place
        for row in article["rows"]:
            assert dict(zip(article["keys"], row, strict=False)) in keys
