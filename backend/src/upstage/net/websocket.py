"""WebSocket framing: converts messages to the stage's frames and back. Pure.

Every WebSocket event is counted: a control frame or a fragment of a message costs the server as much as a
frame of the stage.
"""

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache

from wsproto.connection import Connection, ConnectionState
from wsproto.events import BytesMessage, Event, TextMessage

from upstage.stage.wire import Splitter

TEXT, BINARY = 0x81, 0x82  # the first byte of an unfragmented message
OPEN = (ConnectionState.OPEN, ConnectionState.LOCAL_CLOSING)


class Messages(Splitter):
    """A Splitter for a WebSocket; passes control frames to `control`.

    Fragments are split as they arrive, so a message that never ends takes no memory.
    """

    def __init__(self, socket: Connection, control: Callable[[Event], None]) -> None:
        super().__init__()
        self.binary = False  # the kind of the last message
        self._socket = socket
        self._control = control

    def feed(self, data: bytes | bytearray) -> None:
        """Take the next bytes, unless the WebSocket is closed."""
        if self._socket.state in OPEN:
            self._socket.receive_data(bytes(data))

    def frames(self) -> Iterator[bytes | None]:
        """Yield each complete frame, and None for each event that completes no frame."""
        yield from super().frames()  # the rest of an unfinished binary message
        for event in self._socket.events():
            if isinstance(event, TextMessage):
                self.binary = False
                super().feed(event.data.encode() + b"\0" * event.message_finished)
            elif isinstance(event, BytesMessage):
                self.binary = True
                super().feed(event.data)
            else:
                self._control(event)
            whole = False
            for frame in super().frames():
                whole = True
                yield frame
            if not whole:
                yield None


@lru_cache(maxsize=64)
def messages(frames: bytes, binary: bool) -> bytes:
    """Return encoded frames as WebSocket messages, cached because all clients get the same bytes.

    wsproto would encode them again for each client, which costs more than sending them.
    """
    if binary:
        return message(BINARY, frames)
    return b"".join(message(TEXT, frame) for frame in frames[:-1].split(b"\0"))


def message(first: int, payload: bytes) -> bytes:
    """Return one unfragmented message from a server, unmasked (RFC 6455, section 5.2)."""
    length = len(payload)
    if length < 126:
        return bytes((first, length)) + payload
    if length < 1 << 16:
        return struct.pack("!BBH", first, 126, length) + payload
    return struct.pack("!BBQ", first, 127, length) + payload
