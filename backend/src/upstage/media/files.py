"""Uploaded files: the content decides the format, never the name. All functions block: use a thread."""

import os
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from upstage.media import svg
from upstage.stage.pixels import TooLarge, size_of
from upstage.state.files import replace_medium
from upstage.state.records import Medium

TEMPORARY = ".upload-"  # prefix of a file that is still arriving; names with a leading dot are never served


class BadMedia(ValueError):
    """A rejected file; the message, for the person who uploaded it, says why."""


@dataclass(frozen=True)
class Format:
    """An accepted file format."""

    name: str
    suffix: str
    is_sound: bool


PNG = Format("PNG", ".png", False)
JPEG = Format("JPEG", ".jpg", False)
GIF = Format("GIF", ".gif", False)
SVG = Format("SVG", ".svg", False)
MP3 = Format("MP3", ".mp3", True)
OGG = Format("OGG", ".ogg", True)


def format_of(path: Path) -> Format:
    """Return the format of a complete and harmless file; raise BadMedia for any other."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(4096)
        file.seek(max(size - 16, 0))
        tail = file.read()
        file.seek(0)
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return _picture(PNG, file, head[12:16] == b"IHDR" and tail.endswith(b"IEND\xaeB`\x82"))
        if head.startswith(b"\xff\xd8\xff"):
            return _picture(JPEG, file, b"\xff\xd9" in tail)
        if head.startswith((b"GIF87a", b"GIF89a")):
            return _picture(GIF, file, size > 13 and tail.rstrip(b"\0").endswith(b";"))
    if head.startswith(b"OggS"):
        return _whole(OGG, head[28:35] == b"\x01vorbis" or head[28:36] == b"OpusHead")
    if head.startswith(b"ID3") or _is_mpeg_frame(head):
        return _whole(MP3, _has_mpeg_frames(path, head))
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        try:
            svg.check(path)
        except svg.BadSvg as error:
            raise BadMedia(str(error)) from None
        return SVG
    raise BadMedia("This file is not in a supported format: PNG, JPEG, GIF, SVG, MP3 or OGG.")


def _whole(format: Format, whole: bool) -> Format:
    if not whole:
        raise BadMedia(f"This {format.name} file is damaged or incomplete.")
    return format


def _picture(format: Format, file: BinaryIO, whole: bool) -> Format:
    try:
        return _whole(format, whole and all(size_of(file)))
    except TooLarge as error:
        raise BadMedia(str(error)) from None


def _is_mpeg_frame(data: bytes) -> bool:
    """Return whether data begins with the header of an MPEG layer III frame."""
    return (
        len(data) >= 4
        and data[0] == 0xFF
        and data[1] & 0xE6 == 0xE2  # sync, layer III
        and data[1] & 0x18 != 0x08  # a version that exists
        and data[2] & 0xF0 not in (0x00, 0xF0)  # a bit rate that exists
        and data[2] & 0x0C != 0x0C  # a sample rate that exists
    )


def _has_mpeg_frames(path: Path, head: bytes) -> bool:
    """Return whether the file has an MPEG audio frame, after an ID3 tag if there is one."""
    start = 0
    if head.startswith(b"ID3") and len(head) >= 10:
        length = 0
        for byte in head[6:10]:  # seven bits each
            length = length << 7 | byte & 0x7F
        start = 10 + length
    with path.open("rb") as file:
        file.seek(start)
        return _is_mpeg_frame(file.read(2048).lstrip(b"\0")[:4])  # some programs pad the tag


def check(arrived: Path, kind: str, old: Medium | None) -> Format:
    """Return the format of an uploaded file; raise BadMedia unless it fits `kind`.

    A replacement for `old` must have the same format, because its URL stays.
    """
    format = format_of(arrived)
    if format.is_sound != (kind == "audio"):
        found = "a sound, not a picture" if format.is_sound else "a picture, not a sound"
        raise BadMedia(f"This {format.name} file is {found}.")
    if old and Path(old.file).suffix != format.suffix:
        raise BadMedia(f"The URL ends in {Path(old.file).suffix}, so a {format.name} file cannot replace it.")
    return format


def publish(
    arrived: Path, format: Format, media: Path, kind: str, name: str, uploader: str, old: Medium | None
) -> Medium:
    """Move a checked file into the media folder, under a new name or in place of `old`; return its record."""
    if old is None:
        folder = "audio/" if format.is_sound else ""
        file = f"{folder}{secrets.token_hex(4)}{format.suffix}"
    else:
        file = old.file
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    medium = Medium(file, kind, name, uploader, now, arrived.stat().st_size)
    with arrived.open("rb") as written:
        os.fsync(written.fileno())
    (media / file).parent.mkdir(exist_ok=True)
    replace_medium(media / file, arrived)
    return medium


def sweep(media: Path) -> None:
    """Remove incomplete uploads that a killed server has left."""
    for path in media.glob(f"{TEMPORARY}*"):
        path.unlink()
