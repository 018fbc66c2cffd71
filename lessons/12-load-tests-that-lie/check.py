"""A site with a cache beside one without; then two load models that meet the same pause of the backend."""

import math
from dataclasses import dataclass

from lessons.checking import Laboratory, Line, Need

WARM_UP = 5.0  # seconds at the beginning of a run, which are left out
LEAST = 20.0  # seconds of a run that must follow the warm-up
RATE = 40  # the fewest arrivals a second, of the fifty that are sent
RUNS = 2


@dataclass(frozen=True)
class Run:
    """nginx's log of a run, after the warm-up: the requests of both models."""

    lasted: float  # seconds, without the warm-up
    arrives: list[Line]
    waits: list[Line]

    def __str__(self) -> str:
        return (
            f"`waits` {len(self.waits)} requests, p99 {p99(self.waits)} ms; "
            f"`arrives` {len(self.arrives)} requests, p99 {p99(self.arrives)} ms"
        )

    @property
    def whole(self) -> bool:
        """Whether both models sent requests for long enough, and as often as they should."""
        return self.lasted >= LEAST and len(self.arrives) >= RATE * self.lasted and bool(self.waits)

    @property
    def shows(self) -> bool:
        """Whether the p99 of the arrivals includes the pause, and the p99 of the waiting users does not."""
        return self.whole and p99(self.arrives) > 10 * p99(self.waits)


def check(lab: Laboratory, need: Need) -> None:
    """Check the report of `make compare`, then two runs with a pause."""
    report = lab.report("compare")
    need(report, "not-compared")
    measured = {one["topology"]: one for one in report["measurements"]}
    need({"default", "nginx"} <= measured.keys(), "topologies", ", ".join(sorted(measured)))
    for one in (measured["default"], measured["nginx"]):
        need(one["users"] >= 40 and one["seconds"] >= 25, "small", one["users"], round(one["seconds"]))
        need(one["verdict"] != "INCONCLUSIVE", "locust", one["topology"], one["reason"])

    found = runs(lab)
    need(found, "no-run")
    need(found[-1].whole, "too-little", round(found[-1].lasted), found[-1])
    need(found[-1].shows, "no-pause", found[-1])
    shown = [run for run in found if run.shows]
    need(len(shown) >= RUNS, "more-runs", "\n  ".join(map(str, shown)), len(shown))


def runs(lab: Laboratory) -> list[Run]:
    """Return the learner's runs of the two models on nginx.localhost. A URL ends with the name of its run."""
    lines = [line for line in lab.evidence.nginx_lines("/stages/load?") if line.host == "nginx.localhost"]
    by_run: dict[str, list[Line]] = {}
    for line in sorted(lines, key=begun):
        if begun(line) >= lab.began and "=" in line.url:
            by_run.setdefault(line.url.partition("=")[2], []).append(line)
    return [run_of(run) for run in by_run.values()]


def run_of(lines: list[Line]) -> Run:
    """Return a run from its lines, in the order in which the requests began."""
    warm = [line for line in lines if begun(line) >= begun(lines[0]) + WARM_UP]
    lasted = begun(lines[-1]) - begun(lines[0]) - WARM_UP
    arrives, waits = ([line for line in warm if f"?{model}=" in line.url] for model in ("arrives", "waits"))
    return Run(max(0.0, lasted), arrives, waits)


def begun(line: Line) -> float:
    """Return when a request reached nginx, in seconds since 1970."""
    return (line.ended or 0.0) - (line.seconds or 0.0)


def p99(lines: list[Line]) -> int:
    """Return the milliseconds within which 99 of 100 requests were answered; 0 for no requests."""
    seconds = sorted(line.seconds or 0.0 for line in lines)
    return round(1000 * seconds[math.ceil(0.99 * len(seconds)) - 1]) if seconds else 0
