"""Two load models meet the same pause of the backend; their percentiles are counted in the servers' logs."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from lessons.checking import Laboratory, Line, Need

URL = re.compile(r"/stages/load\?(waits|arrives)=(\d+)")
# Seconds.
WARM_UP = 5.0  # of a run, left out
LEAST = 20.0  # of a run, after those
PAUSE = 1.5  # at least
SAME_RATE = 0.9  # requests of a model, as a share of fifty a second, outside the pause
RUNS = 3


@dataclass(frozen=True)
class Run:
    """One run after its warm-up: what nginx and the backend logged of both models."""

    lasted: float  # seconds
    waits: list[float]  # seconds of each request
    arrives: list[float]
    gap: float  # seconds: the longest time in which the backend has answered nothing
    logged: int  # requests in the backend's log

    def __str__(self) -> str:
        return (
            f"`waits` {len(self.waits)} requests, p99 {p99(self.waits)} ms; `arrives` {len(self.arrives)} "
            f"requests, p99 {p99(self.arrives)} ms"
        )

    @property
    def fault(self) -> str:
        """Why the run shows nothing; empty if it does."""
        again = "Run it again: make load EXAMPLE=11 TIME=35s"
        if self.lasted < LEAST:
            return f"it has {self.lasted:.0f} s after its warm-up, too few. {again}"
        if len(self.arrives) < 50 * SAME_RATE * self.lasted:
            return f"arrivals did not come fifty times a second. Was the machine too busy? {again}"
        if len(self.waits) < len(self.arrives) / 2:
            made = f"{len(self.waits)} requests, the arrivals {len(self.arrives)}"
            return f"the users who wait made {made}. {again}"
        if self.logged < SAME_RATE * (len(self.waits) + len(self.arrives)):
            return f"the backend's log has only {self.logged} of these requests. {again}"
        if self.gap < PAUSE:
            return (
                f"the backend answered all the time (its longest pause was {self.gap:.1f} s). {again}, and "
                "when half of it is over, pause the backend for two seconds in another terminal."
            )
        if 10 * p99(self.waits) > p99(self.arrives):
            return f"p99 of both is high. Pause the backend once in a run, for two seconds. {again}"
        return ""


def check(lab: Laboratory, need: Need) -> None:
    """Three runs in which p99 of the arrivals is ten times that of the users who wait, or more."""
    lines = [line for line in lab.evidence.nginx_lines("/stages/load?") if begun(line) >= lab.began]
    backend = {line.id: line.ended or 0.0 for line in lab.evidence.backend_lines("/stages/load?")}
    runs = runs_of(lines, backend)
    need(runs, "no-run")
    need(not runs[-1].fault, "fault", runs[-1].fault, runs[-1])
    shown = [run for run in runs if not run.fault]
    need(len(shown) >= RUNS, "more-runs", "\n  ".join(map(str, shown)), len(shown))


def runs_of(lines: Iterable[Line], backend: dict[str, float]) -> list[Run]:
    """The runs of the two classes on nginx.localhost; `backend`: when it answered, by a request's ID."""
    runs: dict[str, list[Line]] = {}
    for line in sorted(lines, key=begun):
        if line.host == "nginx.localhost" and (found := URL.fullmatch(line.url)):
            runs.setdefault(found[2], []).append(line)
    return [run_of(run, backend) for run in runs.values()]


def run_of(lines: list[Line], backend: dict[str, float]) -> Run:
    """A run from its lines, in the order in which they began."""
    first = begun(lines[0]) + WARM_UP
    warm = [line for line in lines if begun(line) >= first]
    seconds: dict[str, list[float]] = {"waits": [], "arrives": []}
    for line in warm:
        seconds["waits" if "?waits" in line.url else "arrives"].append(line.seconds or 0.0)
    answered = sorted(backend[line.id] for line in warm if line.id in backend)
    gap = max((later - earlier for earlier, later in pairwise(answered)), default=0.0)
    lasted = begun(lines[-1]) - first
    return Run(max(0.0, lasted), seconds["waits"], seconds["arrives"], gap, len(answered))


def begun(line: Line) -> float:
    """When a request came to nginx, in seconds since 1970."""
    return (line.ended or 0.0) - (line.seconds or 0.0)


def p99(seconds: list[float]) -> int:
    """Milliseconds within which 99 of 100 were answered; 0 for none."""
    return round(1000 * sorted(seconds)[math.ceil(0.99 * len(seconds)) - 1]) if seconds else 0
