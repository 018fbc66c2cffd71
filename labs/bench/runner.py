"""Runs an experiment: warm-up, then interleaved repetitions; every sample is written immediately.

Each round measures every cell once, so a slow minute of the machine affects all cells instead of all samples
of one; and in the other direction than the round before, so that none always comes after the same one. After
each sample the same small calculation is timed, with the servers at rest: if it takes longer than usual,
other programs are using the machine. At the end these samples are taken once more, the slowest first, but at
most a quarter of all: on a machine that is always busy it would not help.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import psutil
from rich.console import Console
from rich.progress import Progress

from labs.bench import words
from labs.bench.experiment import Cell, Experiment
from labs.bench.lab_stack import LabStack, Problem, Usage
from labs.bench.results import BUSY, CALIBRATION, NOISY, Measured, Metrics, Results, spread_percent

FULL = 90.0  # per cent of one core: a generator of one thread that uses more is the bottleneck
NAMED = 5  # cells in one note
EVERY = 60.0  # seconds between two lines of progress where the output is no terminal


class Driver(Protocol):
    """A module in drivers/."""

    def measure(self, stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
        """See drivers/__init__.py."""


def plan(results: Results, repetitions: int) -> Iterator[tuple[int, Measured]]:
    """The remaining measurements, round by round, there and back: a cell's index, and the cell."""
    for number in range(1, repetitions + 1):
        for index, cell in list(enumerate(results.cells))[:: 1 if number % 2 else -1]:
            if len(cell.samples) < number and cell.problem is None:
                yield index, cell


def run(
    experiment: Experiment,
    results: Results,
    path: Path,
    stack: LabStack,
    drivers: Mapping[str, Driver],
    console: Console,
) -> None:
    """Take the samples that the results lack, then the slow ones again; `path` is rewritten after each."""
    total = experiment.repetitions * len(results.cells)
    left = sum(experiment.repetitions - len(cell.samples) for cell in results.cells if not cell.problem)
    with Progress(console=console) as progress:
        bar = progress.add_task("", total=total, completed=total - left)

        def reject(measured: Measured, problem: Problem) -> None:
            progress.advance(bar, experiment.repetitions - len(measured.samples))
            measured.reject(str(problem))
            console.print(f"rejected: {names([measured])}: {problem}", style="red", markup=False)

        for cell, measured in zip(experiment.cells, results.cells, strict=True):
            if len(measured.samples) < experiment.repetitions and not measured.problem:
                progress.update(bar, description=f"warm-up: {cell}")
                try:
                    drivers[cell.driver].measure(stack, {**cell.settings, **experiment.warm_up})
                except Problem as problem:
                    reject(measured, problem)

        meter = Meter(stack, experiment.services)

        told = time.monotonic()

        def tell() -> None:
            nonlocal told
            if not console.is_terminal and time.monotonic() >= told + EVERY:  # a file shows no bar
                told, task = time.monotonic(), progress.tasks[bar]
                console.print(f"{task.completed:.0f} of {task.total:.0f} samples")

        def take(index: int, keep: Callable[[Metrics], None]) -> None:
            cell, measured = experiment.cells[index], results.cells[index]
            progress.update(bar, description=str(cell))
            try:
                taken = sample(experiment, stack, drivers[cell.driver], cell, meter)
                keep({**taken, CALIBRATION: calibrate()})
                progress.advance(bar)
            except Problem as problem:
                reject(measured, problem)
                meter.read()
            results.noise |= noise(results)
            results.write(path)
            tell()

        for index, measured in plan(results, experiment.repetitions):
            take(index, measured.add)
        repeated = results.noise["repeated"]
        most = int(BUSY * total) - len(repeated)
        again = [place for place in results.slow if place not in repeated][:most]
        progress.update(bar, total=total + len(again))
        for index, number in again:
            if not results.cells[index].problem:
                repeated.append([index, number])
                take(index, partial(results.cells[index].keep_faster, number))


class Meter:
    """The CPU seconds of the services from one reading to the next, and their memory at the last one."""

    def __init__(self, stack: LabStack, services: Sequence[str]) -> None:
        self.stack, self.services = stack, services
        self.last = stack.usage(services)

    def read(self) -> tuple[dict[str, float], dict[str, Usage]]:
        """CPU seconds since the last reading, and this reading. Run one measurement between two."""
        earlier, self.last = self.last, self.stack.usage(self.services)
        spent = {}
        for name, now in self.last.items():
            seconds, before = now.cpu_seconds, earlier[name].cpu_seconds
            spent[name] = seconds - before if seconds >= before else seconds  # restarted: counts from zero
        return spent, self.last


