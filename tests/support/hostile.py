"""What hostile stage clients send, and forty of them who send it as fast as the server reads."""

import asyncio
import os
import struct
import time
from collections.abc import Mapping
from contextlib import suppress

CHUNK = 64 * 1024
COME_BACK = 0.02  # seconds before a disconnected attacker connects again
TEXT, CONTINUATION, PING, PONG = 1, 0, 9, 10
HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
JOIN = b"stage_ID=demo&mode=JOIN"


def message(opcode: int, payload: bytes = b"", final: bool = True) -> bytes:
    """A WebSocket frame from a client, masked with zeros."""
    length = len(payload)
    size = bytes([0x80 | length]) if length < 126 else struct.pack("!BH", 0x80 | 126, length)
    return bytes([opcode | (0x80 if final else 0)]) + size + bytes(4) + payload


def many(frame: bytes) -> bytes:
    """As many as fit into a piece."""
    return frame * (CHUNK // len(frame))


BEGIN = message(TEXT, b"x", final=False)  # the first fragment of a message
# By kind: the first bytes of a client, and the bytes that it repeats.
WEBSOCKET = {
    "ping0": (b"", many(message(PING))),
    "pong0": (b"", many(message(PONG))),
    "fragment0": (BEGIN, many(message(CONTINUATION, b"", final=False))),
    "fragment1": (BEGIN, many(message(CONTINUATION, b"x", final=False))),
    "endless": (BEGIN, many(message(CONTINUATION, b"x" * 16_000, final=False))),
    "huge": (struct.pack("!BBQ4x", 0x81, 0xFF, 1 << 62), b"x" * CHUNK),
}
TCP = {"nul-less": (b"", b"x" * CHUNK), "nul-only": (b"", bytes(CHUNK))}
JOINS = {"join": (b"", message(TEXT, JOIN))}


async def attack(port: int, greeting: bytes, first: bytes, again: bytes, until: float) -> None:
    """One attacker; it connects again when it is disconnected."""
    while time.monotonic() < until:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(greeting)
            if greeting:
                await reader.readuntil(b"\r\n\r\n")
            reading = asyncio.create_task(discard(reader))
            writer.write(first)
            while not reading.done() and time.monotonic() < until:
                writer.write(again)
                await asyncio.wait({asyncio.create_task(drained(writer)), reading}, timeout=0.5)
                await asyncio.sleep(0)
            reading.cancel()
            writer.transport.abort()
        await asyncio.sleep(COME_BACK)


async def discard(reader: asyncio.StreamReader) -> None:
    """Read everything."""
    with suppress(OSError):
        while await reader.read(1 << 18):
            pass


async def drained(writer: asyncio.StreamWriter) -> None:
    """Wait until the server has read nearly everything."""
    with suppress(OSError):
        await writer.drain()


def attackers(kind: str, number: int, seconds: float, ports: Mapping[str, int]) -> None:
    """A process of attackers; `ports` has those of the web site and of the stage."""
    os.nice(5)
    port, greeting = (ports["stage"], b"") if kind in TCP else (ports["web"], HANDSHAKE)
    first, again = (WEBSOCKET | TCP | JOINS)[kind]
    until = time.monotonic() + seconds

    async def run() -> None:
        await asyncio.gather(*(attack(port, greeting, first, again, until) for _ in range(number)))

    asyncio.run(run())
