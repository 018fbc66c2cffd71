"""The stage socket: NUL-framed messages over TCP, handled by `connection`. See also `web.websocket`."""

import re
from typing import Any, cast

from twisted.internet.interfaces import IAddress, ITCPTransport
from twisted.internet.protocol import Factory, Protocol
from twisted.protocols.policies import ProtocolWrapper
from twisted.python.failure import Failure

from upstage.net.connection import Connection, Connections, Transport
from upstage.net.input import READ_SIZE
from upstage.stage.wire import Splitter

# The request of a browser or a scanner at the wrong port; a frame begins with a name and =.
HTTP = re.compile(rb"[A-Z]{3,10} /")


def limit_reads(transport: Any) -> None:
    """Read at most READ_SIZE bytes at once, which is all that is kept while a client must wait."""
    while isinstance(transport, ProtocolWrapper):  # such as the one that reads the PROXY header
        transport = transport.transport
    transport.bufferSize = READ_SIZE


class StageSocket(Protocol):
    """A Flash XMLSocket, or any other client that speaks NUL-framed text over TCP.

    Behind a `haproxy:` endpoint, getPeer returns the proxy until its header has been parsed; so the address
    is read only after data have come.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._new = True

    def connectionMade(self) -> None:
        """Connect to the stages immediately: the SET frame goes out before anything comes in."""
        transport = self.transport
        assert transport is not None
        if ITCPTransport.providedBy(transport):
            transport.setTcpNoDelay(True)
            transport.setTcpKeepAlive(True)  # otherwise a dead client would be counted forever
        limit_reads(transport)
        self._connection = Connection(
            self._connections,
            cast(Transport, transport),
            Splitter(),
            transport.write,
            transport.loseConnection,
            peer=lambda: str(getattr(transport.getPeer(), "host", "")),
        )

    def dataReceived(self, data: bytes) -> None:
        """Pass bytes on, unless they are the beginning of an HTTP request."""
        if self._new and HTTP.match(data):
            self._connection.cut("http")
            return
        self._new = False
        self._connection.received(data)

    def connectionLost(self, reason: Failure | None = None) -> None:
        self._connection.lost()


class StageSocketFactory(Factory):
    """Builds a StageSocket for each connection to the stage port."""

    noisy = False

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def buildProtocol(self, addr: IAddress | None) -> StageSocket:
        return StageSocket(self._connections)
