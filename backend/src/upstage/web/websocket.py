"""`/ws`: stage clients over WebSocket. `net.websocket` does the framing, `net.connection` does the rest."""

import re
from typing import cast

from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET
from wsproto.connection import Connection as WebSocket
from wsproto.connection import ConnectionState, ConnectionType
from wsproto.events import CloseConnection, Event, Ping
from wsproto.handshake import WEBSOCKET_VERSION as VERSION
from wsproto.utilities import generate_accept_token

from upstage.net.connection import Connection, Connections, Transport
from upstage.net.sockets import limit_reads
from upstage.net.websocket import Messages, messages
from upstage.web.headers import header, listed, same_origin
from upstage.web.request import SiteRequest

KEY = re.compile(r"[A-Za-z0-9+/]{22}==")
SWITCHING = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: %s\r\n\r\n"
)
GOING_AWAY = 1001  # WebSocket close code of a server that stops


class StageWebSocket(Protocol):
    """One open WebSocket: a text message is a frame without its NUL; binary messages together are the TCP
    stream. Each reply has the type of the client's last message; the first frame, SET, is text. This is not
    Twisted's own protocol, which answers pings and gathers fragments before they can be counted.
    """

    def __init__(self, connections: Connections, socket: WebSocket, response: bytes, address: str) -> None:
        """`response` completes the handshake, `address` is the client's."""
        self._connections = connections
        self._socket = socket
        self._response = response
        self._address = address

    def connectionMade(self) -> None:
        """Take over from the HTTP channel and connect to the stages."""
        transport = self._tcp = cast(Transport, self.transport)
        transport.unregisterProducer()  # the HTTP channel, which is no longer involved
        limit_reads(transport)
        transport.write(self._response)
        self._messages = Messages(self._socket, self._control)
        self._connection = Connection(
            self._connections,
            transport,
            self._messages,
            self._send,
            self._close,
            peer=lambda: self._address,
            ping=lambda: self._write(Ping()),
        )
        self._connection.enter()

    def dataReceived(self, data: bytes) -> None:
        self._connection.received(data)

    def connectionLost(self, reason: Failure | None = None) -> None:
        self._connection.lost()

    def _control(self, event: Event) -> None:
        if isinstance(event, Ping):
            if self._socket.state is ConnectionState.OPEN:  # otherwise its close frame is already sent
                self._write(event.response())
        elif isinstance(event, CloseConnection):  # wsproto also sends this event for a violation of RFC 6455
            if self._socket.state is not ConnectionState.CLOSED:
                self._write(event.response())
            self._tcp.loseConnection()

    def _write(self, event: Event) -> None:
        self._tcp.write(self._socket.send(event))

    def _close(self) -> None:
        self._write(CloseConnection(GOING_AWAY))
        self._tcp.loseConnection()

    def _send(self, frames: bytes) -> None:
        if self._tcp.disconnecting:
            raise ConnectionError("the WebSocket is closing")
        self._tcp.write(messages(frames, self._messages.binary))


class WebSocketEndpoint(Resource):
    """`/ws`. Rejects pages of other hosts: they must not act on behalf of the browser's user."""

    isLeaf = True

    def __init__(self, connections: Connections) -> None:
        super().__init__()
        self._connections = connections

    def render(self, request: SiteRequest) -> bytes | int:
        """Complete the handshake, or give the reason in plain text."""
        if problem := broken_rule(request):
            status, reason = problem
            request.setResponseCode(status)
            request.setHeader(b"content-type", b"text/plain; charset=utf-8")
            request.setHeader(b"cache-control", b"no-store")
            request.setHeader(b"sec-websocket-version", VERSION)
            if status == 426:
                request.setHeader(b"upgrade", b"websocket")
                request.setHeader(
                    b"connection", b"upgrade" if request.channel.persistent else b"upgrade, close"
                )
            else:  # the bytes after it may be frames
                request.channel.persistent = False
                request.setHeader(b"connection", b"close")
            if status == 405:
                request.setHeader(b"allow", b"GET")
            return f"{reason}\n".encode()
        request.log_line(101)  # now, because a WebSocket never finishes as a request
        response = SWITCHING % generate_accept_token(header(request, b"sec-websocket-key").encode())
        socket = StageWebSocket(
            self._connections, WebSocket(ConnectionType.SERVER), response, request.client_address
        )
        # Private in Twisted, but made for this: from now on the channel's bytes go to the socket.
        request.channel._protocolUpgradeForWebsockets(socket)
        return NOT_DONE_YET


def broken_rule(request: SiteRequest) -> tuple[int, str] | None:
    """Return the status and the reason if a request is not a valid handshake (RFC 6455, 4.2.1).

    It replaces wsproto's check, which accepts any key, takes one of several fields, and raises on odd bytes.
    """
    version = header(request, b"sec-websocket-version")
    # Upgrade does not exist in HTTP/1.0 (RFC 9110, 7.8).
    asked = "websocket" in listed(request, b"upgrade") and request.clientproto == b"HTTP/1.1"
    if request.method not in (b"GET", b"HEAD") or (asked and request.method == b"HEAD"):
        return 405, "A WebSocket begins with GET."
    if not asked:
        return 426, "This address speaks WebSocket."
    if "upgrade" not in listed(request, b"connection"):
        return 400, "The Connection header does not list upgrade."
    if version != VERSION.decode():
        return 426 if version else 400, "This address speaks version 13 of WebSocket."
    if not KEY.fullmatch(header(request, b"sec-websocket-key")):
        return 400, "Sec-WebSocket-Key must be 16 bytes in base64, once."
    if request.body_size:
        return 413, "A handshake has no body."
    if not same_origin(request):
        return 403, "Pages of other hosts may not open this socket."
    return None
