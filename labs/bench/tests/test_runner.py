"""The runner with a fake stack and driver: order, warm-up, rejection, interruption."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from rich.console import Console

from labs.bench import runner
from labs.bench.experiment import Experiment, expand
from labs.bench.lab_stack import LabStack, Problem, Usage
from labs.bench.results import Results


@dataclass
class Busy:
    """A stack in which every measurement costs nginx half a second of CPU and leaves it 30 of 100 bytes.

    It costs the generator a quarter of a second.
    """

    seconds: float = 0.0

    def usage(self, services: Sequence[str]) -> dict[str, Usage]:
        return {
            name: Usage(self.seconds, 30, 100) if name == "nginx" else Usage(self.seconds / 2, 0, 100)
            for name in services
        }


@dataclass
class Driver:
    """Measures the number of the cell and records the calls; `act` may raise."""

    stack: Busy = field(default_factory=Busy)
    asked: list[tuple[int, bool]] = field(default_factory=list)  # the cell, and whether it was a warm-up
    act: Callable[[int, bool], None] = lambda cell, warm: None
    own: Mapping[str, float] = field(default_factory=dict)  # figures that it determines itself

    def measure(self, stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
        cell, warm = settings["number"], settings["warm"]
        self.stack.seconds += 0.5
        self.act(cell, warm)
        self.asked.append((cell, warm))
        return {"rps": float(cell), "seconds": 2.0, "requests": 100, **self.own}

    @property
    def counted(self) -> list[int]:
        return [cell for cell, warm in self.asked if not warm]


def experiment(cells: int = 3, repetitions: int = 3) -> Experiment:
    return expand(
        "x",
        {
            "title": "X",
            "driver": "none",
            "services": ["nginx", "generator"],
            "repetitions": repetitions,
            "primary": "rps",
            "settings": {"warm": False},
            "warm_up": {"warm": True},
            "cells": [{"number": list(range(cells))}],
        },
        "quick",
    )


def empty(lab: Experiment) -> Results:
    return Results.begin(lab, "2026-11-21T10:00:00Z", machine={}, versions={}, configuration={})


def run(lab: Experiment, results: Results, path: Path, driver: Driver) -> str:
    """Run the lab; return what the console printed."""
    printed = io.StringIO()
    stack = cast(LabStack, driver.stack)
    runner.run(lab, results, path, stack, {"none": driver}, Console(file=printed, width=200))
    return printed.getvalue()


Measure = Callable[..., Results]


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    """measure(lab, driver) runs the lab once, from its beginning."""

    def measure(lab: Experiment, driver: Driver) -> Results:
        results = empty(lab)
        run(lab, results, tmp_path / "x.json", driver)
        return results

    return measure


def there_and_back(*cells: int, rounds: int = 3) -> list[int]:
    """The cells once in each round, in every second one in the reverse order."""
    return [cell for number in range(rounds) for cell in cells[:: -1 if number % 2 else 1]]


@pytest.fixture(autouse=True)
def calibrations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "calibrate", lambda: 10.0)


def test_a_file_has_the_progress_as_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "EVERY", 0)
    lab = experiment(cells=2, repetitions=2)
    printed = run(lab, empty(lab), tmp_path / "x.json", Driver())
    assert re.findall(r"\d of \d samples", printed) == [f"{done} of 4 samples" for done in (1, 2, 3, 4)]


def test_cpu_and_memory_of_each_service_are_noted_and_those_of_a_cells_own_servers_added_up(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psutil.cpu_percent", lambda: 80.0)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    lab = experiment()
    object.__setattr__(lab.cells[0], "settings", {**lab.cells[0].settings, "servers": ["nginx", "generator"]})
    first, *others = (cell.median for cell in measure(lab, Driver()).cells)
    assert [one["cpu_percent.nginx"] for one in (first, *others)] == [25, 25, 25]
    assert first["cpu_percent.generator"] == 12.5
    assert first["memory_percent.nginx"] == 30
    assert first["cpu_milliseconds_per_request"] == 7.5
    assert first["system_cpu_percent"] == 80
    assert first["system_without_generator_cpu_percent"] == 80 - 12.5 / 4
    assert first["server_cpu_microseconds_per_request"] == 7500
    assert first["server_memory_bytes"] == 30
    assert "server_memory_bytes" not in others[0]


def test_a_driver_may_determine_these_figures_itself(measure: Measure) -> None:
    """Its call is longer than what it measures."""
    [cell] = measure(experiment(1), Driver(own={"cpu_percent.nginx": 70.0})).cells
    assert (cell.median["cpu_percent.nginx"], cell.median["cpu_percent.generator"]) == (70, 12.5)


def test_a_container_that_was_restarted_counts_from_zero() -> None:
    stack = Busy(seconds=20)
    meter = runner.Meter(cast(LabStack, stack), ["nginx"])
    for total, spent in ((21.0, 1.0), (0.25, 0.25), (0.5, 0.25)):
        stack.seconds = total
        assert meter.read()[0] == {"nginx": spent}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(some.integers(1, 5), some.integers(1, 4), some.lists(some.integers(0, 25), max_size=6))
def test_interrupted_anywhere_any_number_of_times(
    tmp_path: Path, cells: int, repetitions: int, interruptions: list[int]
) -> None:
    """Warm-up, then round by round: each sample once, however often the run is interrupted."""
    lab, path = experiment(cells, repetitions), tmp_path / "x.json"
    path.unlink(missing_ok=True)
    taken: list[int] = []
    for calls in [*interruptions, None]:
        left = iter(range(calls)) if calls is not None else None

        def act(cell: int, warm: bool, left: Any = left) -> None:
            if left is not None and next(left, None) is None:
                raise KeyboardInterrupt

        driver = Driver(act=act)
        results = Results.read(path) or empty(lab)
        try:
            run(lab, results, path, driver)
        except KeyboardInterrupt:
            assert calls is not None
        taken += driver.counted
        warm_up = [cell for cell, warm in driver.asked if warm]
        assert driver.asked[: len(warm_up)] == [(cell, True) for cell in sorted(set(warm_up))]
        assert set(driver.counted) <= set(warm_up)
    assert taken == there_and_back(*range(cells), rounds=repetitions)
    assert Results.read(path) == results
    assert [len(cell.samples) for cell in results.cells] == [repetitions] * cells
    assert [cell.median["rps"] for cell in results.cells] == list(range(cells))


def test_a_rejected_cell_is_not_measured_again(tmp_path: Path) -> None:
    def act(cell: int, warm: bool) -> None:
        if cell == 1 and not warm:
            raise Problem("37 of 2000 requests failed")

    lab, driver, path = experiment(), Driver(act=act), tmp_path / "x.json"
    results = empty(lab)
    assert "37 of 2000" in run(lab, results, path, driver)
    assert driver.counted == there_and_back(0, 2)
    assert results.cells[1].problem == "37 of 2000 requests failed"
    assert results.cells[1].median == {}
    # The CPU of the rejected measurement is not charged to the next one.
    assert [one["cpu_percent.nginx"] for one in results.cells[2].samples] == [25, 25, 25]
    again = Driver(act=act)
    run(lab, results, path, again)
    assert again.asked == []


def test_a_failure_in_the_warm_up_rejects_the_cell(measure: Measure) -> None:
    def act(cell: int, warm: bool) -> None:
        if cell == 0 and warm:
            raise Problem("502")

    driver = Driver(act=act)
    assert measure(experiment(), driver).cells[0].problem == "502"
    assert driver.counted == there_and_back(1, 2)


def test_a_measurement_without_the_primary_metric_is_rejected(measure: Measure) -> None:
    lab = experiment(1)
    object.__setattr__(lab.cells[0], "primary", "latency")
    assert "latency" in str(measure(lab, Driver()).cells[0].problem)


@pytest.mark.parametrize(
    ("second", "kept", "notes"),
    [
        (10.0, 100, ["1 of 6 samples were taken twice"]),
        (30.0, 50, ["1 of 6 samples were taken while other", "1 of 6 samples were taken twice"]),
    ],
)
def test_a_sample_taken_beside_another_program_is_taken_once_more(
    measure: Measure,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    second: float,
    kept: float,
    notes: list[str],
) -> None:
    class Slow(Driver):
        """Half as fast in the second measurement that counts."""

        def measure(self, stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
            measured = super().measure(stack, settings)
            return {**measured, "rps": 50.0 if len(self.counted) == 2 and not settings["warm"] else 100.0}

    times = iter([10.0, 20.0, 10.0, 10.0, 10.0, 10.0, second])
    monkeypatch.setattr(runner, "calibrate", lambda: next(times))
    lab, driver = experiment(repetitions=2), Slow()
    results = measure(lab, driver)
    assert driver.counted == [*there_and_back(0, 1, 2, rounds=2), 1]
    assert [one["rps"] for one in results.cells[1].samples] == [kept, 100]
    found = [note for note in results.noise["notes"] if "samples were taken" in note]
    assert [note.startswith(text) for note, text in zip(found, notes, strict=True)] == [True] * len(notes)
    again = Driver()
    run(lab, results, tmp_path / "x.json", again)
    assert again.asked == []


def test_on_a_busy_machine_only_the_slowest_samples_are_taken_once_more(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([20.0, 10.0, 30.0, 50.0, 20.0, 40.0, 10.0, 20.0, 10.0, 10.0])
    monkeypatch.setattr(runner, "calibrate", lambda: next(times))
    driver = Driver()
    results = measure(experiment(4, repetitions=2), driver)
    assert driver.counted == [*there_and_back(0, 1, 2, 3, rounds=2), 3, 2]
    assert results.noise["repeated"] == [[3, 0], [2, 1]]


def noisy(samples: Sequence[dict[str, float]], calibrations: list[float]) -> list[str]:
    results = empty(experiment(1))
    for number in range(max(len(samples), len(calibrations))):
        calibration = calibrations[min(number, len(calibrations) - 1)]
        sample = samples[min(number, len(samples) - 1)]
        results.cells[0].add({**sample, "calibration_milliseconds": calibration})
    notes: list[str] = runner.noise(results)["notes"]
    return notes


def test_notes_say_how_quiet_the_machine_was() -> None:
    assert noisy([{"rps": 100}, {"rps": 105}], [10.0, 10.5]) == []
    assert noisy([{"rps": 100}], [10, 10, 10, 12]) == [
        "1 of 4 samples were taken while other programs used this machine: the calculation after them took "
        "over 10 % longer than usual."
    ]
    assert noisy([{"rps": 100}], [10, 10, 10, 12, 30]) == [
        "This machine was busy: 2 of 5 calibrations took over 10 % longer than the median, 10 ms, "
        "or 25 % longer than the fastest, 10 ms."
    ]
    # A constant load: the median is slow as well.
    assert "busy: 4 of 6" in noisy([{"rps": 100}], [10, 12, 15, 15, 15, 15])[0]
    assert "over 25 % apart in 1 of 1 cells: number 0." in noisy([{"rps": 100}, {"rps": 60}], [10])[0]
    assert "generator used over 90 %" in noisy([{"rps": 100, "generator_cpu_percent": 97}], [10])[0]
    limited = [{"rps": 100.0, "generator_was_the_limit": one} for one in (0.0, 1.0, 0.0)]
    assert noisy(limited, [10]) == [
        'The generator itself was the limit in 1 of 1 cells: read "at least" before their figures: number 0.'
    ]
    assert noisy(limited[:1], [10]) == []
