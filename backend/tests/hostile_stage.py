"""Attack a server with one kind of hostile client and measure the effect on well-behaved clients.

    python backend/tests/hostile_stage.py --kind ping0 --connections 4 --seconds 8
    python backend/tests/hostile_stage.py --kind all --connections 1,4,40

Two clients chat over WebSocket, 40 lines a second, and a third requests /health four times a second.
Meanwhile the attackers, in a separate process, send as fast as the server reads, and connect again when
they are disconnected. Without `--host` the tool starts a server and also reports its CPU time and reactor
lag: on a busy machine these say more than the clients' clocks. Attack only your own servers.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import struct
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[2] / "tests"))
from running_backend import PASSWORD, Backend

NORMAL, HOSTILE = "192.0.2.1", "198.51.100.1"  # their addresses, unless a proxy sets others
LINE_EVERY, HEALTH_EVERY = 0.025, 0.25  # seconds
HEALTH_TIMEOUT = 2.0  # seconds, as Varnish's probe
CHUNK = 64 * 1024
COME_BACK = 0.02  # seconds before a disconnected attacker connects again
TEXT, CONTINUATION, PING, PONG = 1, 0, 9, 10


@dataclass(frozen=True)
class Target:
    """The server's addresses; `proxied` if its stage port expects a PROXY header."""

    host: str
    web: int
    stage: int
    proxied: bool
    stage_id: str
    metrics: int = 0  # the port of /metrics, if it can be reached


def message(opcode: int, payload: bytes = b"", final: bool = True) -> bytes:
    """A WebSocket frame from a client, masked with zeros."""
    length = len(payload)
    size = bytes([0x80 | length]) if length < 126 else struct.pack("!BH", 0x80 | 126, length)
    return bytes([opcode | (0x80 if final else 0)]) + size + bytes(4) + payload


