"""Heavy files for load tests, as large as the two that the article measured.

Most of their bytes are noise, so that a test cannot measure compression by mistake. The noise is the same on
every machine.
"""

import base64
import hashlib
import zlib

SMALL, BIG = 75_000, 1_300_000  # bytes
PNG_END = b"\0\0\0\0IEND\xaeB`\x82"
# The type of the chunk with the noise. The lower-case letters at its beginning tell programs that do not know
# it to skip it: https://www.w3.org/TR/png-3/#5Chunk-naming-conventions
NOISE = b"noSe"


def measuring_files() -> dict[str, bytes]:
    """Return the files that load tests fetch by name: path below /media -> content."""
    return {"bench/tiny.html": _page(5_000), "bench/small.swf": _swf(SMALL), "bench/big.swf": _swf(BIG)}


def filled(picture: bytes, size: int, name: str) -> bytes:
    """Return a PNG picture of `size` bytes: the pixels of `picture`, and noise that differs for each name."""
    room = size - len(picture) - 12  # minus a chunk's length, type and checksum
    chunk = NOISE + _noise(room, name)
    checksum = zlib.crc32(chunk).to_bytes(4, "big")
    return picture.removesuffix(PNG_END) + room.to_bytes(4, "big") + chunk + checksum + PNG_END


def _noise(size: int, name: str = "") -> bytes:
    return hashlib.shake_256(f"proscenium {name or size}".encode()).digest(size)


def _swf(size: int) -> bytes:
    """Return a Flash file's header (uncompressed, version 8, length), then noise."""
    return b"FWS\x08" + size.to_bytes(4, "little") + _noise(size - 8)


def _page(size: int) -> bytes:
    head = b"<!doctype html>\n<title>A small page to measure with</title>\n<p>"
    return head + base64.b64encode(_noise(size))[: size - len(head)]
