"""Open many connections to one server, hold them, and request a file over each of them again and again.

    python3 -m labs.bench.clients.hold_connections '{"host": "nginx", "port": 8080, "path": "/file",
        "bytes": 5000, "response_timeout": 20, "connections": 10000, "pause": 2, "every": 2.5, "rounds": 2}'

First, every client connects and sends one request: its response proves that the server has accepted the
connection, which otherwise could be waiting in the kernel's queue. After `pause` seconds without a request,
each client sends one request every `every` seconds, `rounds` times, evenly spread over time and independent
of earlier responses (an open loop): the time of a response counts from when its request was due, to avoid
coordinated omission.

The requests name `host`, or "vhost" if it is given. With `film_in`, one in that many scheduled requests is
for a film instead: `film` has the `vhost`, the `path` with {} for a random number from 1 to `of`, and the
`bytes`. The times of films are reported separately.

A connection fails if it is refused, if the server closes it, or if the response is not a 200 of `bytes` bytes
within `response_timeout` seconds. The first failure ends the opening: the server cannot hold more connections
than those opened before.
"""

import errno
import json
import os
import random
import re
import select
import socket
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from labs.bench.clients.stage_sockets import raise_file_limit
from labs.bench.percentile import percentile

OPENING = 200  # connections opened at a time: fewer than any server's listen queue holds (nginx: 511)
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Request:
    """The client's bytes, the length of the body that it expects, and the list for the response's time."""

    text: bytes
    length: int
    milliseconds: list[float]


class Failed(Exception):
    """The reason why a connection failed, in a few words, so that reasons can be counted."""


@dataclass
class Connection:
    """One connection. `due` is when its request should have been sent; None if it waits for no response."""

    socket: socket.socket
    due: float | None
    request: Request
    requested: bool = False
    head: bytes = b""
    missing: int | None = None  # bytes of the body; None until the head is complete


