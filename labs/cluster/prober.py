"""Asks for media at a steady rate, as browsers do, and says what went wrong when.

A client whose connection is lost or refused asks once more, at the next address: so does a browser whose name
has several addresses. Meanwhile a WebSocket and a stage socket are held open at each address.
"""

import argparse
import asyncio
import base64
import json
import os
import random
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

PATIENCE = 10.0  # seconds for one attempt
STAGE_PORT = 7230
JOIN = b"stage_ID=demo&mode=JOIN"


@dataclass
class Second:
    """The outcomes of the requests that began in one second."""

    counts: Counter[str] = field(default_factory=Counter)  # asked, hit, miss, repeated, failed
    times: list[float] = field(default_factory=list)  # seconds until the whole response was there


class Prober:
    """One crowd of clients."""

    def __init__(self, addresses: list[str], host: str, files: list[str], seed: int) -> None:
        self.addresses = addresses
        self.host = host
        self.files = files
        self.random = random.Random(seed)
        self.seconds: dict[int, Second] = defaultdict(Second)
        self.failures: Counter[str] = Counter()
        self.stopped = False
        self.held: dict[str, float | None] = {}  # a connection that is held: when it ended, in seconds
        self._idle: dict[str, list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = defaultdict(list)

    async def run(self, seconds: float, rate: float) -> None:
        """Begin `rate` requests a second for `seconds`, or until `stopped`; wait for the last ones."""
        self.start = time.monotonic()
        held = [asyncio.create_task(self._hold(*what)) for what in self._connections()]
        waiting: set[asyncio.Task[None]] = set()
        for number in range(int(seconds * rate)):
            if self.stopped:
                break
            await asyncio.sleep(self.start + number / rate - time.monotonic())
            task = asyncio.create_task(self._request(number))
            waiting.add(task)
            task.add_done_callback(waiting.discard)
        if waiting:
            await asyncio.wait(waiting)
        for task in held:
            task.cancel()

    def _connections(self) -> Iterator[tuple[str, str, int, bytes]]:
        """The connections to hold at each address: name, host, port, and the client's first bytes."""
        key = base64.b64encode(os.urandom(16)).decode()
        for address in self.addresses:
            host, port = address.rsplit(":", 1)
            upgrade = f"Host: {self.host}\r\nOrigin: http://{self.host}\r\nConnection: Upgrade\r\n"
            upgrade += f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
            # A text frame, which a client must mask: here with zeros.
            frame = b"\x81" + bytes([0x80 | len(JOIN), 0, 0, 0, 0]) + JOIN
            first = f"GET /ws HTTP/1.1\r\n{upgrade}\r\n".encode() + frame
            yield f"{host} WebSocket", host, int(port), first
            yield f"{host} stage socket", host, STAGE_PORT, JOIN + b"\0"

    async def _hold(self, name: str, host: str, port: int, first: bytes) -> None:
        """Join a stage, and read until the connection ends."""
        self.held[name] = 0
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(first)
            self.held[name] = None
            if first.startswith(b"GET") and b" 101 " not in await reader.readline():
                self.held[name] = 0
                return
            while await reader.read(65536):
                pass
        self.held[name] = round(time.monotonic() - self.start, 1)

    async def _request(self, number: int) -> None:
        began = time.monotonic()
        second = self.seconds[int(began - self.start)]
        second.counts["asked"] += 1
        file = self.random.choice(self.files)
        for attempt in range(2):
            address = self.addresses[(number + attempt) % len(self.addresses)]
            try:
                status, cache = await asyncio.wait_for(self._ask(address, file, attempt > 0), PATIENCE)
            except (OSError, EOFError, TimeoutError) as problem:
                outcome, why = "repeated", type(problem).__name__
            else:
                outcome = "failed" if status >= 400 else "hit" if "; hit" in cache else "miss"
                why = str(status)
            if attempt and outcome == "repeated":
                outcome = "failed"
            second.counts[outcome] += 1
            if outcome in ("failed", "repeated"):
                self.failures[f"{outcome}: {why}"] += 1
            if outcome != "repeated":
                break
        second.times.append(time.monotonic() - began)

    async def _ask(self, address: str, file: str, fresh: bool) -> tuple[int, str]:
        """Return the status and Varnish's part of Cache-Status; a `fresh` request opens a connection."""
        idle = self._idle[address]
        while idle and idle[-1][0].at_eof():  # closed by the other side meanwhile
            idle.pop()[1].close()
        if idle and not fresh:
            reader, writer = idle.pop()
        else:
            host, port = address.rsplit(":", 1)
            reader, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), 2)
        try:
            # A part of the file: nginx's copy of one second has none, so the answer is Varnish's.
            writer.write(f"GET {file} HTTP/1.1\r\nHost: {self.host}\r\nRange: bytes=0-9\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:] if line)
            await reader.readexactly(int(lines["content-length"]))
        except BaseException:
            writer.close()
            raise
        if lines.get("connection") == "close":
            writer.close()
        else:
            idle.append((reader, writer))
        return int(head.split()[1]), lines.get("cache-status", "").partition(",")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("addresses", nargs="+", metavar="ADDRESS:PORT")
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--files", default="/media/fox.svg?{}", help="{} becomes a number")
    parser.add_argument("--number", type=int, default=200, help="of files")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=float, default=100, help="requests a second")
    options = parser.parse_args()
    files = [options.files.format(number) for number in range(options.number)]
    prober = Prober(options.addresses, options.host, files, seed=1)
    signal.signal(signal.SIGTERM, lambda *_: setattr(prober, "stopped", True))
    asyncio.run(prober.run(options.seconds, options.rate))
    seconds = [
        {"second": number, **second.counts, "times": [round(seconds, 4) for seconds in sorted(second.times)]}
        for number, second in sorted(prober.seconds.items())
    ]
    json.dump({"seconds": seconds, "failures": prober.failures, "held": prober.held}, sys.stdout)


if __name__ == "__main__":
    main()
