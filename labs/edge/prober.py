"""Asks for media at a steady rate, as browsers do, and says what went wrong when.

A client whose connection is lost or refused asks once more, at the next address: so does a browser whose name
has several addresses. Meanwhile a WebSocket and a stage socket are held open at each address, and pages
that no cache has are asked for at each, five times a second.
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
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

PATIENCE = 10.0  # seconds for one attempt
STAGE_PORT = 7230
JOIN = b"stage_ID=demo&mode=JOIN"
PING, PONG = 0x89, 0x8A  # the first byte of each frame
PAGE_PAUSE = 0.2  # seconds between two requests for a page at one address
# Makes an identified visitor (varnish/anonymous.vcl); no cache has a page for the second cookie.
COOKIE = "upstage_seen=1; prober=1"


@dataclass
class Second:
    """The outcomes of the requests that began in one second."""

    counts: Counter[str] = field(default_factory=Counter)  # asked, hit, miss, repeated, failed
    times: list[float] = field(default_factory=list)  # seconds until the whole response had arrived


@dataclass
class Page:
    """The outcomes of the requests for one page at one address."""

    asked: int = 0
    failed: int = 0
    gap: float = 0.0  # seconds: the longest time from a failed request until a page arrived
    _since: float | None = None

    def count(self, began: float, ended: float, came: bool) -> None:
        """Count one request; the times are in seconds by one clock."""
        self.asked += 1
        self.failed += not came
        if not came and self._since is None:
            self._since = began
        if self._since is not None:
            self.gap = max(self.gap, ended - self._since)
        if came:
            self._since = None


class Prober:
    """A crowd of clients, and what they have seen since `run` began."""

    def __init__(
        self, addresses: list[str], host: str, files: list[str], seed: int, pages: Sequence[str] = ()
    ) -> None:
        self.addresses = addresses
        self.host = host
        self.files = files
        self.pages = {path: [Page() for _ in addresses] for path in pages}
        self.random = random.Random(seed)
        self.seconds: dict[int, Second] = defaultdict(Second)
        self.failures: Counter[str] = Counter()
        self.stopped = False
        self.held: dict[str, float | None] = {}  # a held connection -> when it ended, in seconds, or None
        self._idle: dict[str, list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = defaultdict(list)

    async def run(self, seconds: float, rate: float) -> None:
        """Begin `rate` requests a second for `seconds`, or until `stopped`; wait for the last one."""
        self.start = time.monotonic()
        held = [asyncio.create_task(self._hold(*what)) for what in self._connections()]
        held += [
            asyncio.create_task(self._turn_pages(number, path, page))
            for path, pages in self.pages.items()
            for number, page in enumerate(pages)
        ]
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
        for ended in await asyncio.gather(*held, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended

    def _connections(self) -> Iterator[tuple[str, str, int, bytes]]:
        """Yield the connections to hold at each address: name, host, port, and the client's first bytes."""
        key = base64.b64encode(os.urandom(16)).decode()
        for address in self.addresses:
            host, port = address.rsplit(":", 1)
            upgrade = f"Host: {self.host}\r\nOrigin: http://{self.host}\r\nConnection: Upgrade\r\n"
            upgrade += f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
            # A text frame, which a client must mask: the mask is all zeros.
            frame = b"\x81" + bytes([0x80 | len(JOIN), 0, 0, 0, 0]) + JOIN
            first = f"GET /ws HTTP/1.1\r\n{upgrade}\r\n".encode() + frame
            yield f"{host} WebSocket", host, int(port), first
            yield f"{host} stage socket", host, STAGE_PORT, JOIN + b"\0"

    async def _hold(self, name: str, host: str, port: int, first: bytes) -> None:
        """Join a stage, and read until the connection ends; note in `held` when that was."""
        self.held[name] = 0
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(first)
            self.held[name] = None
            if first.startswith(b"GET"):
                if b" 101 " not in await reader.readline():
                    self.held[name] = 0
                    return
                with suppress(EOFError):
                    await _answer_pings(reader, writer)
            while await reader.read(65536):
                pass
        self.held[name] = round(time.monotonic() - self.start, 1)

    async def _request(self, number: int) -> None:
        began = time.monotonic()
        second = self.seconds[int(began - self.start)]
        second.counts["asked"] += 1
        # A range, which nginx's one-second copies do not answer: so the response is Varnish's.
        await self._browse(number, self.random.choice(self.files), "Range: bytes=0-9", second.counts)
        second.times.append(time.monotonic() - began)

    async def _turn_pages(self, number: int, path: str, page: Page) -> None:
        """Request a page again and again, first at the address with this number."""
        while True:
            began = time.monotonic()
            came = await self._browse(number, path, f"Cookie: {COOKIE}", Counter())
            page.count(began, time.monotonic(), came)
            await asyncio.sleep(began + PAGE_PAUSE - time.monotonic())

    async def _browse(self, number: int, path: str, header: str, counts: Counter[str]) -> bool:
        """Send a request as a browser does, at most twice; count the outcomes; return whether it succeeds."""
        outcome = "repeated"
        for attempt in range(2):
            address = self.addresses[(number + attempt) % len(self.addresses)]
            try:
                status, cache = await asyncio.wait_for(
                    self._ask(address, path, header, attempt > 0), PATIENCE
                )
            except (OSError, EOFError, TimeoutError) as problem:
                outcome, why = "failed" if attempt else "repeated", type(problem).__name__
            else:
                outcome = "failed" if status >= 400 else "hit" if "; hit" in cache else "miss"
                why = str(status)
            counts[outcome] += 1
            if outcome in ("failed", "repeated"):
                self.failures[f"{outcome}: {why}"] += 1
            if outcome != "repeated":
                break
        return outcome != "failed"

    async def _ask(self, address: str, path: str, header: str, fresh: bool) -> tuple[int, str]:
        """Return the status, and Varnish's part of Cache-Status; a `fresh` request opens a connection."""
        idle = self._idle[address]
        while idle and idle[-1][0].at_eof():  # the other side has closed it meanwhile
            idle.pop()[1].close()
        if idle and not fresh:
            reader, writer = idle.pop()
        else:
            host, port = address.rsplit(":", 1)
            reader, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), 2)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\n{header}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:] if line)
            await _read_body(reader, lines)
        except BaseException:
            writer.close()
            raise
        if lines.get("connection") == "close":
            writer.close()
        else:
            idle.append((reader, writer))
        return int(head.split()[1]), lines.get("cache-status", "").partition(",")[0]


