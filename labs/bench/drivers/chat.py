"""Chat under load: how long a line takes while other clients load the stage's files.

The programs are labs/bench/clients/chat.py and page_loads.py. Settings: `load`, per cent of UpStage's own
capacity; `web` and `stage`, the addresses of both listeners, and `capacity`, the web address of UpStage alone
(labs/scale/lab.toml has them); `speakers`; `lines_per_second`, of all speakers together; `seconds`.
"""

import json
import statistics
from collections.abc import Mapping
from functools import cache
from typing import Any

from labs.bench.drivers import report, talk
from labs.bench.lab_stack import LabStack, Problem

BUSY = 90.0  # per cent of one core; a generator that uses more is the bottleneck
LATE = 250.0  # milliseconds behind schedule: if half of the page loads start later, the generator is too slow

AT_ONCE = 8  # page loads; with six connections each, more than one backend process can answer
CAPACITY_SECONDS = 4.0
CAPACITY_ROUNDS = 3


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Make one run. Raise Problem if a line or a file is lost, or if the generator is the bottleneck."""
    rate = 0.0
    if settings["load"]:
        rate = capacity(stack, json.dumps(settings["capacity"])) * settings["load"] / 100
    return metrics(report(stack, {**settings, "page_loads_per_second": rate}, "chat"))


@cache
def capacity(stack: LabStack, web: str) -> float:
    """Return the page loads a second that UpStage alone can serve; measured once per stack.

    The best of a few rounds counts, because other programs can only lower the rate. `web`: the address of
    UpStage, as JSON.
    """
    settings = {**json.loads(web), "at_once": AT_ONCE, "seconds": CAPACITY_SECONDS}
    rounds: list[float] = []
    for _ in range(CAPACITY_ROUNDS):
        loads = report(stack, settings, "page_loads")
        check(loads, loads["cpu_percent"])
        rounds.append(loads["served_per_second"])
    return max(rounds)


def metrics(run: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a report of labs/bench/clients/chat.py; raise Problem as `measure` does."""
    loads, used = run["page_loads"], run["cpu_percent"]
    figures = {**talk(run), "page_loads_per_second": 0.0}
    if loads:
        used += loads["cpu_percent"]
        check(loads, used)
        figures["page_loads_per_second"] = loads["served_per_second"]
        figures["page_load_milliseconds"] = statistics.median(loads["milliseconds"])
    return {**figures, "generator_cpu_percent": used}


def check(loads: Mapping[str, Any], cpu_percent: float) -> None:
    """Raise Problem if a page load failed, or the generator, which used `cpu_percent`, was the bottleneck."""
    failures, served = loads["failures"], loads["milliseconds"]
    if failures:
        raise Problem(f"{len(failures)} of {len(failures) + len(served)} page loads failed: {failures[0]}")
    if cpu_percent > BUSY:
        raise Problem(f"the generator was the bottleneck: it used {cpu_percent:.0f} % of a core")
    if loads["late_milliseconds"] > LATE:
        raise Problem(f"the generator was the bottleneck: it was {loads['late_milliseconds']:.0f} ms late")
