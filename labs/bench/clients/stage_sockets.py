"""Thousands of connections to one stage, from one process that takes little CPU from the servers.

    python3 -m labs.bench.clients.stage_sockets '{"stage": {"address": "nginx", "port": 17230,
        "proxied": true, "stage": "rehearsal"}, "joins": 1000}'

Run as a program, it joins with all at once, and reports the milliseconds of each join (from connecting to the
last frame of the reply), the seconds until the last one, the bytes received, and its own CPU time.

It calls epoll itself and only searches the data for a few bytes, because asyncio's streams and decoding each
frame would cost as much as the measured servers do.
"""

import json
import resource
import select
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from labs.bench.clients.speakers import PROXY

OPENING = 200  # connections at a time on which nothing has arrived: nginx's listen queue holds 511
TIMEOUT = 30.0  # seconds without any progress
DRAIN = 0.5  # seconds between two reads from the connections that are not watched
BUFFER = 1 << 18  # bytes read at once
JOINED = b"mode=JOINED\0"  # the end of a reply to JOIN
# Each line of `say` contains one "@", which the stage sends as %40. No other frame that a quiet stage sends
# (JOINED, HEARTBEAT) contains a MARK, and a single byte cannot be split between two reads.
SPOKEN, MARK = b"@", b"%"


class Client:
    """One connection. `lines`: the number of lines received; `opened`: whether anything has arrived."""

    __slots__ = ("begun", "joined", "lines", "opened", "requested", "socket", "tail")

    def __init__(self) -> None:
        self.socket = socket.socket()
        self.begun = time.perf_counter()
        self.requested = self.opened = self.joined = False
        self.tail = b""  # the end of the last read, in which JOINED may have begun
        self.lines = 0


