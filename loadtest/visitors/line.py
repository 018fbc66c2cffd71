"""A line to the stage under gevent: frames through the raw socket or the WebSocket.

Knows nothing of Locust, so it can be tested, and used, without it:

    line = SocketLine("127.0.0.1", 7230)
    line.send(b"stage_ID=demo&mode=JOIN")
    frame = line.receive(time.monotonic() + 10)    # None: nothing came in time

One greenlet uses a line. Whatever ends it is a LineError, with the same words for the same fault.
"""

import sys
import time
from collections import deque
from collections.abc import Iterator

from gevent import socket

try:
    from wsproto import ConnectionType, WSConnection
    from wsproto import events as ws
    from wsproto.connection import ConnectionState
    from wsproto.utilities import RemoteProtocolError
except ModuleNotFoundError:  # the official image has it only because something else needs it
    sys.exit("This image of Locust does not bring wsproto, which the visitors need: pip install wsproto")

MAX_FRAME = 1 << 20  # bytes; the longest that a stage sends is LOAD_CHAT, a quarter of that
CHUNK = 1 << 16  # bytes to take from the kernel at once
AT_ONCE = 16  # chunks; who has more than this waiting can take it the next time
NO_WEB_SOCKET = "what came is no WebSocket"


class LineError(Exception):
    """The line is of no use any more."""


def _words(error: OSError) -> str:
    """A reason without numbers and addresses, which would make equal faults look different."""
    return (error.strerror or str(error)).lower()


class SocketLine:
    """Frames that end with a NUL byte, as Flash's XMLSocket sent them.

    `patience`: seconds to connect, and to get rid of a frame.
    """

    def __init__(self, host: str, port: int, patience: float = 10, receive_buffer: int = 0) -> None:
        self.patience = patience
        self._frames: deque[bytes] = deque()
        self._rest = bytearray()  # of a frame that has not ended
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self._socket = socket.socket(family, kind, protocol)
        except OSError as error:
            raise LineError(_words(error)) from error
        try:
            if receive_buffer:  # before connecting, or the window would already be agreed on
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.settimeout(patience)
            self._socket.connect(address)
        except TimeoutError as error:
            self.close()
            raise LineError(f"no connection within {patience:g} s") from error
        except OSError as error:
            self.close()
            raise LineError(_words(error)) from error

    def send(self, frame: bytes) -> None:
        """Send one frame, given without its NUL."""
        self._write(frame + b"\0")

    def receive(self, deadline: float) -> bytes | None:
        """The next frame without its NUL, or None if none is complete by `deadline` (time.monotonic)."""
        while not self._frames:
            if not self._read(deadline):
                return None
        return self._frames.popleft()

    def waiting(self) -> Iterator[bytes]:
        """The frames that are here already."""
        for _ in range(AT_ONCE):
            if not self._read(0):
                break
        while self._frames:
            yield self._frames.popleft()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _write(self, data: bytes) -> None:
        self._socket.settimeout(self.patience)
        try:
            self._socket.sendall(data)
        except TimeoutError as error:
            raise LineError(f"nothing could be sent for {self.patience:g} s") from error
        except OSError as error:
            raise LineError(_words(error)) from error

    def _read(self, deadline: float) -> bool:
        """Take what has come, waiting for it until `deadline`; tell whether there was anything."""
        self._socket.settimeout(max(0.0, deadline - time.monotonic()))
        try:
            data = self._socket.recv(CHUNK)
        except (TimeoutError, BlockingIOError):
            return False
        except OSError as error:
            raise LineError(_words(error)) from error
        if not data:
            where = " in mid-frame" if self._rest else ""
            raise LineError(f"closed by the server{where}")
        self._take(data)
        return True

    def _take(self, data: bytes) -> None:
        """Split what has come into frames."""
        *complete, rest = data.split(b"\0")
        if complete:
            complete[0] = bytes(self._rest) + complete[0]
            self._rest.clear()
        self._rest += rest
        self._frames.extend(complete)
        self._check_length(max(map(len, complete), default=0))

    def _check_length(self, longest: int) -> None:
        if max(longest, len(self._rest)) > MAX_FRAME:
            raise LineError(f"a frame longer than {MAX_FRAME} bytes")


class WebLine(SocketLine):
    """The same over a WebSocket: a text message is a frame.

    `name` is what the Host and Origin headers say, whatever address is connected to.
    """

    def __init__(self, host: str, port: int, name: str, patience: float = 10) -> None:
        super().__init__(host, port, patience)
        self._web = WSConnection(ConnectionType.CLIENT)
        self._open = False
        origin = [(b"Origin", f"http://{name}".encode())]
        try:
            self._write(self._web.send(ws.Request(host=name, target="/ws", extra_headers=origin)))
            deadline = time.monotonic() + patience
            while not self._open:
                if not self._read(deadline):
                    raise LineError(f"no WebSocket within {patience:g} s")
        except LineError:
            self.close()
            raise

    def send(self, frame: bytes) -> None:
        """Send one frame."""
        self._write(self._web.send(ws.TextMessage(frame.decode())))

    def _take(self, data: bytes) -> None:
        try:
            self._web.receive_data(data)
            for event in self._web.events():
                self._happened(event)
        except RemoteProtocolError as error:
            raise LineError(NO_WEB_SOCKET) from error

    def _happened(self, event: ws.Event) -> None:
        match event:
            case ws.AcceptConnection():
                self._open = True
            case ws.RejectConnection():
                raise LineError(f"no WebSocket: status {event.status_code}")
            case ws.TextMessage():
                self._rest += event.data.encode()
                self._check_length(0)
                if event.message_finished:
                    self._frames.append(bytes(self._rest))
                    self._rest.clear()
            case ws.Ping():
                self._write(self._web.send(event.response()))
            case ws.CloseConnection() if self._web.state is ConnectionState.REMOTE_CLOSING:
                raise LineError("closed by the server")
            case ws.CloseConnection():  # wsproto's wish, because of what it has read
                raise LineError(NO_WEB_SOCKET)
