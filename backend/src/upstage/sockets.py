"""The stage doors: TCP with NUL-framed messages, and WebSocket, over one and the same house.

The protocols only carry bytes; see `connection` for what happens to them.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from twisted.internet.interfaces import IAddress, ITCPTransport
from twisted.internet.protocol import Factory, Protocol
from twisted.python.failure import Failure
from twisted.web.server import Request
from twisted.web.websocket import WebSocketResource, WebSocketTransport
from wsproto.frame_protocol import FrameProtocol

from upstage.connection import Connection, Connections, Transport
from upstage.web.headers import header, same_origin
from upstage.web.request import SiteRequest

GOING_AWAY = 1001  # WebSocket close code of a server that stops


class StageSocket(Protocol):
    """A Flash XMLSocket, or anything else that speaks NUL-framed text over TCP.

    Behind a `haproxy:` endpoint getPeer is the proxy until its header has been parsed, so nobody asks for
    the peer before data have come.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def connectionMade(self) -> None:
        """Join the house at once: the SET frame goes out before anything comes in."""
        transport = self.transport
        assert transport is not None
        if ITCPTransport.providedBy(transport):
            transport.setTcpNoDelay(True)
            transport.setTcpKeepAlive(True)  # a dead peer must not be counted for ever
        self._connection = Connection(
            self._connections,
            cast(Transport, transport),
            transport.write,
            transport.loseConnection,
            peer=lambda: str(getattr(transport.getPeer(), "host", "")),
        )

    def dataReceived(self, data: bytes) -> None:
        """Pass bytes on."""
        self._connection.received(data)

    def connectionLost(self, reason: Failure | None = None) -> None:
        """Pass the end on."""
        self._connection.lost()


class StageSocketFactory(Factory):
    """Builds a StageSocket for each connection to the stage port."""

    noisy = False

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def buildProtocol(self, addr: IAddress | None) -> StageSocket:
        """A new connection."""
        return StageSocket(self._connections)


class StageWebSocket:
    """One WebSocket: a text message is a frame without its NUL, binary messages are the TCP stream.

    It answers in the kind it was last spoken to; the first frame, SET, is text.
    """

    def __init__(self, connections: Connections, request: SiteRequest) -> None:
        self._connections = connections
        self._tcp = cast(Transport, request.transport)
        self._address = request.client_address
        self._binary = False

    def negotiationStarted(self, transport: WebSocketTransport) -> None:
        """Take over from the HTTP channel."""
        self._transport = transport
        # Twisted gathers a message for as long as its client goes on sending it, and has no limit for
        # that (26.10). The splitter has: let it see the pieces as they come.
        transport._textBuffer = _Piecewise(self.text, "")  # type: ignore[attr-defined]
        transport._bytesBuffer = _Piecewise(self.binary, b"")  # type: ignore[attr-defined]
        transport.detachProducer()  # the HTTP channel, which has no part in this any more

    def negotiationFinished(self) -> None:
        """The handshake is done: join the house."""
        self._connection = Connection(
            self._connections,
            self._tcp,
            self._send,
            lambda: self._transport.loseConnection(GOING_AWAY),
            peer=lambda: self._address,
            ping=lambda: self._transport.ping(),
        )

    def textMessageReceived(self, message: str) -> None:
        """A text message, or what is left of it: its end is the end of a frame."""
        self.text(message + "\0")

    def bytesMessageReceived(self, data: bytes | bytearray) -> None:
        """A binary message, or what is left of it: its end means nothing."""
        self.binary(data)

    def text(self, piece: str) -> None:
        """Pass a piece of a text message on."""
        self._binary = False
        self._connection.received(piece.encode())

    def binary(self, piece: bytes | bytearray) -> None:
        """Pass a piece of a binary message on."""
        self._binary = True
        self._connection.received(bytes(piece))

    def _send(self, frame: bytes) -> None:
        if self._tcp.disconnecting:
            raise ConnectionError("the WebSocket is closing")
        self._tcp.write(encoded(frame, self._binary))

    def pongReceived(self, payload: bytes) -> None:
        """The answer to a ping."""
        self._connection.alive()

    def connectionLost(self, reason: Failure) -> None:
        """Pass the end on."""
        self._connection.lost()


@lru_cache(maxsize=64)
def encoded(frame: bytes, binary: bool) -> bytes:
    """Return a frame as a WebSocket message: the same bytes for everybody, so it is made once.

    Twisted's transport would make it anew for each client, which costs more than sending it.
    """
    message = frame if binary else frame[:-1].decode("ascii")
    return bytes(FrameProtocol(client=False, extensions=[]).send_data(message))


class _Piecewise:
    """In place of Twisted's message buffer: passes each piece on at once and keeps nothing."""

    def __init__(self, take: Callable[[Any], None], nothing: str | bytes) -> None:
        self.add = take
        self._nothing = nothing

    def done(self) -> str | bytes:
        return self._nothing


class WebSocketDoor(WebSocketResource):
    """`/ws`. A page from another host may not open it in its visitor's name."""

    isLeaf = True

    def __init__(self, connections: Connections) -> None:
        super().__init__(self)
        self._connections = connections

    def buildProtocol(self, request: Request) -> StageWebSocket:
        """Twisted has accepted the handshake."""
        site_request = cast(SiteRequest, request)
        site_request.journal(101)  # it never finishes as a request
        return StageWebSocket(self._connections, site_request)

    def render(self, request: Request) -> bytes | int:
        """Shake hands, or say in plain text why not."""
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        request.setHeader(b"cache-control", b"no-store")
        if request.method != b"GET" or header(request, b"upgrade").lower() != "websocket":
            request.setResponseCode(426)
            request.setHeader(b"upgrade", b"websocket")
            request.setHeader(b"connection", b"upgrade")
            return b"This address speaks WebSocket.\n"
        if not same_origin(request):
            request.setResponseCode(403)
            return b"A page from another host may not open this socket.\n"
        return self.render_GET(request)
