"""The input of hostile stage clients, by kind: the first bytes of a client, and the bytes that it repeats."""

import struct

CHUNK = 64 * 1024
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
WEBSOCKET = {
    "ping0": (b"", many(message(PING))),
    "pong0": (b"", many(message(PONG))),
    "fragment0": (BEGIN, many(message(CONTINUATION, b"", final=False))),
    "fragment1": (BEGIN, many(message(CONTINUATION, b"x", final=False))),
    "endless": (BEGIN, many(message(CONTINUATION, b"x" * 16_000, final=False))),
    "huge": (struct.pack("!BBQ4x", 0x81, 0xFF, 1 << 62), b"x" * CHUNK),
}
TCP = {"nul-less": (b"", b"x" * CHUNK), "nul-only": (b"", bytes(CHUNK))}