def sample(experiment: Experiment, stack: LabStack, driver: Driver, cell: Cell, meter: Meter) -> Metrics:
    """One measurement, with the CPU and memory that every service used for it.

    A driver whose call is longer than what it measures has determined some of these figures itself.
    """
    psutil.cpu_percent()  # the next call returns the mean since this one
    begin = time.monotonic()
    own = driver.measure(stack, cell.settings)
    metrics = dict(own)
    if cell.primary not in metrics:
        raise Problem(f"the driver {cell.driver} does not measure {cell.primary}")
    seconds = metrics.get("seconds", time.monotonic() - begin)
    metrics["system_cpu_percent"] = psutil.cpu_percent()
    spent, usage = meter.read()
    # The article about UpStage also subtracted ab's load from the machine's.
    generator = spent["generator"] / seconds * 100 / (os.cpu_count() or 1)
    metrics["system_without_generator_cpu_percent"] = max(0.0, metrics["system_cpu_percent"] - generator)
    for service in experiment.services:
        metrics[f"cpu_percent.{service}"] = spent[service] / seconds * 100
        metrics[f"memory_percent.{service}"] = usage[service].memory_bytes / usage[service].memory_limit * 100
    servers: Sequence[str] = cell.settings.get("servers", [])
    if servers:
        metrics["server_memory_bytes"] = sum(usage[name].memory_bytes for name in servers)
    # The figures that hardly change when other programs use a part of the machine.
    if metrics.get("requests"):
        metrics["cpu_milliseconds_per_request"] = sum(spent.values()) / metrics["requests"] * 1000
        if servers:
            spent_there = sum(spent[name] for name in servers)
            metrics["server_cpu_microseconds_per_request"] = spent_there / metrics["requests"] * 1e6
    return metrics | own


def calibrate() -> float:
    """Milliseconds for a fixed calculation on every core at once: constant on an otherwise idle machine."""

    def compute(_: int) -> bytes:
        return hashlib.pbkdf2_hmac("sha256", b"", b"", 100_000)  # releases Python's lock

    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        begin = time.perf_counter()
        list(pool.map(compute, range(cores)))
        return (time.perf_counter() - begin) * 1000


def noise(results: Results) -> dict[str, Any]:
    """The noise of the machine, as a figure and as sentences."""
    calibrations, cells = results.calibrations, len(results.cells)
    notes = [results.busy] if results.busy else []
    if not notes and (slow := len(results.slow)):
        notes.append(
            f"{slow} of {len(calibrations)} samples were taken while other programs used this machine: "
            f"the calculation after them took over 10 % longer than usual."
        )
    if repeated := results.noise["repeated"]:
        notes.append(
            f"{len(repeated)} of {len(calibrations)} samples were taken twice, because other programs used "
            f"this machine the first time."
        )
    wide = [
        cell
        for cell in results.cells
        if len(cell.samples) > 1
        and cell.median.get(results.primary)
        and spread_percent(one[results.primary] for one in cell.samples) > NOISY
    ]
    if wide:
        notes.append(f"Samples lie over {NOISY:.0f} % apart in {len(wide)} of {cells} cells: {names(wide)}.")
    busy = [cell for cell in results.cells if cell.median.get("generator_cpu_percent", 0) > FULL]
    if busy:
        notes.append(
            f"The generator used over {FULL:.0f} % of a core in {len(busy)} of {cells} cells, "
            f"whose servers can serve more than the figure says: {names(busy)}."
        )
    at_least = [
        cell for cell in results.cells if any(one.get("generator_was_the_limit") for one in cell.samples)
    ]
    if at_least:
        notes.append(
            f"The generator itself was the limit in {len(at_least)} of {cells} cells: "
            f'read "at least" before their figures: {names(at_least)}.'
        )
    spread = round(spread_percent(calibrations), 1) if calibrations else 0.0
    return {"calibration_spread_percent": spread, "notes": notes}


def names(cells: list[Measured]) -> str:
    """The first few cells, in words."""
    return "; ".join(words.key(cell.key) for cell in cells[:NAMED]) + (
        f" and {len(cells) - NAMED} more" if len(cells) > NAMED else ""
    )
