"""A connection to the stage under gevent: frames over the stage socket or the WebSocket.

The module does not depend on Locust, so it can be tested, and used, without it:

    connection = SocketConnection("127.0.0.1", 7230)
    connection.send(b"stage_ID=demo&mode=JOIN")
    frame = connection.receive(time.monotonic() + 10)    # None: no frame arrived in time

Only one greenlet uses a connection. Every fault that ends it is a StageError; equal faults have equal texts.
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
except ModuleNotFoundError:  # the official image has it only as an indirect dependency
    sys.exit("This Locust image lacks wsproto, which the load test needs: pip install wsproto")

MAX_FRAME = 1 << 20  # bytes; the longest frame of a stage is LOAD_CHAT, with a quarter of this
CHUNK = 1 << 16  # bytes per read
MAX_CHUNKS = 16  # per call of `waiting`; the next call reads the rest
NOT_WEBSOCKET = "the server does not speak WebSocket"


class StageError(Exception):
    """The connection broke, or the server did not behave as the stage must."""


def _reason(error: OSError) -> str:
    """Return a reason without numbers and addresses, which would make equal faults look different."""
    return (error.strerror or str(error)).lower()


class SocketConnection:
    """Frames that end with a NUL byte, as Flash's XMLSocket sent them.

    `patience`: seconds to connect, and to send a frame.
    """

    def __init__(self, host: str, port: int, patience: float = 10, receive_buffer: int = 0) -> None:
        self.patience = patience
        self._frames: deque[bytes] = deque()
        self._rest = bytearray()  # the beginning of a frame that has not ended
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self._socket = socket.socket(family, kind, protocol)
        except OSError as error:
            raise StageError(_reason(error)) from error
        try:
            if receive_buffer:  # before connecting, which negotiates the window
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.settimeout(patience)
            self._socket.connect(address)
        except TimeoutError as error:
            self.close()
            raise StageError(f"no connection within {patience:g} s") from error
        except OSError as error:
            self.close()
            raise StageError(_reason(error)) from error

    def send(self, frame: bytes) -> None:
        """Send one frame, given without its NUL."""
        self._write(frame + b"\0")

    def receive(self, deadline: float) -> bytes | None:
        """Return the next frame without its NUL; None if none is complete by `deadline` (time.monotonic)."""
        while not self._frames:
            if not self._read(deadline):
                return None
        return self._frames.popleft()

    def waiting(self) -> Iterator[bytes]:
        """Yield the frames that have already arrived."""
        for _ in range(MAX_CHUNKS):
            if not self._read(0):
                break
        while self._frames:
            yield self._frames.popleft()

    def close(self) -> None:
        self._socket.close()

    def _write(self, data: bytes) -> None:
        self._socket.settimeout(self.patience)
        try:
            self._socket.sendall(data)
        except TimeoutError as error:
            raise StageError(f"nothing could be sent for {self.patience:g} s") from error
        except OSError as error:
            raise StageError(_reason(error)) from error

    def _read(self, deadline: float) -> bool:
        """Read once, waiting until `deadline`; return False if nothing came."""
        self._socket.settimeout(max(0.0, deadline - time.monotonic()))
        try:
            data = self._socket.recv(CHUNK)
        except (TimeoutError, BlockingIOError):
            return False
        except OSError as error:
            raise StageError(_reason(error)) from error
        if not data:
            where = " in mid-frame" if self._rest else ""
            raise StageError(f"closed by the server{where}")
        self._received(data)
        return True

    def _received(self, data: bytes) -> None:
        *complete, rest = data.split(b"\0")
        if complete:
            complete[0] = bytes(self._rest) + complete[0]
            self._rest.clear()
        self._rest += rest
        self._frames.extend(complete)
        self._check_length(max(map(len, complete), default=0))

    def _check_length(self, longest: int) -> None:
        if max(longest, len(self._rest)) > MAX_FRAME:
            raise StageError(f"a frame longer than {MAX_FRAME} bytes")


class WebSocketConnection(SocketConnection):
    """A SocketConnection over a WebSocket: a text message is a frame.

    `name` is sent in the Host and Origin headers, whatever the address is.
    """

    def __init__(self, host: str, port: int, name: str, patience: float = 10) -> None:
        super().__init__(host, port, patience)
        self._protocol = WSConnection(ConnectionType.CLIENT)
        self._open = False
        origin = [(b"Origin", f"http://{name}".encode())]
        try:
            self._write(self._protocol.send(ws.Request(host=name, target="/ws", extra_headers=origin)))
            deadline = time.monotonic() + patience
            while not self._open:
                if not self._read(deadline):
                    raise StageError(f"no WebSocket within {patience:g} s")
        except StageError:
            self.close()
            raise

    def send(self, frame: bytes) -> None:
        self._write(self._protocol.send(ws.TextMessage(frame.decode())))

    def _received(self, data: bytes) -> None:
        try:
            self._protocol.receive_data(data)
            for event in self._protocol.events():
                self._handle(event)
        except RemoteProtocolError as error:
            raise StageError(NOT_WEBSOCKET) from error

    def _handle(self, event: ws.Event) -> None:
        match event:
            case ws.AcceptConnection():
                self._open = True
            case ws.RejectConnection():
                raise StageError(f"no WebSocket: status {event.status_code}")
            case ws.TextMessage():
                self._rest += event.data.encode()
                self._check_length(0)
                if event.message_finished:
                    self._frames.append(bytes(self._rest))
                    self._rest.clear()
            case ws.Ping():
                self._write(self._protocol.send(event.response()))
            case ws.CloseConnection() if self._protocol.state is ConnectionState.REMOTE_CLOSING:
                raise StageError("closed by the server")
            case ws.CloseConnection():  # closed by wsproto itself, because it cannot read the data
                raise StageError(NOT_WEBSOCKET)
