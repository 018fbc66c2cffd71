"""Bytes to messages and back: the stage socket's framing and encoding. Pure.

A frame is a url-encoded list of pairs, one of which is `mode=NAME`, and ends with one NUL byte. Incoming
frames are bounded and never trusted; outgoing frames keep the form that UpStage clients expect.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote_plus, unquote_plus

MAX_FRAME = 2048  # bytes of one frame from a client, without its NUL; UpStage's own limit
MAX_FIELDS = 32  # pairs in one frame; the busiest mode of the protocol has ten

Value = str | int | float | bool | None


class BadFrame(ValueError):
    """An invalid frame, which is counted and ignored; the connection stays open."""


@dataclass(frozen=True)
class Message:
    """One decoded frame from a client."""

    mode: str
    fields: Mapping[str, str]

    def need(self, name: str) -> str:
        """Return a field's value; raise BadFrame if it is missing."""
        try:
            return self.fields[name]
        except KeyError:
            raise BadFrame(f"{self.mode} needs the field {name}") from None

    def number(self, name: str, low: float, high: float) -> float:
        """Return a field as a number, clamped to low ... high; raise BadFrame if it is not one.

        nan and inf are rejected: they would reach every client, and no client can draw them.
        """
        try:
            value = float(self.need(name))
        except ValueError:
            raise BadFrame(f"{self.mode}: {name} is not a number") from None
        if not math.isfinite(value):
            raise BadFrame(f"{self.mode}: {name} is not finite")
        return min(max(value, low), high)

    def whole(self, name: str, low: int, high: int) -> int:
        """Return a field, a number, clamped to low ... high without its decimals; raise BadFrame if it is no
        number.
        """
        return int(self.number(name, low, high))

    def short(self, name: str, low: float, high: float) -> str:
        """Return a field, a number, clamped, as text with at most three decimals: `10`, `11.5`. Raise
        BadFrame.
        """
        return f"{round(self.number(name, low, high), 3) + 0.0:.8g}"  # adding 0.0 turns -0.0 into 0


def decode(frame: bytes) -> Message:
    """Decode one frame from a client (without its NUL); raise BadFrame.

    Bytes are decoded before percent-encoded characters, and invalid UTF-8 becomes U+FFFD: damaged text is
    better than a lost frame. The last of several equal keys wins, as on UpStage. Only `mode` may not be
    repeated: a frame with two modes could mean one to this server and the other to a filter in front of it.
    """
    # UpStage accepts `;` between pairs as well as `&`.
    pairs = frame.decode("utf-8", "replace").replace(";", "&").split("&")
    if len(pairs) > MAX_FIELDS:
        raise BadFrame(f"more than {MAX_FIELDS} fields")
    fields: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise BadFrame("a pair without =")
        name = unquote_plus(name)
        if name == "mode" and "mode" in fields:
            raise BadFrame("two modes")
        fields[name] = unquote_plus(value)
    if "mode" not in fields:
        raise BadFrame("no mode")
    return Message(fields.pop("mode"), fields)


def encode(mode: str, **fields: Value) -> bytes:
    """Encode one frame for clients, its NUL included; `mode` comes last, as a Flash client sends it.

    Values are written as Python prints them (`True`, `None`, `80.0`): UpStage does this, and clients compare
    with such text.
    """
    pairs = [f"{_quote(name)}={_quote(str(value))}" for name, value in fields.items()]
    return "&".join([*pairs, f"mode={_quote(mode)}"]).encode("ascii") + b"\0"


def _quote(text: str) -> str:
    # Letters, digits, `_`, `.` and `-` stay; quote_plus would leave `~` unchanged, too.
    return quote_plus(text, safe="", errors="replace").replace("~", "%7E")


class Splitter:
    """Splits a stream of bytes into frames; holds at most the last read and an unfinished frame in memory.

    A frame that exceeds the limit is dropped up to its NUL and counted immediately in `overlong`; earlier and
    later frames are not affected.
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self.overlong = 0
        self._limit = limit
        self._held = bytearray()
        self._skipping = False

    @property
    def unfinished(self) -> bool:
        """Whether a frame has begun but not ended, once `frames` has yielded all complete ones."""
        return self._skipping or bool(self._held)

    def feed(self, data: bytes | bytearray) -> None:
        self._held += data

    def frames(self) -> Iterator[bytes | None]:
        """Yield complete frames (without NUL, possibly empty), one at a time; a new call continues.

        None stands for input that costs as much as a frame but is not one; a plain stream contains none.
        """
        while (end := self._held.find(0)) >= 0:
            frame = bytes(self._held[:end])
            del self._held[: end + 1]  # deleting from the front is cheap, however many bytes remain
            if self._skipping:
                self._skipping = False
            elif end > self._limit:
                self.overlong += 1
            else:
                yield frame
        if self._skipping or len(self._held) > self._limit:
            self.overlong += not self._skipping
            self._skipping = True
            self._held.clear()
