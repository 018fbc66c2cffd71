"""The backend's metrics, read, and what two readings say about the time between them."""

import re
from dataclasses import dataclass

# Prometheus' text format: name, labels if any, value.
SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{.*\})? ([-+.\deE]+)(?: \d+)?$", re.MULTILINE)


@dataclass(frozen=True)
class Metrics:
    """What the backend has said at one moment: requests and CPU seconds since it started, clients now."""

    at: float
    requests: float
    cpu: float
    clients: float


def read(text: str, at: float) -> Metrics:
    """Sum up the samples that matter, over all their labels. ValueError if they are not there."""
    sums: dict[str, float] = {}
    for name, value in SAMPLE.findall(text):
        sums[name] = sums.get(name, 0.0) + float(value)
    try:
        return Metrics(
            at,
            requests=sums["upstage_http_request_seconds_count"],
            cpu=sums["process_cpu_seconds_total"],
            clients=sums["upstage_clients"],
        )
    except KeyError as missing:
        raise ValueError(f"no metric {missing}") from None


def rates(earlier: Metrics | None, later: Metrics | None) -> dict[str, float] | None:
    """Requests per second, CPU in per cent of one core, and clients now; None without two answers."""
    if earlier is None or later is None or later.at <= earlier.at:
        return None
    seconds = later.at - earlier.at
    return {
        "requests_per_second": round((later.requests - earlier.requests) / seconds, 1),
        "cpu_percent": round(100 * (later.cpu - earlier.cpu) / seconds, 1),
        "clients": later.clients,
    }
