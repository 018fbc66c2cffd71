"""`/ws`: stage clients over WebSocket. `net.websocket` has the framing, `net.connection` the rest."""

from typing import cast

from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET
from wsproto.connection import Connection as WebSocket
from wsproto.connection import ConnectionState, ConnectionType
from wsproto.events import AcceptConnection, CloseConnection, Event, Ping
from wsproto.handshake import H11Handshake
from wsproto.utilities import RemoteProtocolError

from upstage.net.connection import Connection, Connections, Transport
from upstage.net.sockets import limit_reads
from upstage.net.websocket import Messages, messages
from upstage.web.headers import header, same_origin
from upstage.web.request import SiteRequest

GOING_AWAY = 1001  # WebSocket close code of a server that stops


class StageWebSocket(Protocol):
    """One open WebSocket: a text message is a frame without its NUL, binary messages are the TCP stream.

    It replies in the kind of the client's last message; the first frame, SET, is text. Not Twisted's own
    protocol: that answers pings and gathers fragments before they can be counted.
    """

    def __init__(self, connections: Connections, socket: WebSocket, answer: bytes, address: str) -> None:
        """`answer` completes the handshake, `address` is the client's."""
        self._connections = connections
        self._socket = socket
        self._answer = answer
        self._address = address

    def connectionMade(self) -> None:
        """Take over from the HTTP channel and connect to the stages."""
        transport = self._tcp = cast(Transport, self.transport)
        transport.unregisterProducer()  # the HTTP channel, which is no longer involved
        limit_reads(transport)
        transport.write(self._answer)
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
            if self._socket.state is ConnectionState.OPEN:  # else our close frame has gone out already
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
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        request.setHeader(b"cache-control", b"no-store")
        if request.method != b"GET" or header(request, b"upgrade").lower() != "websocket":
            request.setResponseCode(426)
            request.setHeader(b"upgrade", b"websocket")
            request.setHeader(b"connection", b"upgrade")
            return b"This address speaks WebSocket.\n"
        if not same_origin(request):
            request.setResponseCode(403)
            return b"Pages of other hosts may not open this socket.\n"
        handshake = H11Handshake(ConnectionType.SERVER)
        headers = [(name, one) for name, all in request.requestHeaders.getAllRawHeaders() for one in all]
        try:
            handshake.initiate_upgrade_connection(headers, request.path)
            answer = handshake.send(AcceptConnection())
        except RemoteProtocolError:
            request.setResponseCode(400)
            return b"This is not a WebSocket handshake.\n"
        assert handshake.connection is not None
        request.log_line(101)  # it never finishes as a request
        socket = StageWebSocket(self._connections, handshake.connection, answer, request.client_address)
        # Private in Twisted, but made for this: from now on the channel's bytes go to the socket.
        request.channel._protocolUpgradeForWebsockets(socket)
        return NOT_DONE_YET
