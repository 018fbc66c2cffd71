"""nginx's requests and sessions, counted from its log.

nginx sends one datagram for each of them (nginx/observe/), already classified, as a syslog message:

    <190>Nov 23 21:44:00 nginx: site kind status visitor tier:outcome seconds bytes id
    <190>Nov 23 21:44:00 nginx: port status

https://nginx.org/en/docs/syslog.html
"""

import re
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import Metric

LINE = re.compile(
    rb"<\d{1,3}>\w{3} [ \d]\d [\d:]{8} nginx: (?:"
    rb"([\w.-]{1,64} \w{1,16} \d{3} \w{1,16} \w{1,16}:[a-z-]{1,16})"
    rb" (\d{1,9}\.\d{3}) (\d{1,15}) ([0-9a-f]{32})"
    rb"|(\d{1,5} \d{3}))"
)
# A row is one combination of labels. nginx makes a few hundred; the limit is for what another process sends.
MAX_ROWS = 2000
LONGEST = 512  # bytes of a datagram
SLOW = 0.1  # seconds from which a request leaves its ID as an exemplar
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)  # seconds
PATIENCE = 5.0  # seconds without a datagram after which the socket is checked


class Requests:
    """The counters, and the socket at `path` that feeds them."""

    def __init__(self, registry: CollectorRegistry, path: Path) -> None:
        self._path = path
        self._listening = False
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

    def read(self) -> list[Metric]:
        """Nothing: the registry has the counters. Raise OSError while nginx has no socket to write to."""
        if not (self._listening and self._path.is_socket()):
            raise OSError(f"no socket {self._path}")
        return []

    def listen(self) -> None:
        """Count what arrives, for ever."""
        while True:
            try:
                self._receive()
            except OSError as error:
                print(f"{self._path}: {error}", file=sys.stderr, flush=True)
                time.sleep(PATIENCE)

    def _receive(self) -> None:
        """Count what arrives, until the path has gone or there is an OSError."""
        self._path.unlink(missing_ok=True)  # left by the last run: a socket's file outlives its process
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as inbox:
            inbox.bind(str(self._path))
            self._path.chmod(0o666)  # nginx runs as another user
            inbox.settimeout(PATIENCE)
            self._listening = True
            try:
                while True:
                    try:
                        self.count(inbox.recv(LONGEST))
                    except TimeoutError:
                        if not self._path.is_socket():
                            return
            finally:
                self._listening = False

    def count(self, datagram: bytes) -> None:
        """Count one request or session; anything else is counted as rejected."""
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
        """The function that counts the seconds and bytes of one more request, or one more session. A slow
        request leaves its id, as an exemplar: https://prometheus.io/docs/specs/om/open_metrics_spec/#exemplars
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