@dataclass
class Clients:
    """All connections to one server, and their results."""

    host: str
    port: int
    path: str
    length: int
    response_timeout: float
    vhost: str  # the Host header
    film_in: int = 0
    film: Mapping[str, Any] = field(default_factory=dict)
    open_connections: dict[int, Connection] = field(default_factory=dict)
    waiting: dict[int, Connection] = field(default_factory=dict)  # in the order of their `due`
    milliseconds: list[float] = field(default_factory=list)
    film_milliseconds: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)  # the delay of each scheduled request, in milliseconds
    failures: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.poll = select.epoll()
        self.address = socket.getaddrinfo(self.host, self.port, socket.AF_INET, socket.SOCK_STREAM)[0][4]
        self.page = Request(get(self.path, self.vhost), self.length, self.milliseconds)

    def open(self, connections: int) -> None:
        """Connect and request once, as fast as the server accepts; the first failure ends the opening."""
        while (len(self.open_connections) < connections or self.waiting) and not self.failures:
            while (
                len(self.waiting) < OPENING and len(self.open_connections) < connections and not self.failures
            ):
                self._connect()
            self._poll(0.05)

    def rest(self, seconds: float) -> None:
        """Send nothing. A connection that the server closes in this time has failed."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._poll(left)

    def request_in_turn(self, every: float, rounds: int) -> None:
        """Send a request over each connection in turn, on schedule, `rounds` times."""
        self.milliseconds.clear()
        connections = list(self.open_connections.values())
        begin = time.monotonic()
        for number in range(rounds * len(connections)):
            due = begin + number * every / len(connections)
            while (left := due - time.monotonic()) > 0:
                self._poll(left)
            connection = connections[number % len(connections)]
            while connection.due is not None:  # its last response is late, and the delay counts
                self._poll(0.05)
            if connection.socket.fileno() in self.open_connections:
                self.late.append((time.monotonic() - due) * 1000)
                connection.due, connection.request = due, self._next(number)
                self._send(connection)
            if number % 100 == 0:  # so that responses are read even if the schedule is late
                self._poll(0)
        while self.waiting:
            self._poll(0.05)

    def close(self) -> None:
        """Close every connection."""
        for connection in self.open_connections.values():
            connection.socket.close()
        self.poll.close()

    def _next(self, number: int) -> Request:
        """Return the scheduled request with this number: for the page, or for a film."""
        if not self.film_in or number % self.film_in:
            return self.page
        path = self.film["path"].format(random.randint(1, self.film["of"]))
        return Request(get(path, self.film["vhost"]), self.film["bytes"], self.film_milliseconds)

    def _connect(self) -> None:
        connection = Connection(socket.socket(), time.monotonic(), self.page)
        connection.socket.setblocking(False)
        number = connection.socket.fileno()
        self.open_connections[number] = self.waiting[number] = connection
        self.poll.register(number, select.EPOLLOUT)
        code = connection.socket.connect_ex(self.address)
        if code not in (0, errno.EINPROGRESS):
            self._fail(connection, os.strerror(code).lower())

    def _send(self, connection: Connection) -> None:
        self.waiting[connection.socket.fileno()] = connection
        connection.head, connection.missing = b"", None
        try:
            connection.socket.sendall(connection.request.text)
        except OSError as error:
            self._fail(connection, str(error.strerror).lower())

    def _poll(self, seconds: float) -> None:
        """Wait for events for so many seconds and handle them; then fail the connections that are late."""
        for number, _ in self.poll.poll(seconds):
            connection = self.open_connections[number]
            try:
                if connection.requested:
                    self._read(connection)
                else:
                    self._connected(connection)
            except Failed as failure:
                self._fail(connection, str(failure))
            except OSError as error:
                self._fail(connection, str(error.strerror).lower())
        too_old = time.monotonic() - self.response_timeout
        while self.waiting:
            first = next(iter(self.waiting.values()))
            if first.due is None or first.due > too_old:
                break
            self._fail(first, f"no response within {self.response_timeout:g} s")

    def _connected(self, connection: Connection) -> None:
        if code := connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise Failed(os.strerror(code).lower())
        connection.requested = True
        self.poll.modify(connection.socket, select.EPOLLIN)
        self._send(connection)

    def _read(self, connection: Connection) -> None:
        data = connection.socket.recv(1 << 16)
        if not data:
            idle = connection.due is None
            raise Failed("closed while idle" if idle else "closed before the response was complete")
        if connection.due is None:
            raise Failed("data without a request")
        if connection.missing is None:
            connection.head += data
            head, separator, data = connection.head.partition(b"\r\n\r\n")
            if not separator:
                return
            connection.missing = body_length(head, connection.request.length)
        connection.missing -= len(data)
        if connection.missing < 0:
            raise Failed("data without a request")
        if connection.missing == 0:
            connection.request.milliseconds.append((time.monotonic() - connection.due) * 1000)
            connection.due = None
            del self.waiting[connection.socket.fileno()]

    def _fail(self, connection: Connection, why: str) -> None:
        number = connection.socket.fileno()
        self.failures[why] += 1
        self.waiting.pop(number, None)
        del self.open_connections[number]
        self.poll.unregister(number)
        connection.socket.close()
        connection.due = None


def get(path: str, host: str) -> bytes:
    """Return the bytes of a request."""
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


def body_length(head: bytes, wanted: int) -> int:
    """Return the length of the body after this head. Raise Failed unless it is a 200 of the wanted length."""
    status = head.split(b" ", 2)[1:2]
    if status != [b"200"]:
        raise Failed(f"status {b''.join(status).decode(errors='replace')}")
    length = LENGTH.search(head)
    if length is None or int(length[1]) != wanted:
        raise Failed(f"{length[1].decode() if length else 'unknown'} bytes instead of {wanted}")
    return wanted


def hold(settings: dict[str, Any]) -> dict[str, Any]:
    """Open, rest, request in turn; return the report. Times are in seconds, or as their names say."""
    clients = Clients(
        settings["host"],
        settings["port"],
        settings["path"],
        settings["bytes"],
        settings["response_timeout"],
        settings.get("vhost", settings["host"]),
        settings.get("film_in", 0),
        settings.get("film", {}),
    )
    begin = time.monotonic()
    clients.open(settings["connections"])
    opened = time.monotonic()
    held_from = time.time()
    if not clients.failures:
        clients.rest(settings["pause"])
    report: dict[str, Any] = {
        "held": len(clients.open_connections) - len(clients.waiting),
        "open_seconds": opened - begin,
    }
    if not clients.failures:
        requesting, computed = time.monotonic(), time.process_time()
        clients.request_in_turn(settings["every"], settings["rounds"])
        seconds = time.monotonic() - requesting
        times = clients.milliseconds
        report |= {
            "replies": len(times) + len(clients.film_milliseconds),
            "requesting_seconds": seconds,
            "generator_cpu_percent": (time.process_time() - computed) / seconds * 100,
        }
        if not clients.failures:
            report |= {
                "milliseconds": statistics.mean(times),
                "lowest_milliseconds": min(times),
                "highest_milliseconds": max(times),
                "deviation_milliseconds": statistics.pstdev(times),
                "p99_milliseconds": percentile(times, 99),
                "late_milliseconds": statistics.mean(clients.late),
            }
            if films := clients.film_milliseconds:
                report |= {"films": len(films), "film_p95_milliseconds": percentile(films, 95)}
    held_until = time.time()
    clients.close()
    return {
        **report,
        "held_from": held_from,
        "held_until": held_until,
        "seconds": time.monotonic() - begin,
        "failures": clients.failures,
    }


if __name__ == "__main__":
    raise_file_limit()
    print(json.dumps(hold(json.loads(sys.argv[1]))))
