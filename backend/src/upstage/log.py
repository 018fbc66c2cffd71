"""The log: one JSON line per event on standard output, Twisted's own events included."""

import json
import os
import re
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from twisted.logger import ILogObserver, LogEvent, formatEvent, globalLogBeginner
from zope.interface import implementer

MAX_LINE = 4096  # bytes (PIPE_BUF): if select calls a pipe writable, a line of this length does not block

# Twisted's lines about the port of each webcam picture; a camera sends two pictures a second.
ROUTINE = re.compile(r"UploadListener starting on \d+|\(TCP Port \d+ Closed\)")


def write_to_stdout(line: bytes) -> None:
    """Write to standard output, or drop the line if that would block: a full pipe must not stop a server."""
    try:
        if select.select([], [1], [], 0)[1]:
            os.write(1, line)
    except (OSError, ValueError):
        pass  # the reader has closed the pipe, or the disk is full


def datagrams(path: Path) -> Callable[[bytes], None]:
    """Return a function that sends a line to a Unix socket, and drops it if no program reads there."""
    outbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    outbox.setblocking(False)

    def write(line: bytes) -> None:
        with suppress(OSError):
            outbox.sendto(line, str(path))

    return write


def start_logging(traces: Path | None = None) -> None:
    """Write all events, Python's warnings included, to standard output from now on; also send the events
    that belong to a trace to the socket `traces`.
    """
    observers = [observer(write_to_stdout)]
    if traces:
        observers.append(observer(datagrams(traces), only="traced"))
    globalLogBeginner.beginLoggingTo(observers, redirectStandardIO=False)


def observer(write: Callable[[bytes], None], only: str = "") -> ILogObserver:
    """Return an observer that writes each event except ROUTINE as `{"time", "level", "event", ...fields}`.

    If `only` is set, it writes only events in which that key is true.
    """

    @implementer(ILogObserver)
    class Observer:
        def __call__(self, event: LogEvent) -> None:
            if (not only or event.get(only)) and not ROUTINE.fullmatch(formatEvent(event)):
                write(line_of(event))

    return Observer()


def line_of(event: LogEvent) -> bytes:
    """Return an event as one line: its text, its `fields`, its traceback."""
    when = datetime.fromtimestamp(event["log_time"], UTC).isoformat(timespec="milliseconds")
    line = {
        "time": when.replace("+00:00", "Z"),
        "level": event["log_level"].name,
        "event": formatEvent(event),
        **event.get("fields", {}),
    }
    if "log_failure" in event:
        line["traceback"] = event["log_failure"].getTraceback()[-2500:]
    encoded = json.dumps(line).encode()
    if len(encoded) >= MAX_LINE:  # keep it valid JSON by shortening its longest text
        longest = max(line, key=lambda key: len(str(line[key])))
        line[longest] = str(line[longest])[:500] + " ..."
        encoded = json.dumps(line).encode()
    return encoded + b"\n"
