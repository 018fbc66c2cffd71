"""Parses the backend's metrics and computes the rates between two reports.

`prometheus_client` has a parser, but the official Locust image does not contain it.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

# Prometheus' text format: a name, labels if there are any, a value.
SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([-+.\deE]+)(?: \d+)?$", re.MULTILINE)
PATH = re.compile(r'\bpath="([^"]*)"')


@dataclass(frozen=True)
class Metrics:
    """One report of the backend: its requests and CPU seconds since it started, and the clients now.

    `at`: seconds (time.monotonic). `requests`: the backend's class of paths -> number.
    """

    at: float
    requests: Mapping[str, float]
    cpu: float
    clients: float

    @property
    def total(self) -> float:
        """The number of requests that the backend has answered since it started."""
        return sum(self.requests.values())


def read(text: str, at: float) -> Metrics:
    """Return the report in a text, its samples summed over their other labels; raise ValueError if one is
    missing.
    """
    sums: Counter[str] = Counter()
    requests: Counter[str] = Counter()  # empty before the first request
    for name, labels, value in SAMPLE.findall(text):
        sums[name] += float(value)  # type: ignore[assignment]
        if name == "upstage_http_request_seconds_count":
            path = PATH.search(labels)
            requests[path[1] if path else ""] += float(value)  # type: ignore[assignment]
    for name in ("process_cpu_seconds_total", "upstage_clients"):
        if name not in sums:
            raise ValueError(f"no metric {name!r}")
    return Metrics(at, requests, cpu=sums["process_cpu_seconds_total"], clients=sums["upstage_clients"])


def rates(earlier: Metrics | None, later: Metrics | None) -> dict[str, float] | None:
    """Return requests per second, CPU in percent of one core, and clients now; None without two reports."""
    if earlier is None or later is None or later.at <= earlier.at:
        return None
    seconds = later.at - earlier.at
    return {
        "requests_per_second": round((later.total - earlier.total) / seconds, 1),
        "cpu_percent": round(100 * (later.cpu - earlier.cpu) / seconds, 1),
        "clients": later.clients,
    }


def since(known: Mapping[str, float] | None, now: Mapping[str, float]) -> Counter[str]:
    """Return each class's requests between two reports, or since a restart; none for the first report."""
    if known is None:
        return Counter()
    restarted = any(now.get(kind, 0) < count for kind, count in known.items())
    return Counter({kind: round(n - (0 if restarted else known.get(kind, 0))) for kind, n in now.items()})
