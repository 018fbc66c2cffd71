"""`python -m bench lab`: what it says and how it ends, with a house that is not there."""

import fcntl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pytest

from bench import __main__ as command
from bench import machine, runner
from bench.house import REPO, Problem
from bench.results import Measured, Results
from bench.tools import ab

LAB = """
title = "A lab"
tool = "ab"
services = ["nginx", "generator"]
repetitions = 2
primary = "rps"
baseline = { way = "slow" }
prepare = ["touch", "/tmp/it"]
prepare_in = "nginx"

[[cells]]
way = ["slow", "fast"]
"""


class Stage:
    """What the fake house and the fake tool do, and what was done with them."""

    def __init__(self) -> None:
        self.open = 0
        self.prepared: list[tuple[str, ...]] = []
        self.measured: list[str] = []
        self.breaks_at = -1  # Ctrl-C at this measurement
        self.refuses = ""
        self.prepare_fails = False
        self.cpu = "one"


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    stage = Stage()

    class House:
        def __init__(self, lab: Path, services: Sequence[str]) -> None:
            assert (lab, services) == (tmp_path / "labs" / "mine", ["nginx", "generator"])

        def __enter__(self) -> Self:
            stage.open += 1
            return self

        def __exit__(self, *_: object) -> None:
            stage.open -= 1

        def run(self, service: str, *words: str) -> str:
            if stage.prepare_fails:
                raise Problem("no room")
            stage.prepared.append((service, *words))
            return ""

        def cpu_seconds(self, services: Sequence[str]) -> dict[str, float]:
            return dict.fromkeys(services, 0.0)

    def measure(house: House, settings: Mapping[str, Any]) -> dict[str, float]:
        if len(stage.measured) == stage.breaks_at:
            stage.breaks_at = -1
            raise KeyboardInterrupt
        stage.measured.append(settings["way"])
        if settings["way"] == stage.refuses:
            raise Problem("502")
        return {"rps": 100.0 if settings["way"] == "slow" else 250.0}

    (tmp_path / "labs" / "mine").mkdir(parents=True)
    (tmp_path / "labs" / "mine" / "lab.toml").write_text(LAB)
    for where, name, value in (
        (command, "REPO", tmp_path),
        (command, "LABS", tmp_path / "labs"),
        (command, "RESULTS", tmp_path / "results"),
        (command, "House", House),
        (command, "report", lambda console: None),
        (machine, "describe", lambda house: {"cpu": stage.cpu}),
        (machine, "versions", lambda house, experiment: {}),
        (machine, "configuration", lambda house, experiment: {}),
        (runner, "calibrate", lambda: 10.0),
        (ab, "measure", measure),
    ):
        monkeypatch.setattr(where, name, value)
    return stage


def bench(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["bench", "lab", "mine", *words])
    return command.main()


def test_a_run(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(monkeypatch) == 0
    assert (stage.open, stage.prepared) == (0, [("nginx", "touch", "/tmp/it")])
    results = Results.read(tmp_path / "results" / "mine.json")
    assert results is not None
    assert results.finished is not None
    assert results.mode == "quick"
    assert "2.5" in capsys.readouterr().out.split("fast")[-1].splitlines()[0]


def test_a_refused_cell_shows_in_the_exit_code(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.refuses = "fast"
    assert bench(monkeypatch) == 1
    said = capsys.readouterr().out
    assert "502" in said
    assert "refused" in said


def test_interrupted_and_resumed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.breaks_at = 3  # two warm-ups and a sample are there
    assert bench(monkeypatch) == 130
    assert stage.open == 0
    stage.measured.clear()
    assert bench(monkeypatch) == 0
    assert stage.measured == ["slow", "fast", "fast", "slow", "fast"]
    assert "An interrupted run goes on" in capsys.readouterr().out
    # A finished one does not: the next begins anew.
    stage.measured.clear()
    assert bench(monkeypatch) == 0
    assert len(stage.measured) == 6


@pytest.mark.parametrize("reason", ["--fresh", "another machine"])
def test_an_interrupted_run_that_does_not_go_on(
    stage: Stage, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.breaks_at = 3
    bench(monkeypatch)
    stage.measured.clear()
    if reason == "--fresh":
        assert bench(monkeypatch, "--fresh") == 0
    else:
        stage.cpu = "another"
        assert bench(monkeypatch) == 0
        assert "others now: machine." in " ".join(capsys.readouterr().out.split())
    assert len(stage.measured) == 6


def test_a_lab_that_cannot_be_read(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "labs" / "mine" / "lab.toml").write_text(LAB.replace("title", "titel"))
    assert bench(monkeypatch) == 2
    assert "title: missing" in capsys.readouterr().out


def test_a_lab_that_fails_does_not_cost_the_others(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["bench", "lab", "nobody", "mine"])
    assert command.main() == 2
    assert "nobody" in capsys.readouterr().out
    assert Results.read(tmp_path / "results" / "mine.json")


def test_two_runs_at_once(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results").mkdir()
    with (tmp_path / "results" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert bench(monkeypatch) == 2
    assert "Another run" in capsys.readouterr().out
    assert stage.measured == []
    assert bench(monkeypatch) == 0


def test_a_preparation_that_fails(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.prepare_fails = True
    assert bench(monkeypatch) == 2
    assert "no room" in capsys.readouterr().out
    assert (stage.open, stage.measured) == (0, [])


def test_cells_with_different_keys_share_a_table() -> None:
    cells = [Measured({"server": "nginx", "rate": 500}), Measured({"server": "nginx", "connections": 10})]
    for cell in cells:
        cell.add({"rps": 1.0})
    results = Results("x", "X", "quick", "rps", {}, {}, {}, {}, "2026-11-21T10:00:00Z", None, {}, cells)
    columns = {str(column.header): list(column.cells) for column in command.table(results).columns}
    assert columns["rate"] == ["500", ""]
    assert columns["connections"] == ["", "10"]


def test_digest_is_of_what_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.machine.REPO", tmp_path)
    folder = tmp_path / "nginx"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "a.conf").write_text("a")
    before = machine.digest([folder])
    (folder / "README.md").write_text("for people")
    (folder / "__pycache__" / "x.pyc").write_text("left behind")
    assert machine.digest([folder]) == before
    (folder / "a.conf").write_text("b")
    changed = machine.digest([folder])
    assert changed != before
    (folder / "a.conf").rename(folder / "b.conf")
    assert machine.digest([folder]) not in (before, changed)


def test_every_part_of_the_configuration_is_there() -> None:
    for paths in machine.CONFIGURATION.values():
        for path in paths:
            assert (REPO / path).exists(), path


@pytest.mark.parametrize(
    ("value", "shown"), [(12083.4, "12,083"), (100, "100"), (2.444, "2.44"), (0.29, "0.29")]
)
def test_figures(value: float, shown: str) -> None:
    assert command.figure(value) == shown
