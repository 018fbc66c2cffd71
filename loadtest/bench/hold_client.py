"""Many connections to one server, held open, and a file asked for over each of them again and again.

    python3 hold_client.py '{"host": "nginx", "port": 8080, "path": "/file", "bytes": 5000, "patience": 20,
                             "connections": 10000, "pause": 2, "every": 2.5, "rounds": 2}'

Runs inside the generator, with nothing but Python's library; tools/hold.py starts it and reads the line of
JSON that it prints. First everybody connects and asks once: an answer is the proof that the server has the
connection, and not only the kernel's queue. Then all rest for `pause` seconds. Then each asks once in
`every` seconds, `rounds` times: by the clock, evenly spread, whoever has been answered, and an answer's
time counts from when its request was due (an open loop, without coordinated omission).

A connection fails if it is refused, if the server closes it, if the answer is not a 200 with so many bytes,
or not there within `patience` seconds. The first failure ends the opening: so many the server can hold, and
no more.
"""

import errno
import json
import os
import re
import resource
import select
import socket
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

OPENING = (
    200  # connections on their way at a time, fewer than the queue of any server has places (nginx: 511)
)
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Failed(Exception):
    """What became of a connection, in a few words that can be counted."""


@dataclass
class Seat:
    """One connection. `due` is when its request should have been sent; None while it has none."""

    socket: socket.socket
    due: float | None
    asked: bool = False
    head: bytes = b""
    missing: int | None = None  # bytes of the answer; None until its head is complete


