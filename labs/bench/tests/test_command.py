"""`python -m bench lab`: its output and exit code, with a fake stack and tool."""

import fcntl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pytest

from bench import __main__ as command
from bench import machine, runner
from bench.lab_stack import REPO, Problem, Usage
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


class Fake:
    """What the fake stack and tool do, and what was done with them."""

    def __init__(self) -> None:
        self.started = 0
        self.prepared: list[tuple[str, ...]] = []
        self.measured: list[str] = []
        self.breaks_at = -1  # Ctrl-C at this measurement
        self.rejects = ""
        self.prepare_fails = False
        self.cpu = "one"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    fake = Fake()

    class LabStack:
        def __init__(self, lab: Path, services: Sequence[str]) -> None:
            assert (lab, services) == (tmp_path / "labs" / "mine", ["nginx", "generator"])

        def __enter__(self) -> Self:
            fake.started += 1
            return self

        def __exit__(self, *_: object) -> None:
            fake.started -= 1

        def run(self, service: str, *words: str) -> str:
            if fake.prepare_fails:
                raise Problem("disk full")
            fake.prepared.append((service, *words))
            return ""

        def usage(self, services: Sequence[str]) -> dict[str, Usage]:
            return dict.fromkeys(services, Usage(0.0, 0, 1))

    def measure(lab: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
        if len(fake.measured) == fake.breaks_at:
            fake.breaks_at = -1
            raise KeyboardInterrupt
        fake.measured.append(settings["way"])
        if settings["way"] == fake.rejects:
            raise Problem("502")
        return {"rps": 100.0 if settings["way"] == "slow" else 250.0}

    (tmp_path / "labs" / "mine").mkdir(parents=True)
    (tmp_path / "labs" / "mine" / "lab.toml").write_text(LAB)
    for where, name, value in (
        (command, "REPO", tmp_path),
        (command, "LABS", tmp_path / "labs"),
        (command, "RESULTS", tmp_path / "results"),
        (command, "LabStack", LabStack),
        (command, "report", lambda console: None),
        (machine, "describe", lambda stack: {"cpu": fake.cpu}),
        (machine, "versions", lambda stack, experiment: {}),
        (machine, "configuration", lambda stack, experiment: {}),
        (runner, "calibrate", lambda: 10.0),
        (ab, "measure", measure),
    ):
        monkeypatch.setattr(where, name, value)
    return fake


def bench(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["bench", "lab", "mine", *words])
    return command.main()


def test_a_run_prints_its_figures_and_writes_its_results(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(monkeypatch) == 0
    assert (fake.started, fake.prepared) == (0, [("nginx", "touch", "/tmp/it")])
    results = Results.read(tmp_path / "results" / "mine.json")
    assert results is not None
    assert results.finished is not None
    assert results.mode == "quick"
    assert "2.5" in capsys.readouterr().out.split("fast")[-1].splitlines()[0]


def test_a_rejected_cell_sets_the_exit_code(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.rejects = "fast"
    assert bench(monkeypatch) == 1
    said = capsys.readouterr().out
    assert "502" in said
    assert "rejected" in said


def test_an_interrupted_run_continues(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.breaks_at = 3  # two warm-ups and a sample are there
    assert bench(monkeypatch) == 130
    assert fake.started == 0
    fake.measured.clear()
    assert bench(monkeypatch) == 0
    assert fake.measured == ["slow", "fast", "fast", "slow", "fast"]
    assert "Continuing an interrupted run" in capsys.readouterr().out
    # A finished run does not continue: the next one starts over.
    fake.measured.clear()
    assert bench(monkeypatch) == 0
    assert len(fake.measured) == 6


@pytest.mark.parametrize("reason", ["--fresh", "another machine"])
def test_an_interrupted_run_starts_over_if_told_so_or_if_a_condition_has_changed(
    fake: Fake, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.breaks_at = 3
    bench(monkeypatch)
    fake.measured.clear()
    if reason == "--fresh":
        assert bench(monkeypatch, "--fresh") == 0
    else:
        fake.cpu = "another"
        assert bench(monkeypatch) == 0
        assert "have changed: machine." in " ".join(capsys.readouterr().out.split())
    assert len(fake.measured) == 6


def test_a_mistake_in_lab_toml_is_printed(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "labs" / "mine" / "lab.toml").write_text(LAB.replace("title", "titel"))
    assert bench(monkeypatch) == 2
    assert "title: missing" in capsys.readouterr().out


def test_the_other_labs_are_measured_if_one_fails(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["bench", "lab", "missing", "mine"])
    assert command.main() == 2
    assert "missing" in capsys.readouterr().out
    assert Results.read(tmp_path / "results" / "mine.json")


def test_a_second_run_at_the_same_time_is_rejected(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results").mkdir()
    with (tmp_path / "results" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert bench(monkeypatch) == 2
    assert "Another run" in capsys.readouterr().out
    assert fake.measured == []
    assert bench(monkeypatch) == 0


def test_a_failed_preparation_ends_the_lab(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.prepare_fails = True
    assert bench(monkeypatch) == 2
    assert "disk full" in capsys.readouterr().out
    assert (fake.started, fake.measured) == (0, [])


def test_cells_with_different_keys_share_a_table() -> None:
    cells = [Measured({"server": "nginx", "rate": 500}), Measured({"server": "nginx", "connections": 10})]
    for cell in cells:
        cell.add({"rps": 1.0})
    results = Results("x", "X", "quick", "rps", {}, {}, {}, {}, "2026-11-21T10:00:00Z", None, {}, cells)
    columns = {str(column.header): list(column.cells) for column in command.table(results).columns}
    assert columns["rate"] == ["500", ""]
    assert columns["connections"] == ["", "10"]


def test_the_digest_covers_names_and_contents_of_what_decides_about_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.machine.REPO", tmp_path)
    folder = tmp_path / "nginx"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "a.conf").write_text("a")
    before = machine.digest([folder])
    (folder / "README.md").write_text("text")
    (folder / "__pycache__" / "x.pyc").write_text("compiled")
    assert machine.digest([folder]) == before
    (folder / "a.conf").write_text("b")
    changed = machine.digest([folder])
    assert changed != before
    (folder / "a.conf").rename(folder / "b.conf")
    assert machine.digest([folder]) not in (before, changed)


def test_every_part_of_the_configuration_exists() -> None:
    for paths in machine.CONFIGURATION.values():
        for path in paths:
            assert (REPO / path).exists(), path
