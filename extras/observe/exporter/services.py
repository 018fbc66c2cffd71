"""CPU time and memory of each service, from the control groups that compose.yaml names, and of the machine.

It reads the kernel's own counters, not the engine's socket, because access to the socket is as good as root.
It works with control groups 1 and 2, and with either driver of the engine, which puts the groups at the top
or below a group of its own. https://docs.kernel.org/admin-guide/cgroup-v2.html
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

DEPTH = 5  # levels of folders below the root that are searched
SEARCH = 10.0  # seconds between two searches for the missing groups of services
TICKS = os.sysconf("SC_CLK_TCK")  # ticks per second, the unit in /proc/stat


class Services:
    """The groups PROJECT-SERVICE.slice below `root`, and the machine's counters in `proc`."""

    def __init__(self, project: str, services: list[str], root: Path, proc: Path) -> None:
        self._wanted = {f"{project}-{service}.slice": service for service in services}
        self._root = root
        self._proc = proc
        self._groups: dict[str, list[Path]] = {}
        self._searched = float("-inf")

    def read(self) -> Iterator[Metric]:
        """Yield the machine's figures, then the CPU time and memory of each running service. Raise OSError if
        none is running.
        """
        yield from self._machine()
        text = "CPU time since the group was made"
        cpu = CounterMetricFamily("service_cpu_seconds", text, labels=["service"])
        text = "Memory, without files that could be dropped"
        memory = GaugeMetricFamily("service_memory_bytes", text, labels=["service"])
        for service, groups in self._find().items():
            for folder in filter(children, groups):  # a group may outlive its container
                if (seconds := cpu_seconds(folder)) is not None:
                    cpu.add_metric([service], seconds)
                if (used := memory_bytes(folder)) is not None:
                    memory.add_metric([service], used)
        yield from (cpu, memory)
        if not cpu.samples:
            raise OSError(f"no control group such as {next(iter(self._wanted), '')} in {self._root}")

    def _find(self) -> dict[str, list[Path]]:
        """Return service -> the folders of its group, one for each hierarchy."""
        alive = sum(all(map(children, folders)) for folders in self._groups.values())
        if alive < len(self._wanted) and time.monotonic() - self._searched > SEARCH:
            self._groups = {}
            self._searched = time.monotonic()
            for root in self._roots():
                for service, folder in search(root, self._wanted).items():
                    self._groups.setdefault(service, []).append(folder)
        return self._groups

    def _roots(self) -> list[Path]:
        """Return the hierarchies' roots: a single one, or with control groups 1, one for each controller."""
        if (self._root / "cgroup.controllers").exists():
            return [self._root]
        return [self._root / "cpuacct", self._root / "memory"]

    def _machine(self) -> Iterator[Metric]:
        """Yield the machine's CPU time, load and available memory."""
        # All processors together: user nice system idle iowait irq softirq steal.
        _, *ticks = (self._proc / "stat").read_text().split("\n", 1)[0].split()
        times = [int(value) / TICKS for value in ticks[:8]]
        idle = times[3] + times[4]
        yield CounterMetricFamily("machine_cpu_busy_seconds", "All cores together", sum(times) - idle)
        yield CounterMetricFamily("machine_cpu_seconds", "The same, idle time included", sum(times))
        load = float((self._proc / "loadavg").read_text().split()[0])
        yield GaugeMetricFamily("machine_load", "Processes that run or wait, mean of a minute", load)
        available = word(self._proc / "meminfo", "MemAvailable:")
        if available is not None:
            text = "Memory that programs could have without swapping"
            yield GaugeMetricFamily("machine_memory_available_bytes", text, available * 1024)


def search(root: Path, wanted: dict[str, str]) -> dict[str, Path]:
    """Return service -> the folder of its group, the one nearest to the root; `wanted` is group -> service.

    A group without a container is left out: a killed engine leaves its groups behind.
    """
    found: dict[str, Path] = {}
    level = [root]
    for _ in range(DEPTH):
        level = [path for folder in level for path in children(folder)]
        for path in level:
            if path.name in wanted and children(path):
                found.setdefault(wanted[path.name], path)
    return found


def children(folder: Path) -> list[Path]:
    """Return the folders in a folder; none if it is gone or cannot be read."""
    try:
        return [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def cpu_seconds(group: Path) -> float | None:
    """Return the CPU time of a group; None if this folder does not count it."""
    if (nanoseconds := number(group / "cpuacct.usage")) is not None:
        return nanoseconds / 1e9
    microseconds = word(group / "cpu.stat", "usage_usec")
    return None if microseconds is None else microseconds / 1e6


def memory_bytes(group: Path) -> float | None:
    """Return the memory of a group as `docker stats` shows it: without cached files that are not in use."""
    for used, idle in (("memory.current", "inactive_file"), ("memory.usage_in_bytes", "total_inactive_file")):
        if (value := number(group / used)) is not None:
            return max(0.0, value - (word(group / "memory.stat", idle) or 0))
    return None


def number(path: Path) -> float | None:
    """Return the number in a file; None if there is none."""
    try:
        return float(path.read_text())
    except (OSError, ValueError):
        return None


def word(path: Path, key: str) -> float | None:
    """Return the number after a word, in a file of lines with a word and a number; None if there is none."""
    try:
        lines = (line.split() for line in path.read_text().splitlines())
        return next((float(line[1]) for line in lines if line[:1] == [key]), None)
    except (OSError, ValueError, IndexError):
        return None
