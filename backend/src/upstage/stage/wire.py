"""Bytes to messages and back: the stage socket's framing and encoding, pure.

A frame is a url-encoded list of pairs, one of them `mode=NAME`, ended by one NUL byte. What comes in
is bounded and never trusted; what goes out keeps the form that UpStage clients know.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote_plus, unquote_plus

MAX_FRAME = 2048  # bytes of one frame from a client, without its NUL; UpStage's own limit
MAX_FIELDS = 32  # pairs in one frame; the busiest mode of the protocol has ten

Value = str | int | float | bool | None


class BadFrame(ValueError):
    """A frame that means nothing: counted and ignored, it closes no connection."""


@dataclass(frozen=True)
class Message:
    """One decoded frame from a client."""

    mode: str
    fields: Mapping[str, str]

    def need(self, name: str) -> str:
        """Return a field's value; raise BadFrame if the client left it out."""
        try:
            return self.fields[name]
        except KeyError:
            raise BadFrame(f"{self.mode} needs the field {name}") from None

    def number(self, name: str, low: float, high: float) -> float:
        """Return a field as a number, moved to the nearest of low ... high; raise BadFrame if it is none.

        nan and inf are none: they would reach every client, and no client can draw them.
        """
        try:
            value = float(self.need(name))
        except ValueError:
            raise BadFrame(f"{self.mode}: {name} is no number") from None
        if not math.isfinite(value):
            raise BadFrame(f"{self.mode}: {name} is not finite")
        return min(max(value, low), high)

    def whole(self, name: str, low: int, high: int) -> int:
        """Return a field as a whole number, moved to the nearest of low ... high; raise BadFrame."""
        return int(self.number(name, low, high))

    def short(self, name: str, low: float, high: float) -> str:
        """Return a number as a short text with at most three decimals, `10` and `11.5` left as they are."""
        return f"{round(self.number(name, low, high), 3) + 0.0:.8g}"  # + 0.0 makes -0.0 a 0


def decode(frame: bytes) -> Message:
    """Decode one frame from a client (without its NUL); raise BadFrame if it cannot be one.

    Bytes are decoded before the percent signs, and wrong UTF-8 becomes U+FFFD: text that is damaged is
    better than a frame that raises. The last of several equal keys wins, as on UpStage, except for
    `mode`: a frame with two modes could mean one thing here and another to a filter in front.
    """
    # The original takes `;` between pairs as well as `&`.
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

    Values are written as Python prints them (`True`, `None`, `80.0`): that is how the original writes
    them, and clients compare with it.
    """
    pairs = [f"{_quote(name)}={_quote(str(value))}" for name, value in fields.items()]
    return "&".join([*pairs, f"mode={_quote(mode)}"]).encode("ascii") + b"\0"


def _quote(text: str) -> str:
    # Letters, digits, `_`, `.` and `-` stay; quote_plus would leave `~` as well.
    return quote_plus(text, safe="", errors="replace").replace("~", "%7E")


class Splitter:
    """Cuts a stream of bytes into frames, holding never more than was read last and one frame's limit.

    A frame that grows beyond the limit is dropped up to its NUL and counted at once in `overlong`;
    frames before and behind it are not harmed.
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self.overlong = 0
        self._limit = limit
        self._held = bytearray()
        self._skipping = False

    def feed(self, data: bytes | bytearray) -> None:
        """Take the next bytes."""
        self._held += data

    def frames(self) -> Iterator[bytes | None]:
        """Cut off what is complete (without NUL, may be empty), one frame at a time.

        Whoever stops in between goes on with a new call. None stands for what costs as much as a frame and
        is none: there is no such thing in a plain stream.
        """
        while (end := self._held.find(0)) >= 0:
            frame = bytes(self._held[:end])
            del self._held[: end + 1]  # from the front it costs nothing, however much is held
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
