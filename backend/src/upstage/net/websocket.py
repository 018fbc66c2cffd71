"""WebSocket's own framing: its messages to the stage's frames and back. Pure.

Every event of a WebSocket is counted: a control frame or a piece of a message costs the server as much as a
frame of the stage does.
"""

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache

from wsproto.connection import Connection, ConnectionState
from wsproto.events import BytesMessage, Event, TextMessage

from upstage.stage.wire import Splitter

TEXT, BINARY = 0x81, 0x82  # the first byte of a whole message
OPEN = (ConnectionState.OPEN, ConnectionState.LOCAL_CLOSING)


class Messages(Splitter):
    """A Splitter for what comes over a WebSocket; `control` is told of everything that is no message.

    Nothing gathers a message whose end does not come: its pieces are split as they arrive.
    """

    def __init__(self, socket: Connection, control: Callable[[Event], None]) -> None:
        super().__init__()
        self.binary = False  # the kind of the last message
        self._socket = socket
        self._control = control

    def feed(self, data: bytes | bytearray) -> None:
        """Take the next bytes, unless nothing is expected any more."""
        if self._socket.state in OPEN:
            self._socket.receive_data(bytes(data))

    def frames(self) -> Iterator[bytes | None]:
        """Cut off what is complete; None for each event that completes no frame."""
        yield from super().frames()  # of a binary message that was left in the middle
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
    """Return encoded frames as WebSocket messages: the same bytes for everybody, so they are made once.

    wsproto would make them anew for each client, which costs more than sending them.
    """
    if binary:
        return message(BINARY, frames)
    return b"".join(message(TEXT, frame) for frame in frames[:-1].split(b"\0"))


def message(first: int, payload: bytes) -> bytes:
    """Return one whole message from a server (RFC 6455, section 5.2): nothing is masked."""
    length = len(payload)
    if length < 126:
        return bytes((first, length)) + payload
    if length < 1 << 16:
        return struct.pack("!BBH", first, 126, length) + payload
    return struct.pack("!BBQ", first, 127, length) + payload