class StageSockets:
    """Connections to one stage; `proxied` if a proxy announces their addresses. Close it at the end.

    All methods raise ConnectionError when the server closes a connection, and TimeoutError.
    """

    def __init__(self, address: str, port: int, proxied: bool, stage: str) -> None:
        self._address = (socket.gethostbyname(address), port)
        self._request = (b"" if proxied else PROXY) + f"stage_ID={stage}&mode=JOIN\0".encode()
        self._clients: dict[int, Client] = {}
        self._watching = 0
        self._watched = select.epoll()
        self._others = select.epoll()  # joined clients whose data wait in the kernel for `drain`
        self._buffer = bytearray(BUFFER)
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._clients)

    def join(self, number: int) -> list[float]:
        """Join with `number` more clients at once; return each one's milliseconds. They are not watched."""
        took: list[float] = []
        opening = begun = 0
        progress = drained = time.monotonic()
        while len(took) < number:
            while opening < OPENING and begun < number:
                self._connect()
                begun, opening = begun + 1, opening + 1
            for descriptor, _ in self._watched.poll(DRAIN):
                client = self._clients[descriptor]
                if not client.requested:
                    self._send_request(client)
                    continue
                was_open = client.opened
                size = self._read(client)
                opening -= client.opened and not was_open
                if size and self._has_joined(client, size):
                    took.append((time.perf_counter() - client.begun) * 1000)
                    self._move(client, self._watched, self._others)
                progress = time.monotonic()
            now = time.monotonic()
            if now - progress > TIMEOUT:
                raise TimeoutError(f"{len(took)} of {number} joined, then nothing arrived for {TIMEOUT:g} s")
            if now - drained > DRAIN:
                self.drain()
                drained = time.monotonic()
        return took

    def watch(self, number: int) -> None:
        """Watch so many of the clients, evenly spread in the order of their joins: `say` times them."""
        clients = list(self._clients.values())
        self._watching = number
        for index in range(number):
            self._move(clients[index * len(clients) // number], self._others, self._watched)

    def drain(self) -> None:
        """Read the data for the clients that are not watched."""
        while events := self._others.poll(0):
            for descriptor, _ in events:
                client = self._clients[descriptor]
                client.lines += self._buffer.count(MARK, 0, self._read(client))

    def rest(self, seconds: float) -> None:
        """Send nothing for that long, and read all arriving data."""
        end = time.monotonic() + seconds
        self.drain()
        while (left := end - time.monotonic()) > 0:
            self._read_watched(min(left, DRAIN))
            self.drain()

    def say(self, lines: int, every: float) -> tuple[list[list[float]], float]:
        """Say a line from the first client every `every` seconds; a line waits for the one before.

        Return for each line the milliseconds until each watched client received it, and the CPU seconds that
        this took here. Every client, watched or not, must receive each line exactly once.
        """
        clients = list(self._clients.values())
        for client in clients:
            client.lines = 0
        delays: list[list[float]] = []
        computed, begin = 0.0, time.monotonic()
        for number in range(lines):
            self.rest(begin + number * every - time.monotonic())
            found: list[float] = []
            own, sent = time.process_time(), time.perf_counter()
            clients[0].socket.sendall(b"msg=%s%d&mode=TEXT\0" % (SPOKEN, number))

            def note(sent: float = sent, found: list[float] = found) -> None:
                found.append((time.perf_counter() - sent) * 1000)

            while len(found) < self._watching:
                if not self._read_watched(TIMEOUT, note):
                    raise TimeoutError(f"line {number} reached {len(found)} of {self._watching} clients")
            computed += time.process_time() - own
            delays.append(found)
        deadline = time.monotonic() + TIMEOUT
        while any(client.lines < lines for client in clients) and time.monotonic() < deadline:
            self.rest(DRAIN)
        if wrong := sum(client.lines != lines for client in clients):
            raise ConnectionError(
                f"{wrong} of {len(clients)} clients did not receive each of {lines} lines once"
            )
        return delays, computed

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.socket.close()
        self._watched.close()
        self._others.close()

    def _connect(self) -> None:
        client = Client()
        client.socket.setblocking(False)
        client.socket.connect_ex(self._address)
        self._clients[client.socket.fileno()] = client
        self._watched.register(client.socket, select.EPOLLOUT)

    def _send_request(self, client: Client) -> None:
        if code := client.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise ConnectionError(f"connection {len(self)}: error {code}")
        client.socket.sendall(self._request)
        client.requested = True
        self._watched.modify(client.socket, select.EPOLLIN)

    def _read(self, client: Client) -> int:
        """Read into the buffer; return the number of bytes."""
        try:
            size = client.socket.recv_into(self._buffer)
        except BlockingIOError:
            return 0
        except ConnectionError:
            size = 0
        if not size:
            raise ConnectionError(f"the server has closed one of {len(self)} connections")
        client.opened = True
        self.bytes += size
        return size

    def _has_joined(self, client: Client, size: int) -> bool:
        """Return whether the reply to the client's JOIN has ended with this read."""
        client.joined = self._buffer.find(JOINED, 0, size) >= 0 or (
            JOINED in client.tail + self._buffer[: min(size, len(JOINED) - 1)]
        )
        client.tail = (client.tail + self._buffer[max(0, size - len(JOINED)) : size])[1 - len(JOINED) :]
        return client.joined

    def _read_watched(self, seconds: float, note: Callable[[], None] = lambda: None) -> bool:
        """Read data for watched clients; call `note` for each line. Return False if no data came."""
        events = self._watched.poll(seconds)
        for descriptor, _ in events:
            client = self._clients[descriptor]
            for _ in range(self._buffer.count(MARK, 0, self._read(client))):
                client.lines += 1
                note()
        return bool(events)

    def _move(self, client: Client, old: select.epoll, new: select.epoll) -> None:
        old.unregister(client.socket)
        new.register(client.socket, select.EPOLLIN)


def main(settings: dict[str, Any]) -> dict[str, Any]:
    """Run with these settings; return the report."""
    sockets = StageSockets(**settings["stage"])
    begin, computed = time.perf_counter(), time.process_time()
    milliseconds = sockets.join(settings["joins"])
    seconds = time.perf_counter() - begin
    cpu_percent = (time.process_time() - computed) / seconds * 100
    sockets.close()
    return {
        "milliseconds": milliseconds,
        "seconds": seconds,
        "bytes": sockets.bytes,
        "cpu_percent": cpu_percent,
    }


def raise_file_limit() -> None:
    """Raise the limit of open files to the hard limit: each connection needs one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    raise_file_limit()
    print(json.dumps(main(json.loads(sys.argv[1]))))
