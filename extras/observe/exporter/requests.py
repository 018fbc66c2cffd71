"""nginx's requests and sessions, counted from its log.

nginx sends one datagram for each of them (nginx/observe/), already classified, as a syslog message:

    <190>Nov 23 21:44:00 nginx: site kind status visitor tier:outcome seconds bytes id
    <190>Nov 23 21:44:00 nginx: port status
    <190>Nov 23 21:44:00 trace: JSON, for traces.py

https://nginx.org/en/docs/syslog.html
"""

import re
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Histogram

LINE = re.compile(
    rb"<\d{1,3}>\w{3} [ \d]\d [\d:]{8} nginx: (?:"
    rb"([\w.-]{1,64} \w{1,16} \d{3} \w{1,16} \w{1,16}:[a-z-]{1,16})"
    rb" (\d{1,9}\.\d{3}) (\d{1,15}) ([0-9a-f]{32})"
    rb"|(\d{1,5} \d{3}))"
)
# The beginning of a line: nginx sends several lines as one datagram if this process has not kept up. (No URL
# in a line contains a space.)
BEGINNING = re.compile(rb"(?=<190>\w{3} [ \d]\d [\d:]{8} (?:nginx|trace): )")
# A row is one combination of labels. nginx makes a few hundred; the limit is for other senders.
MAX_ROWS = 2000
SLOW = 0.1  # seconds; a request that takes longer leaves its ID as an exemplar
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)  # seconds


def lines(datagram: bytes) -> list[bytes]:
    """Return the lines of a datagram: one or several."""
    return [line for line in BEGINNING.split(datagram) if line] or [datagram]


class Requests:
    """Counts nginx's requests, and the connections to its other ports, from the lines of its log."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._rows: dict[bytes, Callable[[float, float, str], None]] = {}
        self._requests = Counter(
            "nginx_requests",
            "Requests that nginx has answered, by visitor, by tier, and by outcome in the last cache",
            ["site", "kind", "status", "visitor", "tier", "outcome"],
            registry=registry,
        )
        self._seconds = Histogram(
            "nginx_request_seconds",
            "From a request's first byte to the last one of its response",
            ["site", "kind"],
            buckets=BOUNDS,
            registry=registry,
        )
        self._sent = Counter("nginx_sent_bytes", "Bytes sent to clients", ["site"], registry=registry)
        text = "Connections to ports that do not speak HTTP"
        self._sessions = Counter("nginx_sessions", text, ["port", "status"], registry=registry)
        text = "Datagrams that are not nginx's, or a row too many"
        self._rejected = Counter("nginx_log_lines_rejected", text, registry=registry)

    def count(self, datagram: bytes) -> None:
        """Count one request or session; count anything else as rejected."""
        line = LINE.fullmatch(datagram)
        labels = line and (line[1] or line[5])
        if not line or not labels:
            self._rejected.inc()
            return
        add = self._rows.get(labels)
        if add is None:
            if len(self._rows) >= MAX_ROWS:
                self._rejected.inc()
                return
            add = self._rows[labels] = self._row(re.split("[ :]", labels.decode()))
        add(float(line[2] or 0), float(line[3] or 0), (line[4] or b"").decode())

    def _row(self, labels: list[str]) -> Callable[[float, float, str], None]:
        """Return the function that counts one more request's seconds and bytes, or one more session. A slow
        request leaves its ID, an exemplar: https://prometheus.io/docs/specs/om/open_metrics_spec/#exemplars
        """
        if len(labels) == 2:
            session = self._sessions.labels(*labels)
            return lambda _seconds, _size, _id: session.inc()
        site, kind, *_ = labels
        request, duration = self._requests.labels(*labels), self._seconds.labels(site, kind)
        sent = self._sent.labels(site)

        def add(seconds: float, size: float, request_id: str) -> None:
            request.inc()
            duration.observe(seconds, {"request_id": request_id} if seconds >= SLOW else None)
            sent.inc(size)

        return add