async def _read_body(reader: asyncio.StreamReader, lines: dict[str, str]) -> None:
    """Read the body that follows the header lines, whose names are in lower case."""
    if "content-length" in lines:
        await reader.readexactly(int(lines["content-length"]))
        return
    size = 1
    while size:  # the body comes in chunks
        size = int(await reader.readuntil(b"\r\n"), 16)
        await reader.readexactly(size + 2)


async def _answer_pings(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read a WebSocket's frames; the stage disconnects a client that does not answer its pings."""
    await reader.readuntil(b"\r\n\r\n")  # the rest of the handshake
    while True:
        kind, size = await reader.readexactly(2)
        if size > 125:
            size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
        data = await reader.readexactly(size)
        if kind == PING:
            writer.write(bytes([PONG, 0x80 | size, 0, 0, 0, 0]) + data)  # masked with zeros


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("addresses", nargs="+", metavar="ADDRESS:PORT")
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--files", default="/media/fox.svg?{}", help="{} becomes a number")
    parser.add_argument("--number", type=int, default=200, help="of files")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=float, default=100, help="requests a second")
    parser.add_argument("--pages", default="", help="paths of pages, separated by commas")
    options = parser.parse_args()
    files = [options.files.format(number) for number in range(options.number)]
    pages = [path for path in options.pages.split(",") if path]
    prober = Prober(options.addresses, options.host, files, seed=1, pages=pages)
    signal.signal(signal.SIGTERM, lambda *_: setattr(prober, "stopped", True))
    asyncio.run(prober.run(options.seconds, options.rate))
    seconds = [
        {"second": number, **second.counts, "times": [round(seconds, 4) for seconds in sorted(second.times)]}
        for number, second in sorted(prober.seconds.items())
    ]
    asked_for = {
        path: {
            "asked": sum(page.asked for page in at_each),
            "failed": sum(page.failed for page in at_each),
            "gap": round(max(page.gap for page in at_each), 1),
        }
        for path, at_each in prober.pages.items()
    }
    report = {"seconds": seconds, "failures": prober.failures, "held": prober.held, "pages": asked_for}
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
