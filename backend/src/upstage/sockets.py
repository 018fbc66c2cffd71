"""The stage doors: TCP with NUL-framed messages, and WebSocket, over one and the same house.

The protocols only carry bytes; see `connection` for what happens to them, `websocket` for WebSocket's frames.
"""

from functools import partial
from typing import Any, cast

from twisted.internet.interfaces import IAddress, ITCPTransport
from twisted.internet.protocol import Factory, Protocol
from twisted.protocols.policies import ProtocolWrapper
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET
from wsproto.connection import Connection as WebSocket
from wsproto.connection import ConnectionState, ConnectionType
from wsproto.events import AcceptConnection, CloseConnection, Event, Ping
from wsproto.handshake import H11Handshake
from wsproto.utilities import RemoteProtocolError

from upstage.connection import Connection, Connections, Transport
from upstage.intake import READ_SIZE
from upstage.web.headers import header, same_origin
from upstage.web.request import SiteRequest
from upstage.websocket import Messages, messages
from upstage.wire import Splitter

GOING_AWAY = 1001  # WebSocket close code of a server that stops


def read_little(transport: Any) -> None:
    """Have a transport read a little at a time: that is all that is held while a client waits."""
    while isinstance(transport, ProtocolWrapper):  # such as the one that reads the PROXY header
        transport = transport.transport
    transport.bufferSize = READ_SIZE


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
        read_little(transport)
        self._connection = Connection(
            self._connections,
            cast(Transport, transport),
            Splitter(),
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


class StageWebSocket(Protocol):
    """One open WebSocket: a text message is a frame without its NUL, binary messages are the TCP stream.

    It answers in the kind it was last spoken to; the first frame, SET, is text. Twisted's own protocol would
    answer pings and gather fragments before they could be counted.
    """

    def __init__(self, connections: Connections, socket: WebSocket, answer: bytes, address: str) -> None:
        """`answer` is what completes the handshake, `address` the client's."""
        self._connections = connections
        self._socket = socket
        self._answer = answer
        self._address = address

    def connectionMade(self) -> None:
        """Take over from the HTTP channel, and join the house."""
        transport = self._tcp = cast(Transport, self.transport)
        transport.unregisterProducer()  # the HTTP channel, which has no part in this any more
        read_little(transport)
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
        """Pass bytes on."""
        self._connection.received(data)

    def connectionLost(self, reason: Failure | None = None) -> None:
        """Pass the end on."""
        self._connection.lost()

    def _control(self, event: Event) -> None:
        """Answer what is no message."""
        if isinstance(event, Ping):
            if self._socket.state is ConnectionState.OPEN:  # or we have said goodbye already
                self._write(event.response())
        elif isinstance(event, CloseConnection):  # also made of what breaks the rules of RFC 6455
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


class WebSocketDoor(Resource):
    """`/ws`. A page from another host may not open it in its visitor's name."""

    isLeaf = True

    def __init__(self, connections: Connections) -> None:
        super().__init__()
        self._connections = connections

    def render(self, request: SiteRequest) -> bytes | int:
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
        # In turn: hundreds who come at once must not keep those who are here from talking.
        self._connections.shared.turns.add(partial(self._shake_hands, request))
        return NOT_DONE_YET

    def _shake_hands(self, request: SiteRequest) -> None:
        if request.gone:
            return
        handshake = H11Handshake(ConnectionType.SERVER)
        headers = [(name, one) for name, all in request.requestHeaders.getAllRawHeaders() for one in all]
        try:
            handshake.initiate_upgrade_connection(headers, request.path)
            answer = handshake.send(AcceptConnection())
        except RemoteProtocolError:
            request.setResponseCode(400)
            request.answer(b"This is no WebSocket handshake.\n")
            return
        assert handshake.connection is not None
        request.journal(101)  # it never finishes as a request
        socket = StageWebSocket(self._connections, handshake.connection, answer, request.client_address)
        # Not public, but made for this: from here on the channel's bytes are the socket's.
        request.channel._protocolUpgradeForWebsockets(socket)
