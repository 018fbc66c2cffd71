"""One line to all: the time until it reaches thousands of members of a stage, and their cost.

labs/bench/clients/one_line.py is the client; its docstring explains the settings `stage`, `listeners`,
`watched`, `lines`, `every` and `settle`. nginx and the backend are restarted first, so that memory of an
earlier measurement does not count.
"""

import statistics
from collections.abc import Mapping
from typing import Any

from labs.bench.drivers import report
from labs.bench.lab_stack import LabStack, Problem
from labs.bench.memory import Memory

SERVERS = ("nginx", "backend")
# Figures taken from the program's report.
PASSED_ON = [
    *("p50_milliseconds", "p95_milliseconds", "p99_milliseconds", "highest_milliseconds", "deliveries"),
    *("generator_cpu_percent", "generator_milliseconds_per_line"),
]


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Make one measurement. Raise Problem if a client is refused or disconnected, or misses a line."""
    for server in reversed(SERVERS):
        stack.restart(server)
    with Memory(stack, "nginx") as nginx, Memory(stack, "backend") as backend:
        found = report(stack, settings, "one_line")
    return metrics(found, settings, {"nginx": nginx, "backend": backend})


def metrics(
    found: Mapping[str, float], settings: Mapping[str, Any], servers: Mapping[str, Memory]
) -> dict[str, float]:
    """Return metrics from the program's report, and from the servers' use while lines were sent; raise
    Problem if the engine reported that too seldom.
    """
    begin, end = found["held_from"], found["held_until"]
    figures = {name: found[name] for name in PASSED_ON}
    figures["join_milliseconds"] = found["join_seconds"] * 1000
    for name, memory in servers.items():
        held = [(moment, usage) for moment, usage in memory.samples if begin <= moment <= end]
        if len(held) < 2:
            raise Problem(f"the engine reported the memory of {name} less than twice")
        (first, before), (last, after) = held[0], held[-1]
        cores = (after.cpu_seconds - before.cpu_seconds) / (last - first)
        figures[f"{name}_memory_bytes"] = statistics.median(usage.memory_bytes for _, usage in held)
        figures[f"{name}_cpu_milliseconds_per_line"] = cores * (end - begin) / settings["lines"] * 1000
    return figures
