"""One measurement: the same users on one topology for some time, and its figures."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import topologies
from caches import table
from caches.outcomes import hit_ratio
from users import paths
from verdict import judge

HTTP = ("GET", "POST", "poll")


@dataclass(frozen=True)
class Measurement:
    """The counts of `seconds` from `began` on (seconds since 1970), after a warm-up, which is left out.

    `warm_up`: the warm-up's number of samples. `lines`: the verdict. `asked`: requests as the backend counts
    them, by class of paths. `backend`: the backend's rates, or the reason why there are none. `arrivals`:
    visits per second, by one user in each process; 0 for users who wait for their responses.
    """

    topology: str
    users: int
    began: float
    seconds: float
    warm_up: int
    run: judge.Run
    lines: list[judge.Line]
    asked: Mapping[str, int]
    backend: Mapping[str, Any]
    arrivals: float = 0.0

    @property
    def name(self) -> str:
        return topologies.name(self.topology) + (", arrivals" if self.arrivals else "")

    @property
    def load(self) -> str:
        """The load as text, such as `50 users`."""
        return f"{self.arrivals:g} visits/s" if self.arrivals else f"{self.users} users"

    @property
    def conclusion(self) -> judge.Line:
        """The verdict as one line."""
        return judge.conclusion(self.lines)

    @property
    def answered(self) -> bool:
        return any(row.good for row in self.run.rows)

    @property
    def limited(self) -> bool:
        """Whether Locust was the limit: it was too busy, or has lost workers and their users.

        Whether a line failed does not matter: at such a level Locust itself may have caused it.
        """
        return self.run.lost > 0 or any(line.verdict == judge.INCONCLUSIVE for line in self.lines)

    @property
    def carried(self) -> bool:
        """Whether the topology carried these users. A row with too few samples is not a failure; a run
        without any samples is.
        """
        return self.answered and not self.limited and self.conclusion.verdict != judge.FAILED

    @property
    def caches(self) -> table.Counts:
        return table.complete(self.run.caches, self.asked)

    @property
    def reason(self) -> str:
        """The first line that is not met, as text; empty if all are met."""
        verdict = self.conclusion.verdict
        for line in self.lines:
            if line.verdict == verdict:
                allowed = f", {line.allowed}" if line.allowed else ""
                return f"{line.what} {line.measured}{allowed}: {line.why}"
        return ""

    def figures(self) -> dict[str, float | int | None]:
        """Return the numbers of the table; None for a figure that was not measured.

        Times are milliseconds, shares are 0 to 1, and CPU is percent of one core.
        """
        http = [row for row in self.run.rows if row.kind in HTTP]
        # The times of responses that the backend holds say nothing about the servers in front of it.
        times = [row for row in http if not paths.held(row.name)]
        visits = [row for row in self.run.rows if str(row) == "arrival visit"]
        chat = [row for row in self.run.rows if row.name == "chat"]
        outcomes: dict[str, int] = {}
        for (row, tier, outcome), count in self.run.caches.items():
            if tier == "client" and not table.of_crawlers(row):
                outcomes[outcome] = outcomes.get(outcome, 0) + count
        failures = sum(row.failures for row in self.run.rows)
        samples = sum(row.samples for row in self.run.rows)
        return {
            "requests_per_second": round(sum(row.samples for row in http) / self.seconds, 1),
            "bytes_per_second": round(sum(row.length for row in http) / self.seconds),
            "p50_ms": percentile(times, 0.50),
            "p95_ms": percentile(times, 0.95),
            "p99_ms": percentile(times, 0.99),
            "hit_ratio": round(hit_ratio(outcomes), 4) if outcomes else None,
            "backend_requests_per_second": self.backend.get("requests_per_second"),
            "backend_cpu_percent": self.backend.get("cpu_percent"),
            "chat_p99_ms": percentile(chat, 0.99),
            "visit_p99_ms": percentile(visits, 0.99),
            "failures": failures,
            "failure_ratio": round(failures / samples, 4) if samples else None,
            "warm_up_samples": self.warm_up,
            "seconds": round(self.seconds, 1),
        }


def percentile(rows: list[judge.Row], share: float) -> float | None:
    """Return the percentile over all samples of several rows; None without samples, or if too many failed."""
    together: dict[int, int] = {}
    for row in rows:
        for milliseconds, count in row.times.items():
            together[milliseconds] = together.get(milliseconds, 0) + count
    samples, failures = sum(row.samples for row in rows), sum(row.failures for row in rows)
    found = judge.percentile(judge.Row("", "", samples, failures, together), share)
    return None if math.isinf(found) else found
