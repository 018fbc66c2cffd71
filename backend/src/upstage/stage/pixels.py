"""The size of a picture, from its header: each browser on a stage unpacks it to four bytes a pixel."""

import os
import struct
from typing import BinaryIO

MOST = 25_000_000  # pixels; a photograph taken with a telephone has twelve million
MAX_SEGMENTS = 1000  # of a JPEG file before its picture


class TooLarge(ValueError):
    """The picture has more than MOST pixels; the message gives the number."""

    def __init__(self, width: int, height: int) -> None:
        super().__init__(f"This picture has {width} x {height} pixels, more than {MOST // 10**6} million.")


def size_of(file: BinaryIO) -> tuple[int, int]:
    """Return width and height of a PNG, GIF or JPEG file, zeros if no header gives them; raise TooLarge."""
    head = file.read(24)
    if head.startswith(b"GIF"):
        width, height = struct.unpack("<HH", head[6:10].ljust(4, b"\0"))
    elif head.startswith(b"\x89PNG"):
        width, height = struct.unpack(">II", head[16:24].ljust(8, b"\0"))
    else:
        width, height = _of_jpeg(file)
    if width * height > MOST:
        raise TooLarge(width, height)
    return width, height


def _of_jpeg(file: BinaryIO) -> tuple[int, int]:
    """Return the size in the header of a JPEG's frame: ITU-T T.81, B.2.2."""
    file.seek(2)
    for _ in range(MAX_SEGMENTS):
        segment = file.read(4)
        if len(segment) < 4 or segment[0] != 0xFF:
            break
        if segment[1] == 0xFF:  # a fill byte
            file.seek(-3, os.SEEK_CUR)
        elif 0xC0 <= segment[1] <= 0xCF and segment[1] not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">xHH", file.read(5).ljust(5, b"\0"))
            return width, height
        else:
            file.seek(int.from_bytes(segment[2:], "big") - 2, os.SEEK_CUR)
    return 0, 0
