"""The stage during the rush: how long a line of the chat takes while an audience preloads.

The programs that run in the generator are labs/show/rush.py and crowd.py. Settings: `rush`, per cent of what
UpStage alone can serve; `web` and `stage`, the two doors, and `capacity`, the web door of UpStage alone
(labs/show/lab.toml shows them); `cast`, how many talk; `lines_per_second`, all of them together; `seconds`.
"""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from bench.house import House, Problem

BUSY = 90.0  # per cent of one core: cast and crowd must stay below, or we would measure them
LATE = 250.0  # milliseconds after its turn: if half of the audience came later, it was too much to send

AT_ONCE = 8  # with six connections each, more than one process can answer
CAPACITY_SECONDS = 4.0
CAPACITY_ROUNDS = 3


def measure(house: House, settings: Mapping[str, Any]) -> dict[str, float]:
    """One run; Problem if a line or a file was lost, or if the generator was the limit."""
    rate = 0.0
    if settings["rush"]:
        rate = capacity(house, json.dumps(settings["capacity"])) * settings["rush"] / 100
    passed_on = {name: settings[name] for name in ("web", "stage", "cast", "lines_per_second", "seconds")}
    return metrics(run(house, "rush", {**passed_on, "arrivals_per_second": rate}))


@cache
def capacity(house: House, door: str) -> float:
    """Arrivals a second that UpStage alone can serve; measured once in each house.

    The best of a few runs: whatever else happens on a machine can only take from it. `door`: the web door of
    UpStage, as JSON.
    """
    settings = {**json.loads(door), "at_once": AT_ONCE, "seconds": CAPACITY_SECONDS}
    rounds: list[float] = []
    for _ in range(CAPACITY_ROUNDS):
        crowd = run(house, "crowd", settings)
        check_crowd(crowd, crowd["cpu_percent"])
        rounds.append(crowd["served_per_second"])
    return max(rounds)


def run(house: House, program: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What one of the two programs says."""
    said = house.run("generator", "python3", f"/labs/show/{program}.py", json.dumps(settings))
    report: dict[str, Any] = json.loads(said)
    return report


def metrics(report: Mapping[str, Any]) -> dict[str, float]:
    """What a run of rush.py amounts to; Problem as `measure`."""
    lines, crowd, used = report["milliseconds"], report["crowd"], report["cpu_percent"]
    figures = {
        "p50_milliseconds": percentile(lines, 50),
        "p95_milliseconds": percentile(lines, 95),
        "p99_milliseconds": percentile(lines, 99),
        "lines": float(len(lines)),
        # How late the cast itself was when it was its turn: what this machine adds to any figure here.
        "cast_late_p99_milliseconds": percentile(report["late_milliseconds"], 99),
        "arrivals_per_second": 0.0,
    }
    if crowd:
        used += crowd["cpu_percent"]
        check_crowd(crowd, used)
        figures["arrivals_per_second"] = crowd["served_per_second"]
        figures["preload_milliseconds"] = statistics.median(crowd["milliseconds"])
    return {**figures, "generator_cpu_percent": used}


def check_crowd(crowd: Mapping[str, Any], cpu_percent: float) -> None:
    """Problem if not all were served, or if the generator was the limit: `cpu_percent` is what it used."""
    failures, served = crowd["failures"], crowd["milliseconds"]
    if failures:
        raise Problem(f"{len(failures)} of {len(failures) + len(served)} arrivals failed: {failures[0]}")
    if cpu_percent > BUSY:
        raise Problem(f"the generator was the limit: it used {cpu_percent:.0f} % of a core")
    if crowd["late_milliseconds"] > LATE:
        raise Problem(f"the generator was the limit: it was {crowd['late_milliseconds']:.0f} ms late")


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest of the values that so many per cent of them do not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]
