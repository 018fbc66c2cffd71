"""A drawing layer: the member that draws on it, and the part of the drawing sent to late joiners. Pure."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from upstage.stage.kept import Drawing, Mark
from upstage.stage.players import Holder, Pen
from upstage.stage.wire import decode, encode

DRAWING_LAYERS = 4  # the number of layers in the client
PIECE = 32 * 1024  # bytes sent to a joining member before other members get their turn
MAX_MARKS = 2500  # frames of one layer: a client that does not read its JOIN costs at most 768 KiB of memory


@dataclass(eq=False)
class Layer:
    """One of the four layers; at most one member draws on it.

    Connected clients draw every frame. The replay for late joiners is bounded: when a layer is full, its
    oldest mark is dropped, and the replay begins with the pen, and at the point, of the next mark.
    """

    number: int
    user: Holder | None = None
    visible: bool = True
    alpha: str = "100"
    written: int = 0  # frames of its drawing on the disk
    _pen: bytes | None = None  # DRAW_STYLE before the oldest mark
    _start: bytes | None = None  # DRAW_MOVE to the point where the oldest mark begins
    _marks: deque[tuple[str, bytes]] = field(default_factory=deque)  # mode and encoded frame
    _prepared: tuple[bytes, ...] = ()  # the whole replay, until something changes

    def show(self, visible: bool, alpha: str) -> bytes:
        """Set the layer's visibility and opacity."""
        self.visible, self.alpha = visible, alpha
        self._prepared = ()
        return self.visibility()

    def visibility(self) -> bytes:
        """Return the DRAW_VIS frame."""
        return encode("DRAW_VIS", visible=self.visible, layer=self.number, alpha=self.alpha)

    def style(self, pen: Pen) -> bytes:
        """Change the pen; of several changes in a row only the last one is kept."""
        frame = encode(
            "DRAW_STYLE", layer=self.number, colour=pen.colour, thickness=pen.thickness, alpha=pen.alpha
        )
        if self._marks and self._marks[-1][0] == "DRAW_STYLE":
            self._marks.pop()
        return self._keep("DRAW_STYLE", frame)

    def point(self, mode: str, x: str, y: str) -> bytes:
        """Move the pen to a point by DRAW_MOVE or DRAW_LINE."""
        return self._keep(mode, encode(mode, layer=self.number, x=x, y=y))

    def clear(self) -> bytes:
        """Clear the layer. The pen stays, as it does in the clients."""
        for mode, frame in self._marks:
            if mode == "DRAW_STYLE":
                self._pen = frame
        self._marks.clear()
        self._start = None
        self._prepared = ()
        return encode("DRAW_CLEAR", layer=self.number)

    def change(self, frame: bytes) -> Mark | Drawing:
        """Return the change to write to disk for a frame: mostly the frame, sometimes the whole drawing.

        So the disk holds at most about twice as many frames as the replay.
        """
        if self._marks and self.written < 2 * MAX_MARKS:
            self.written += 1
            return Mark(self.number, frame)
        frames = tuple(self.replay())
        self.written = len(frames)
        return Drawing(self.number, frames)

    def replay(self) -> Iterator[bytes]:
        """Yield the frames that draw this layer for a late joiner."""
        yield self.visibility()
        if self._pen:
            yield self._pen
        if self._start:
            yield self._start
        yield from (frame for _, frame in self._marks)

    def prepared(self) -> tuple[bytes, ...]:
        """Return all frames of the replay in pieces of at most PIECE bytes, shared by all members.

        Sent one by one, the frames would cost thousands of writes for each member of a class that joins.
        """
        if not self._prepared:
            self._prepared = tuple(pieces(self.replay()))
        return self._prepared

    def _keep(self, mode: str, frame: bytes) -> bytes:
        self._prepared = ()
        self._marks.append((mode, frame))
        if len(self._marks) > MAX_MARKS:
            oldest, forgotten = self._marks.popleft()
            if oldest == "DRAW_STYLE":
                self._pen = forgotten
            else:
                self._start = encode("DRAW_MOVE", **decode(forgotten[:-1]).fields)
        return frame


def pieces(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Join frames into pieces of at most PIECE bytes."""
    piece = bytearray()
    for frame in frames:
        if piece and len(piece) + len(frame) > PIECE:
            yield bytes(piece)
            piece.clear()
        piece += frame
    yield bytes(piece)
