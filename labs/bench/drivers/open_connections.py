"""Connections held open, each with repeated requests, and the server's memory for them.

Settings: `host`, `port`, `path`, `bytes`, `connections`, `every`, `rounds`, `pause`, `response_timeout` as
labs/bench/clients/hold_connections.py explains them; `vhost`, the Host header if it is not `host`; `service`,
whose memory and processes are measured.

Every measurement starts with new server processes: old ones keep memory that they have freed, so further
connections would seem to cost less than they do.
"""

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

from labs.bench.drivers import report
from labs.bench.lab_stack import LabStack, Problem, Usage
from labs.bench.memory import Memory

SETTLED = 20.0  # seconds in which the memory of new processes must become stable
PAUSE = 0.5  # seconds between two samples of the memory
# Figures taken from the program's report.
PASSED_ON = [
    *("open_seconds", "milliseconds", "lowest_milliseconds", "highest_milliseconds"),
    *("deviation_milliseconds", "p99_milliseconds", "late_milliseconds", "generator_cpu_percent"),
]


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Hold that many connections. Raise Problem if one is refused or lost, or a response is wrong or late."""
    before = fresh(stack, settings["service"])
    with Memory(stack, settings["service"]) as memory:
        found = report(stack, settings, "hold_connections")
    held = memory.between(found["held_from"], found["held_until"])
    return metrics(found, settings["connections"], before, held)


def fresh(stack: LabStack, service: str) -> Usage:
    """Give the server new processes; return its memory use before the first connection."""
    stack.containers[service].kill("HUP")  # nginx and Apache start new processes
    return settled(stack, service)


def settled(stack: LabStack, service: str) -> Usage:
    """Return the server's use once its memory is stable: two samples in a row differ by less than 1 %. Raise
    Problem.
    """
    deadline = time.monotonic() + SETTLED
    earlier = 0
    while True:
        usage = stack.usage([service])[service]
        now = usage.memory_bytes
        if abs(now - earlier) < now / 100:
            return usage
        if time.monotonic() > deadline:
            raise Problem(f"the memory of {service} does not become stable")
        earlier = now
        time.sleep(PAUSE)


def metrics(found: Mapping[str, Any], wanted: int, before: Usage, held: Sequence[Usage]) -> dict[str, float]:
    """Return metrics from the program's report and the server's use, before the load and while the
    connections were held; raise Problem as `measure` does.
    """
    if found["failures"]:
        reasons = "; ".join(f"{why} ({count})" for why, count in found["failures"].items())
        if "replies" in found:
            raise Problem(f"{sum(found['failures'].values())} of {wanted} held connections failed: {reasons}")
        raise Problem(f"{found['held']} of {wanted} connections held, then: {reasons}")
    if not held:
        raise Problem("the engine reported no memory while the connections were held")
    memory = statistics.median(usage.memory_bytes for usage in held)
    allocated = statistics.median(usage.process_bytes for usage in held)
    return {
        "seconds": found["seconds"],
        "requests_per_second": found["replies"] / found["requesting_seconds"],
        **{name: found[name] for name in PASSED_ON},
        "memory_bytes": memory,
        "process_bytes": allocated,
        "bytes_per_connection": (memory - before.memory_bytes) / wanted,
        "process_bytes_per_connection": (allocated - before.process_bytes) / wanted,
        "tasks": statistics.median(usage.tasks for usage in held),
    }
