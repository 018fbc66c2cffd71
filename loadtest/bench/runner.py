"""Runs an experiment: warm-up, repetitions interleaved, every sample kept at once.

Round by round, every cell once in each: what slows the machine down for a minute meets all the cells, and not
three samples of one. After each sample the same small calculation is timed, with the servers at rest: what it
takes longer than at other times is somebody else's doing.
"""

import hashlib
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import psutil
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench.experiment import Cell, Experiment
from bench.house import House, Problem
from bench.results import Measured, Metrics, Results, spread_percent

BUSY = 90.0  # per cent of one core: a generator of one thread that uses more is at its end
NOISY = 25.0  # per cent of the median between the lowest and the highest sample
NAMED = 5  # cells in one note


class Tool(Protocol):
    """A module in tools/."""

    def measure(self, house: House, settings: Mapping[str, Any]) -> dict[str, float]:
        """See tools/__init__.py."""


def plan(results: Results, repetitions: int) -> Iterator[tuple[int, Measured]]:
    """What is still to be measured: the place of a cell, and the cell, round by round."""
    for number in range(1, repetitions + 1):
        for place, cell in enumerate(results.cells):
            if len(cell.samples) < number and cell.problem is None:
                yield place, cell


def run(
    experiment: Experiment,
    results: Results,
    path: Path,
    house: House,
    tools: Mapping[str, Tool],
    console: Console,
) -> None:
    """Bring the results up to what the experiment asks for; the file at `path` has each sample at once."""
    total = experiment.repetitions * len(results.cells)
    left = sum(experiment.repetitions - len(cell.samples) for cell in results.cells if not cell.problem)
    columns = (
        TextColumn("{task.fields[lab]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", lab=experiment.name, total=total, completed=total - left)

        def refuse(measured: Measured, problem: Problem) -> None:
            progress.advance(bar, experiment.repetitions - len(measured.samples))
            measured.refuse(str(problem))
            console.print(f"refused: {names([measured])}: {problem}", style="red", markup=False)

        for cell, measured in zip(experiment.cells, results.cells, strict=True):
            if len(measured.samples) < experiment.repetitions and not measured.problem:
                progress.update(bar, description=f"warm-up: {cell}")
                try:
                    tools[cell.tool].measure(house, {**cell.settings, **experiment.warm_up})
                except Problem as problem:
                    refuse(measured, problem)

        meter = Meter(house, experiment.services)
        for place, measured in plan(results, experiment.repetitions):
            cell = experiment.cells[place]
            progress.update(bar, description=str(cell))
            try:
                measured.add(sample(experiment, house, tools[cell.tool], cell, meter))
                progress.advance(bar)
            except Problem as problem:
                refuse(measured, problem)
                meter.look()
            results.noise["calibration_milliseconds"].append(calibrate())
            results.noise |= noise(results)
            results.write(path)


class Meter:
    """What the services compute from one look to the next, in seconds."""

    def __init__(self, house: House, services: Sequence[str]) -> None:
        self.house, self.services = house, services
        self.last = house.cpu_seconds(services)

    def look(self) -> dict[str, float]:
        """Since the last look. Between two there should be one measurement and nothing else."""
        earlier, self.last = self.last, self.house.cpu_seconds(self.services)
        return {service: self.last[service] - earlier[service] for service in self.services}


def sample(experiment: Experiment, house: House, tool: Tool, cell: Cell, meter: Meter) -> Metrics:
    """One measurement, and what every service has computed for it, per cent of one core."""
    psutil.cpu_percent()  # the next call tells the mean since this one
    begin = time.monotonic()
    metrics = tool.measure(house, cell.settings)
    if experiment.primary not in metrics:
        raise Problem(f"the tool {cell.tool} does not tell {experiment.primary}")
    seconds = metrics.get("seconds", time.monotonic() - begin)
    metrics["system_cpu_percent"] = psutil.cpu_percent()
    computed = meter.look()
    for service, its_seconds in computed.items():
        metrics[f"cpu_percent.{service}"] = its_seconds / seconds * 100
    # The one figure that hardly changes when somebody else takes a part of the machine.
    if "requests" in metrics:
        metrics["cpu_milliseconds_per_request"] = sum(computed.values()) / metrics["requests"] * 1000
    return metrics


def calibrate() -> float:
    """Milliseconds for a fixed calculation on every core at once: always the same if the machine is ours."""

    def compute(_: int) -> bytes:
        return hashlib.pbkdf2_hmac("sha256", b"", b"", 100_000)  # leaves Python's lock to the others

    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        begin = time.perf_counter()
        list(pool.map(compute, range(cores)))
        return (time.perf_counter() - begin) * 1000


def noise(results: Results) -> dict[str, Any]:
    """How quiet the machine was, in figures and in sentences."""
    calibrations, cells = results.noise["calibration_milliseconds"], len(results.cells)
    notes = []
    usual = statistics.median(calibrations)
    if slow := sum(value > 1.1 * usual for value in calibrations):
        notes.append(
            f"{slow} of {len(calibrations)} calibrations took over 10 % longer than the median, "
            f"{usual:.0f} ms: something else used this machine."
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
    busy = [cell for cell in results.cells if cell.median.get("generator_cpu_percent", 0) > BUSY]
    if busy:
        notes.append(
            f"The generator used over {BUSY:.0f} % of a core in {len(busy)} of {cells} cells, "
            f"whose servers can do more than the figure says: {names(busy)}."
        )
    return {"calibration_spread_percent": round(spread_percent(calibrations), 1), "notes": notes}


def names(cells: list[Measured]) -> str:
    """Cells by the values of their keys, the first few."""
    listed = ["/".join(map(str, cell.key.values())) for cell in cells[:NAMED]]
    return ", ".join(listed) + (f" and {len(cells) - NAMED} more" if len(cells) > NAMED else "")
