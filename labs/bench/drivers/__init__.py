"""One module for each method of measuring; lab.toml names it as `driver`.

Each has `measure(stack, settings) -> metrics`: one measurement of one cell. Metrics are numbers whose names
contain the unit. If `measure` raises Problem, the measurement is rejected. With the metric `seconds`, the
duration of the load, the runner's CPU figures are exact; without it, they are means over the whole call,
except those that the driver itself returns. `generator_cpu_percent` is the CPU time of the generator's one
thread; a driver that cannot measure it leaves it out. `generator_was_the_limit` is 1 if the servers carry at
least the primary metric, because the generator was the bottleneck.

This file contains the functions that several drivers need.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from labs.bench.lab_stack import LabStack, Problem
from labs.bench.percentile import percentile

Result = TypeVar("Result")


def report(
    stack: LabStack,
    settings: Mapping[str, Any],
    client: str,
    service: str = "generator",
    environment: Sequence[str] = (),
) -> dict[str, Any]:
    """Run a program of clients/ in a service; return its report. `environment`: variables as NAME=VALUE."""
    command = (
        *(["env", *environment] if environment else []),
        "python3",
        "-m",
        f"labs.bench.clients.{client}",
    )
    found: dict[str, Any] = json.loads(stack.run(service, *command, json.dumps(settings)))
    return found


def with_address(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings, with the `address` and `port` of their `url`."""
    server = urlsplit(settings["url"])
    return {**settings, "address": server.hostname, "port": server.port}


def repeated(attempts: int, action: Callable[[], Result], problem: type[Problem] = Problem) -> Result:
    """Return an action's first result without this problem; raise the last attempt's problem."""
    for _ in range(attempts - 1):
        with suppress(problem):
            return action()
    return action()


def numbers(pattern: str, printed: str) -> list[float]:
    """Return the groups of a pattern's first match in a program's output; raise Problem if there is none."""
    if found := re.search(pattern, printed, re.M):
        return list(map(float, found.groups()))
    last = (printed.strip() or "nothing").splitlines()[-1]
    raise Problem(f"the load generator did not print {pattern!r}, but at the end: {last}")


def number(pattern: str, printed: str, default: float | None = None) -> float:
    """Return the only group of a pattern's first match; if there is none, the default, or raise Problem."""
    if default is not None and not re.search(pattern, printed, re.M):
        return default
    return numbers(pattern, printed)[0]


def talk(run: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of the lines said by labs/bench/clients/speakers.py, from a program's report."""
    lines = run["milliseconds"]
    return {
        "p50_milliseconds": percentile(lines, 50),
        "p95_milliseconds": percentile(lines, 95),
        "p99_milliseconds": percentile(lines, 99),
        "lines": float(len(lines)),
        # The speakers' own delay, which the lab's machine adds to every figure of a line.
        "speakers_late_p99_milliseconds": percentile(run["late_milliseconds"], 99),
    }


# For scripts that start a load generator: prints its CPU seconds, for generator_cpu_percent.
TIME = 'TIMEFORMAT="Generator: %U %S"\ntime'


def generator_cpu_percent(printed: str, seconds: float) -> float:
    """Return the per cent of a core during the load, from the output of TIME."""
    return sum(numbers(r"^Generator: ([\d.]+) ([\d.]+)", printed)) / seconds * 100
