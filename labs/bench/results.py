"""The results file, test-results/bench/NAME.json: rewritten after each sample, so that a run can continue."""

import json
import os
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from labs.bench.experiment import Experiment, Scalar

Metrics = dict[str, float]
NOISY = 25.0  # per cent of the median between the lowest and the highest sample
SLOW = 1.1  # times the median: a calibration beside another program
LOADED = 1.25  # times the fastest: one on a machine that had more to do all the time
BUSY = 0.25  # of the samples
CALIBRATION = "calibration_milliseconds"  # in a sample: how long the calculation after it took


@dataclass
class Measured:
    """One cell: its samples, their medians and spread. A rejected cell has a `problem` and no figures."""

    key: Mapping[str, Scalar]
    samples: list[Metrics] = field(default_factory=list)
    median: Metrics = field(default_factory=dict)
    spread: dict[str, list[float]] = field(default_factory=dict)  # the lowest and the highest sample
    problem: str | None = None

    def add(self, sample: Metrics) -> None:
        """Add a sample."""
        self.samples.append(sample)
        self._summarize()

    def keep_faster(self, number: int, sample: Metrics) -> None:
        """Replace a sample, unless this one was taken while other programs used the machine even more."""
        if sample[CALIBRATION] < self.samples[number][CALIBRATION]:
            self.samples[number] = sample
            self._summarize()

    def _summarize(self) -> None:
        # A driver leaves out a metric it could not read; the median is then of the other samples.
        names = dict.fromkeys(name for one in self.samples for name in one)
        values = {name: [one[name] for one in self.samples if name in one] for name in names}
        self.median = {name: statistics.median(column) for name, column in values.items()}
        self.spread = {name: [min(column), max(column)] for name, column in values.items()}

    def reject(self, problem: str) -> None:
        """Drop the figures of this cell and record the reason."""
        self.problem, self.median, self.spread = problem, {}, {}


@dataclass
class Results:
    """A lab's run, finished or not. Times are UTC in ISO 8601; labs/README.md explains the fields."""

    lab: str
    title: str
    mode: str
    primary: str
    baseline: Mapping[str, Scalar]
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    configuration: Mapping[str, str]
    started: str
    finished: str | None
    noise: dict[str, Any]
    cells: list[Measured]

    @classmethod
    def begin(cls, experiment: Experiment, started: str, **conditions: Mapping[str, Any]) -> Self:
        """An empty run of an experiment. `conditions`: machine, versions, configuration."""
        return cls(
            lab=experiment.name,
            title=experiment.title,
            mode=experiment.mode,
            primary=experiment.primary,
            baseline=dict(experiment.baseline),
            started=started,
            finished=None,
            noise={"repeated": [], "calibration_spread_percent": 0.0, "notes": []},
            cells=[Measured(dict(cell.key)) for cell in experiment.cells],
            **conditions,
        )

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """The run in a file; None if there is no such file, or no run in it."""
        try:
            document = json.loads(path.read_text())
            return cls(**{**document, "cells": [Measured(**cell) for cell in document["cells"]]})
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None

    def write(self, path: Path) -> None:
        """Replace the file in one step, so that a reader never sees half of it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(self), indent=1) + "\n")
        os.replace(temporary, path)

    def differs_from(self, other: "Results") -> list[str]:
        """The conditions that differ; if there are none, one run can continue the other."""
        conditions = ("lab", "mode", "primary", "baseline", "machine", "versions", "configuration")
        changed = [name for name in conditions if getattr(self, name) != getattr(other, name)]
        same_cells = [cell.key for cell in self.cells] == [cell.key for cell in other.cells]
        return changed if same_cells else [*changed, "cells"]

    @property
    def calibrations(self) -> list[float]:
        """The milliseconds of the calculation after each sample (see the runner)."""
        return [one[CALIBRATION] for cell in self.cells for one in cell.samples if CALIBRATION in one]

    @property
    def slow(self) -> list[list[int]]:
        """The samples taken beside other programs, the slowest first: a cell's index, and a sample's.

        A constant load slows the median calibration as well, so each is also compared with the fastest. That
        limit is wider: a processor that was faster in its first seconds is not busy.
        """
        found = self.calibrations
        limit = min(SLOW * statistics.median(found), LOADED * min(found)) if found else 0.0
        slow = [
            (one[CALIBRATION], [index, number])
            for index, cell in enumerate(self.cells)
            for number, one in enumerate(cell.samples)
            if one.get(CALIBRATION, 0.0) > limit
        ]
        return [place for _, place in sorted(slow, reverse=True)]

    @property
    def busy(self) -> str:
        """Why these figures are not fit to be published; empty if the machine was quiet enough.

        Every long run has a few slow samples, which the medians tolerate.
        """
        found, slow = self.calibrations, len(self.slow)
        if slow <= BUSY * len(found):
            return ""
        usual, fastest = statistics.median(found), min(found)
        return (
            f"This machine was busy: {slow} of {len(found)} calibrations took over 10 % longer than the "
            f"median, {usual:.0f} ms, or 25 % longer than the fastest, {fastest:.0f} ms."
        )

    def reference(self, key: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """The key of the cell to compare with: it differs in the parts of the baseline that this one has."""
        return {**key, **{name: value for name, value in self.baseline.items() if name in key}}

    def factor(self, cell: Measured) -> float | None:
        """A cell's median divided by its baseline's; None if one of them is missing."""
        reference = next((one for one in self.cells if one.key == self.reference(cell.key)), None)
        if reference is None or not self.baseline.keys() & cell.key.keys():
            return None
        mine, theirs = (one.median.get(self.primary) for one in (cell, reference))
        return mine / theirs if mine is not None and theirs else None


def spread_percent(values: Iterable[float]) -> float:
    """The distance between the lowest and the highest, per cent of the median."""
    values = list(values)
    return (max(values) - min(values)) / statistics.median(values) * 100