def many(frame: bytes) -> bytes:
    return frame * (CHUNK // len(frame))


BEGIN = message(TEXT, b"x", final=False)  # the first fragment of a message
# By kind: the first bytes of a WebSocket client, and the bytes that it repeats.
WEBSOCKET = {
    "ping0": (b"", many(message(PING))),
    "pong0": (b"", many(message(PONG))),
    "fragment0": (BEGIN, many(message(CONTINUATION, b"", final=False))),
    "fragment1": (BEGIN, many(message(CONTINUATION, b"x", final=False))),
    "endless": (BEGIN, many(message(CONTINUATION, b"x" * 16_000, final=False))),
    "huge": (struct.pack("!BBQ4x", 0x81, 0xFF, 1 << 62), b"x" * CHUNK),
}
TCP = {"nul-less": b"x" * CHUNK, "nul-only": bytes(CHUNK)}
KINDS = (*WEBSOCKET, *TCP, "join", "reconnect", "reconnect-ws")


async def open_websocket(target: Target, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(target.host, target.web, limit=1 << 22)
    head = (
        "GET /ws HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", f"X-Real-IP: {address}",
    )  # fmt: skip
    writer.write("\r\n".join((*head, "", "")).encode())
    answer = await reader.readuntil(b"\r\n\r\n")
    if not answer.startswith(b"HTTP/1.1 101 "):
        raise ConnectionError(answer[:60].decode("latin-1"))
    return reader, writer


async def open_stage(target: Target, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(target.host, target.stage)
    if target.proxied:
        writer.write(f"PROXY TCP4 {address} 127.0.0.1 4711 7230\r\n".encode())
    return reader, writer


async def discard(reader: asyncio.StreamReader) -> None:
    with suppress(OSError):
        while await reader.read(1 << 18):
            pass


async def attack(target: Target, kind: str, until: float) -> int:
    """One hostile client; return how many times it was disconnected."""
    join = f"stage_ID={target.stage_id}&mode=JOIN".encode()
    disconnected = 0
    while time.monotonic() < until:
        with suppress(OSError, asyncio.IncompleteReadError):
            if kind in WEBSOCKET or kind in ("join", "reconnect-ws"):
                reader, writer = await open_websocket(target, HOSTILE)
                first, again = WEBSOCKET.get(kind, (b"", message(TEXT, join)))
            else:
                reader, writer = await open_stage(target, HOSTILE)
                first, again = b"", TCP.get(kind, join + b"\0")
            reading = asyncio.create_task(discard(reader))
            writer.write(first)
            while not reading.done() and time.monotonic() < until:
                writer.write(again)
                await asyncio.wait({asyncio.create_task(drained(writer)), reading}, timeout=0.5)
                if kind.startswith("reconnect"):
                    await asyncio.sleep(0.01)
                    break
                await asyncio.sleep(0)
            disconnected += reading.done()
            reading.cancel()
            writer.transport.abort()
        await asyncio.sleep(COME_BACK)
    return disconnected


async def drained(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        await writer.drain()


def attackers(
    target: Target, kind: str, connections: int, seconds: float, result: "multiprocessing.Queue[int]"
) -> None:
    """The attackers' process."""
    os.nice(5)

    async def run() -> None:
        until = time.monotonic() + seconds
        counts = await asyncio.gather(*(attack(target, kind, until) for _ in range(connections)))
        result.put(sum(counts))

    asyncio.run(run())


class NormalClients:
    """Two clients that chat, and one that requests /health; `lines` and `health` are in seconds."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.lines: list[float] = []
        self.health: list[float] = []
        self.failures = 0
        self._sent: dict[bytes, float] = {}

    async def run(self, seconds: float) -> None:
        talker, listener = [await open_websocket(self._target, NORMAL) for _ in range(2)]
        join = message(TEXT, f"stage_ID={self._target.stage_id}&mode=JOIN".encode())
        for _, writer in (talker, listener):
            writer.write(join)
        await asyncio.sleep(0.3)
        tasks = [asyncio.create_task(self._listen(listener[0])), asyncio.create_task(discard(talker[0]))]
        until = time.monotonic() + seconds
        await asyncio.gather(self._repeat(until, HEALTH_EVERY, self._ask), self._talk(talker[1], until))
        await asyncio.sleep(1)  # late lines count as late, not as lost
        for task in tasks:
            task.cancel()
        self.lines += [seconds] * len(self._sent)

    async def _talk(self, writer: asyncio.StreamWriter, until: float) -> None:
        number = 0

        async def say() -> None:
            nonlocal number
            number += 1
            self._sent[b"normal-%d" % number] = time.perf_counter()
            writer.write(message(TEXT, b"msg=normal-%d&mode=TEXT" % number))

        await self._repeat(until, LINE_EVERY, say)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while True:
            await reader.readuntil(b"text=normal-")
            number = (await reader.readuntil(b"&"))[:-1]
            began = self._sent.pop(b"normal-" + number, None)
            if began is not None:
                self.lines.append(time.perf_counter() - began)

    async def _ask(self) -> None:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(HEALTH_TIMEOUT):
                reader, writer = await asyncio.open_connection(self._target.host, self._target.web)
                writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                answer = await reader.read()
                writer.close()
            self.failures += not answer.startswith(b"HTTP/1.1 200 ")
        except (OSError, TimeoutError):
            self.failures += 1
        self.health.append(time.perf_counter() - began)

    @staticmethod
    async def _repeat(until: float, every: float, act: Callable[[], Awaitable[None]]) -> None:
        due = time.monotonic()
        while due < until:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await act()
            due += every


def quantile(values: list[float], part: float) -> float:
    """A quantile in milliseconds."""
    return round(sorted(values)[min(int(len(values) * part), len(values) - 1)] * 1000, 1)


def counters(target: Target) -> dict[str, float]:
    """The server's own figures: CPU seconds and the histogram of its reactor lag."""
    if not target.metrics:
        return {}
    with urlopen(f"http://{target.host}:{target.metrics}/metrics") as answer:
        lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#"]
    wanted = ("process_cpu_seconds_total", "upstage_reactor_lag_seconds_bucket")
    return {name: float(value) for name, value in lines if name.startswith(wanted)}


def server_figures(before: dict[str, float], after: dict[str, float], seconds: float) -> dict[str, object]:
    """CPU time in percent, and the upper bound of the worst lag."""
    if not before:
        return {}
    grown = {name: after[name] - before[name] for name in after}
    cpu = grown.pop("process_cpu_seconds_total")
    everything = max(grown.values())
    worst = next(name for name, value in grown.items() if value == everything)
    return {"cpu_percent": round(100 * cpu / seconds), "lag_below_s": worst.split('"')[1]}


def measure(target: Target, kind: str, connections: int, seconds: float) -> dict[str, object]:
    """One attack; 0 connections: none."""
    before, began = counters(target), time.monotonic()
    result: multiprocessing.Queue[int] = multiprocessing.Queue()
    process = multiprocessing.Process(target=attackers, args=(target, kind, connections, seconds + 1, result))
    if connections:
        process.start()
    normal = NormalClients(target)
    asyncio.run(normal.run(seconds))
    figures = server_figures(before, counters(target), time.monotonic() - began)
    disconnected = result.get(timeout=seconds + 10) if connections else 0
    if connections:
        process.join(5)
    return {
        "kind": kind if connections else "none",
        "connections": connections,
        "p50_ms": quantile(normal.lines, 0.5),
        "p99_ms": quantile(normal.lines, 0.99),
        "health_p99_ms": quantile(normal.health, 0.99),
        "health_failures": normal.failures,
        "disconnected": disconnected,
        **figures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--host", help="of a running server; without it, one is started")
    parser.add_argument("--web", type=int, default=8080, help="its web port")
    parser.add_argument("--stage", type=int, default=7230, help="its stage port")
    parser.add_argument("--proxied", action="store_true", help="the stage port expects a PROXY header")
    parser.add_argument("--stage-id", default="demo")
    parser.add_argument("--kind", choices=(*KINDS, "all"), default="all")
    parser.add_argument("--connections", default="1,4,40", help="numbers with commas between them")
    parser.add_argument("--seconds", type=float, default=8)
    options = parser.parse_args()
    kinds = KINDS if options.kind == "all" else (options.kind,)
    numbers = [int(number) for number in options.connections.split(",")]

    def run(target: Target) -> None:
        for kind, connections in [("none", 0), *((kind, number) for kind in kinds for number in numbers)]:
            print(json.dumps(measure(target, kind, connections, options.seconds)), flush=True)

    if options.host:
        run(Target(options.host, options.web, options.stage, options.proxied, options.stage_id))
        return
    with tempfile.TemporaryDirectory() as scratch:
        server = Backend(
            Path(scratch),
            stage_endpoint="haproxy:tcp:0:interface=127.0.0.1:backlog=1024",
            UPSTAGE_ADMIN_PASSWORD=PASSWORD,
        )
        try:
            [metrics] = [
                int(event.rsplit(" ", 1)[1])
                for event in (str(line["event"]) for line in server.lines())
                if event.startswith("MetricsSite starting")
            ]
            run(Target("127.0.0.1", server.web_port, server.stage_port, True, options.stage_id, metrics))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
