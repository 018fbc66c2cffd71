"""What a TCP and a WebSocket connection have in common: frames out of a stream, and an end to waiting.

A write to a Twisted transport never blocks and never fails: what a client does not read stays in our
memory. So each connection watches how far its client is behind, and cuts it off at a cap.
"""

from collections.abc import Callable
from typing import Protocol

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from upstage.house import House
from upstage.wire import Splitter

MAX_UNREAD = 1 << 20  # bytes a client may be behind before it is cut off
MAX_OVERLONG = 2  # the second over-long frame disconnects

log = Logger()


class Transport(Protocol):
    """The part of a Twisted TCP transport that is used here."""

    def registerProducer(self, producer: "Connection", streaming: bool) -> None: ...
    def unregisterProducer(self) -> None: ...
    def pauseProducing(self) -> None: ...
    def resumeProducing(self) -> None: ...
    def abortConnection(self) -> None: ...


class Connections:
    """Everybody connected through either door; the server closes them when it stops."""

    def __init__(self, house: House, max_unread: int = MAX_UNREAD) -> None:
        self.house = house
        self.max_unread = max_unread
        self.all: set[Connection] = set()

    async def close(self, reactor: IReactorTime, patience: float) -> None:
        """Close all; after `patience` seconds cut those who still do not take what was sent."""
        for connection in list(self.all):
            connection.close()
        deadline = reactor.seconds() + patience
        while self.all and reactor.seconds() < deadline:
            await deferLater(reactor, 0.02)
        for connection in list(self.all):
            connection.cut("stop")


class Connection:
    """One client, whatever carries its bytes; registered as producer to see it fall behind.

    `write` sends one encoded frame (NUL included), `close` says goodbye in the carrier's own way.
    """

    def __init__(
        self,
        connections: Connections,
        transport: Transport,
        write: Callable[[bytes], None],
        close: Callable[[], None],
    ) -> None:
        self._connections = connections
        self._house = connections.house
        self._transport = transport
        self._write = write
        self._close = close
        self._splitter = Splitter()
        self._behind = False
        self._unread = 0
        self._gone = False
        transport.registerProducer(self, True)
        connections.all.add(self)
        self._member = self._house.connect(self.send)

    def received(self, data: bytes) -> None:
        """Take bytes from the client, cut anywhere."""
        overlong = self._splitter.overlong
        for frame in self._splitter.feed(data):
            if self._gone:
                return
            self._house.receive(self._member, frame)
        self._house.counts["overlong_frames"] += self._splitter.overlong - overlong
        if self._splitter.overlong >= MAX_OVERLONG:
            self.cut("overlong")

    def send(self, frame: bytes) -> None:
        """Send one encoded frame. One client's trouble ends here: it must not stop a broadcast."""
        if self._gone:
            return
        try:
            self._write(frame)
        except Exception:  # such as a WebSocket that is halfway closed
            self.cut("unsendable")
        if self._behind:
            self._unread += len(frame)
            if self._unread > self._connections.max_unread:
                self.cut("laggard")

    def close(self) -> None:
        """Close when everything has been sent."""
        self._transport.unregisterProducer()  # a paused producer would keep the connection open
        try:
            self._close()
        except Exception:
            self.cut("unsendable")

    def cut(self, reason: str) -> None:
        """Close at once, whatever is unsent, and count it."""
        if not self._gone:
            self._gone = True
            self._house.counts[f"cut_{reason}"] += 1
            log.info("cut off", fields={"socket": self._member.id, "reason": reason})
            # Not loseConnection: that waits for a reader who does not read.
            self._transport.abortConnection()

    def lost(self) -> None:
        """The connection is closed, by whomever."""
        self._gone = True
        self._connections.all.discard(self)
        self._house.disconnect(self._member)

    # What follows is the transport calling its producer (twisted.internet.interfaces.IPushProducer).

    def pauseProducing(self) -> None:
        """The client is behind: who does not read is not listened to.

        Otherwise it could make us answer (INFO, a WebSocket ping) without ever taking an answer.
        """
        self._behind = True
        self._transport.pauseProducing()

    def resumeProducing(self) -> None:
        """The client has caught up."""
        self._behind = False
        self._unread = 0
        self._transport.resumeProducing()

    def stopProducing(self) -> None:
        """The transport is gone; `lost` follows."""
