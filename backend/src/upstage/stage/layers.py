"""A drawing layer: who draws on it, and as much of its drawing as late joiners are sent. Pure."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from upstage.stage.players import Holder, Pen
from upstage.stage.wire import decode, encode

DRAWING_LAYERS = 4  # the client's number
MAX_MARKS = 2500  # frames of one layer: four full layers stay well below what a client may be behind

Mark = tuple[str, bytes]  # mode and encoded frame


@dataclass(eq=False)
class Layer:
    """One of the four layers; at most one member draws on it.

    Live clients draw everything. What late joiners get is bounded: when a layer is full its oldest mark is
    forgotten, and the replay begins with the pen, and at the point, that the rest continues from.
    """

    number: int
    user: Holder | None = None
    visible: bool = True
    alpha: str = "100"
    _pen: bytes | None = None  # DRAW_STYLE before the oldest mark
    _start: bytes | None = None  # DRAW_MOVE to where the oldest mark continues
    _marks: deque[Mark] = field(default_factory=deque)
    _prepared: bytes | None = None  # the whole replay, until something changes

    def show(self, visible: bool, alpha: str) -> bytes:
        """Show or hide the layer, or let it shine through."""
        self.visible, self.alpha = visible, alpha
        self._prepared = None
        return self.visibility()

    def visibility(self) -> bytes:
        """The DRAW_VIS frame."""
        return encode("DRAW_VIS", visible=self.visible, layer=self.number, alpha=self.alpha)

    def style(self, pen: Pen) -> bytes:
        """From here on with another pen; of several in a row the last one counts."""
        frame = encode(
            "DRAW_STYLE", layer=self.number, colour=pen.colour, thickness=pen.thickness, alpha=pen.alpha
        )
        if self._marks and self._marks[-1][0] == "DRAW_STYLE":
            self._marks.pop()
        return self._keep("DRAW_STYLE", frame)

    def point(self, mode: str, x: str, y: str) -> bytes:
        """DRAW_MOVE or DRAW_LINE to a place."""
        return self._keep(mode, encode(mode, layer=self.number, x=x, y=y))

    def clear(self) -> bytes:
        """Wipe the layer. The pen stays, as it does in the clients."""
        for mode, frame in self._marks:
            if mode == "DRAW_STYLE":
                self._pen = frame
        self._marks.clear()
        self._start = None
        self._prepared = None
        return encode("DRAW_CLEAR", layer=self.number)

    def replay(self) -> Iterator[bytes]:
        """The frames that draw this layer for a late joiner."""
        yield self.visibility()
        if self._pen:
            yield self._pen
        if self._start:
            yield self._start
        yield from (frame for _, frame in self._marks)

    def prepared(self) -> bytes:
        """All frames of the replay in one object, shared by all members until the layer changes.

        A class that joins at once would otherwise have thousands of frames put together for each pupil.
        """
        if self._prepared is None:
            self._prepared = b"".join(self.replay())
        return self._prepared

    def _keep(self, mode: str, frame: bytes) -> bytes:
        self._prepared = None
        self._marks.append((mode, frame))
        if len(self._marks) > MAX_MARKS:
            oldest, forgotten = self._marks.popleft()
            if oldest == "DRAW_STYLE":
                self._pen = forgotten
            else:
                self._start = encode("DRAW_MOVE", **decode(forgotten[:-1]).fields)
        return frame