@dataclass
class Hall:
    """All connections to one server, and how it went."""

    host: str
    port: int
    path: str
    length: int
    patience: float
    seats: dict[int, Seat] = field(default_factory=dict)
    waiting: dict[int, Seat] = field(default_factory=dict)  # in the order in which they became due
    milliseconds: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)  # milliseconds, of each request sent by the clock
    failures: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.poll = select.epoll()
        self.address = socket.getaddrinfo(self.host, self.port, socket.AF_INET, socket.SOCK_STREAM)[0][4]
        self.request = f"GET {self.path} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode()

    def open(self, connections: int) -> None:
        """Connect and ask once, everybody, as fast as the server takes them in; the first failure ends it."""
        while (len(self.seats) < connections or self.waiting) and not self.failures:
            while len(self.waiting) < OPENING and len(self.seats) < connections and not self.failures:
                self._connect()
            self._look(0.05)

    def rest(self, seconds: float) -> None:
        """Nobody asks. Who is closed in the meantime has failed."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._look(left)

    def ask_around(self, every: float, rounds: int) -> None:
        """Everybody asks, one after the other by the clock, and all over again."""
        self.milliseconds.clear()
        seats = list(self.seats.values())
        begin = time.monotonic()
        for number in range(rounds * len(seats)):
            due = begin + number * every / len(seats)
            while (left := due - time.monotonic()) > 0:
                self._look(left)
            seat = seats[number % len(seats)]
            while seat.due is not None:  # it still waits for its last answer; those who wait for it are timed
                self._look(0.05)
            if seat.socket.fileno() in self.seats:
                self.late.append((time.monotonic() - due) * 1000)
                seat.due = due
                self._ask(seat)
            if number % 100 == 0:  # however late we are, answers are read
                self._look(0)
        while self.waiting:
            self._look(0.05)

    def close(self) -> None:
        """Everybody leaves."""
        for seat in self.seats.values():
            seat.socket.close()
        self.poll.close()

    def _connect(self) -> None:
        seat = Seat(socket.socket(), due=time.monotonic())
        seat.socket.setblocking(False)
        number = seat.socket.fileno()
        self.seats[number] = self.waiting[number] = seat
        self.poll.register(number, select.EPOLLOUT)
        code = seat.socket.connect_ex(self.address)
        if code not in (0, errno.EINPROGRESS):
            self._lose(seat, os.strerror(code).lower())

    def _ask(self, seat: Seat) -> None:
        number = seat.socket.fileno()
        self.waiting[number] = seat
        seat.head, seat.missing = b"", None
        try:
            seat.socket.sendall(self.request)
        except OSError as error:
            self._lose(seat, str(error.strerror).lower())

    def _look(self, seconds: float) -> None:
        """Wait that long for something to happen, deal with it, and with those who have waited too long."""
        for number, _ in self.poll.poll(seconds):
            seat = self.seats[number]
            try:
                if seat.asked:
                    self._read(seat)
                else:
                    self._connected(seat)
            except Failed as failure:
                self._lose(seat, str(failure))
            except OSError as error:
                self._lose(seat, str(error.strerror).lower())
        too_old = time.monotonic() - self.patience
        while self.waiting:
            first = next(iter(self.waiting.values()))
            if first.due is None or first.due > too_old:
                break
            self._lose(first, f"no answer within {self.patience:g} s")

    def _connected(self, seat: Seat) -> None:
        if code := seat.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise Failed(os.strerror(code).lower())
        seat.asked = True
        self.poll.modify(seat.socket, select.EPOLLIN)
        self._ask(seat)

    def _read(self, seat: Seat) -> None:
        data = seat.socket.recv(1 << 16)
        if not data:
            raise Failed(
                "closed while it waited" if seat.due is None else "closed before the answer was complete"
            )
        if seat.due is None:
            raise Failed("more than was asked for")
        if seat.missing is None:
            seat.head += data
            head, separator, data = seat.head.partition(b"\r\n\r\n")
            if not separator:
                return
            seat.missing = self._promised(head)
        seat.missing -= len(data)
        if seat.missing < 0:
            raise Failed("more than was asked for")
        if seat.missing == 0:
            self.milliseconds.append((time.monotonic() - seat.due) * 1000)
            seat.due = None
            del self.waiting[seat.socket.fileno()]

    def _promised(self, head: bytes) -> int:
        status = head.split(b" ", 2)[1:2]
        if status != [b"200"]:
            raise Failed(f"status {b''.join(status).decode(errors='replace')}")
        length = LENGTH.search(head)
        if length is None or int(length[1]) != self.length:
            raise Failed(f"{length[1].decode() if length else 'unknown'} bytes instead of {self.length}")
        return self.length

    def _lose(self, seat: Seat, why: str) -> None:
        number = seat.socket.fileno()
        self.failures[why] += 1
        self.waiting.pop(number, None)
        del self.seats[number]
        self.poll.unregister(number)
        seat.socket.close()
        seat.due = None


def hold(settings: dict[str, Any]) -> dict[str, Any]:
    """Open, rest, ask around; what to print. Times are seconds, or what their names say."""
    hall = Hall(settings["host"], settings["port"], settings["path"], settings["bytes"], settings["patience"])
    begin = time.monotonic()
    hall.open(settings["connections"])
    opened = time.monotonic()
    held_from = time.time()
    if not hall.failures:
        hall.rest(settings["pause"])
    report: dict[str, Any] = {
        "held": len(hall.seats) - len(hall.waiting),
        "open_seconds": opened - begin,
    }
    if not hall.failures:
        asking, computed = time.monotonic(), time.process_time()
        hall.ask_around(settings["every"], settings["rounds"])
        seconds = time.monotonic() - asking
        report |= {
            "replies": len(hall.milliseconds),
            "asking_seconds": seconds,
            "generator_cpu_percent": (time.process_time() - computed) / seconds * 100,
        }
        if not hall.failures:
            report |= {
                "milliseconds": statistics.mean(hall.milliseconds),
                "deviation_milliseconds": statistics.pstdev(hall.milliseconds),
                "p99_milliseconds": statistics.quantiles(hall.milliseconds, n=100, method="inclusive")[98],
                "late_milliseconds": statistics.mean(hall.late),
            }
    held_until = time.time()
    hall.close()
    return {
        **report,
        "held_from": held_from,
        "held_until": held_until,
        "seconds": time.monotonic() - begin,
        "failures": hall.failures,
    }


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print(json.dumps(hold(json.loads(sys.argv[1]))))
