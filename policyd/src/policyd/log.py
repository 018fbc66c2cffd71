"""The log: one JSON line per connection. Every connection is counted; the lines per second are limited.

An attack must neither fill the disk nor stop the daemon through its log: connections above the limit are
summed up in one line at the end of the second.
"""

import json
import os
import select
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

REQUEST_CAP = 64
"""Bytes of a request to look at and to log; a wrong request that is longer is `too-long`."""


class Outcome(StrEnum):
    """How a connection ended, as named in the log and in the counters."""

    SERVED = "served"
    BAD_REQUEST = "bad-request"
    TOO_LONG = "too-long"
    TIMEOUT = "timeout"
    CLOSED_EARLY = "closed-early"
    RESET = "reset"
    REFUSED_TOTAL = "refused-total"
    REFUSED_PER_ADDRESS = "refused-per-address"
    STOPPED = "stopped"
    ERROR = "error"


SHOW_REQUEST_OF = (Outcome.BAD_REQUEST, Outcome.TOO_LONG)

Write = Callable[[bytes], None]


def write_to_stdout(line: bytes) -> None:
    """Write to standard output; drop the line if that would block, so that a full pipe stops nothing."""
    # A pipe that select calls writable has room for PIPE_BUF (4096) bytes: more than a line.
    fd = 1
    try:
        if select.select([], [fd], [], 0)[1]:
            os.write(fd, line)
    except OSError:
        pass  # the reader is gone, or the disk is full


class Log:
    """Counts outcomes and writes events. The daemon calls `tick` once a second."""

    def __init__(self, write: Write = write_to_stdout, lines_per_second: int = 20) -> None:
        self.counts: Counter[str] = Counter()
        self._write = write
        self._lines_per_second = lines_per_second
        self._lines = 0
        self._unwritten: Counter[str] = Counter()

    def event(self, name: str, **fields: Any) -> None:
        """Write an operator's event, such as a start or a reload. These are rare, so they are not limited."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._write(json.dumps({"time": now, "event": name, **fields}).encode() + b"\n")

    def connection(
        self,
        outcome: Outcome,
        address: str,
        port: int,
        seconds: float = 0.0,
        received: bytes = b"",
        detail: str | None = None,
    ) -> None:
        """Count a connection and, within the limit, write its line; `seconds` since accept."""
        fields: dict[str, Any] = {"outcome": outcome, "address": address, "port": port}
        fields |= {"seconds": round(seconds, 4), "received": len(received)}
        if outcome in SHOW_REQUEST_OF:
            fields["request"] = received[:REQUEST_CAP].decode("latin-1")
        if detail:
            fields["detail"] = detail
        self._bounded(outcome, "connection", fields)

    def accept_failed(self, detail: str) -> None:
        """Count a connection that could not be accepted and, within the limit, write it."""
        self._bounded("accept-failed", "accept-failed", {"detail": detail})

    def tick(self) -> None:
        """Begin a new second; sum up the connections not written in the last one."""
        if self._unwritten:
            self.event("summary", unwritten=self._unwritten.total(), outcomes=dict(self._unwritten))
        self._unwritten.clear()
        self._lines = 0

    def write_counters(self) -> None:
        """Write all counts since the start."""
        self.event("counters", **self.counts)

    def _bounded(self, count: str, event: str, fields: dict[str, Any]) -> None:
        self.counts[count] += 1
        if self._lines < self._lines_per_second:
            self._lines += 1
            self.event(event, **fields)
        else:
            self._unwritten[count] += 1
