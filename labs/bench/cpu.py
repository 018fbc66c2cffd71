"""The CPU time that the services and the whole machine used during a part of a measurement."""

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise

import psutil

from labs.bench.lab_stack import LabStack
from labs.bench.sampler import Sampler

PAUSE = 1.0  # seconds between two readings, which cost the engine CPU time
MACHINE = ""  # stands for the machine among the services' names


class Cpu(Sampler[Mapping[str, float]]):
    """A context in which CPU times are read every second or two; it then gives the use in any span."""

    def __init__(self, stack: LabStack) -> None:
        super().__init__(lambda: cpu_seconds(stack), PAUSE)

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self.take()  # so that the readings enclose the load

    def percent(self, begin: float, end: float) -> dict[str, float]:
        """Return `cpu_percent.SERVICE`, of one core, and `system_cpu_percent`, of all cores.

        `begin` and `end` are in seconds since 1970.
        """
        spent = {
            name: (self._at(end, name) - self._at(begin, name)) / (end - begin) * 100
            for name in self.samples[0][1]
        }
        system = spent.pop(MACHINE) / (os.cpu_count() or 1)
        return {f"cpu_percent.{name}": used for name, used in spent.items()} | {"system_cpu_percent": system}

    def _at(self, moment: float, name: str) -> float:
        """Return the CPU seconds until a moment, interpolated between two readings."""
        return interpolated([(when, reading[name]) for when, reading in self.samples], moment)


def cpu_seconds(stack: LabStack) -> dict[str, float]:
    """Return the CPU seconds so far, of each service and, as MACHINE, of this machine."""
    seconds = {name: usage.cpu_seconds for name, usage in stack.usage(stack.services).items()}
    times = psutil.cpu_times()
    # `user` and `nice` include the guests' time.
    busy = times.user + times.nice + times.system + times.irq + times.softirq + times.steal
    return seconds | {MACHINE: busy}


def interpolated(points: Sequence[tuple[float, float]], x: float) -> float:
    """Return the value at `x` of the line through the ordered points; outside, the nearest point's value."""
    for (left, low), (right, high) in pairwise(points):
        if x <= right:
            return low + (high - low) * max(0.0, x - left) / (right - left)
    return points[-1][1]
