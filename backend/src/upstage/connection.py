"""What a TCP and a WebSocket connection have in common: frames out of a stream, and an end to waiting.

A write to a Twisted transport never blocks and never fails: what a client does not read stays in our
memory. So each connection watches how far its client is behind, and cuts it off at a cap. It also
watches how much its client says, and whether there still is one.
"""

import time
from collections.abc import Callable
from typing import Protocol

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from upstage.house import House
from upstage.limits import BURST, MAX_DROPPED, MAX_PER_ADDRESS, RATE, Addresses, Bucket
from upstage.wire import Splitter, encode

MAX_UNREAD = 1 << 20  # bytes a client may be behind before it is cut off
MAX_OVERLONG = 2  # the second over-long frame disconnects
HEARTBEAT = 45.0  # seconds: proxies close what has been quiet for 60
BEAT = encode("HEARTBEAT")  # clients ignore modes they do not know

log = Logger()


class Transport(Protocol):
    """The part of a Twisted TCP transport that is used here."""

    disconnecting: bool

    def write(self, data: bytes) -> None: ...
    def registerProducer(self, producer: "Connection", streaming: bool) -> None: ...
    def unregisterProducer(self) -> None: ...
    def pauseProducing(self) -> None: ...
    def resumeProducing(self) -> None: ...
    def abortConnection(self) -> None: ...


class Connections:
    """Everybody connected through either door; the server closes them when it stops.

    `max_per_address` is a number of connections, `rate` and `burst` are frames (see `limits`).
    """

    def __init__(
        self,
        house: House,
        max_unread: int = MAX_UNREAD,
        max_per_address: int = MAX_PER_ADDRESS,
        rate: float = RATE,
        burst: float = BURST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.house = house
        self.max_unread = max_unread
        self.addresses = Addresses(max_per_address)
        self.all: set[Connection] = set()
        self._rate = rate
        self._burst = burst
        self._clock = clock

    def bucket(self) -> Bucket:
        """A full token bucket for a new connection."""
        return Bucket(self._clock, self._rate, self._burst)

    def beat(self) -> None:
        """Every HEARTBEAT seconds: keep quiet connections alive, and notice those whose client is gone."""
        for connection in list(self.all):
            connection.beat()

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

    `write` sends one encoded frame (NUL included), `close` says goodbye in the carrier's own way, `peer`
    returns the client's address as soon as anything has come from it, `ping` asks a carrier that can be
    asked for a sign of life: `received` or `alive`.
    """

    def __init__(
        self,
        connections: Connections,
        transport: Transport,
        write: Callable[[bytes], None],
        close: Callable[[], None],
        peer: Callable[[], str],
        ping: Callable[[], None] | None = None,
    ) -> None:
        self._connections = connections
        self._house = connections.house
        self._transport = transport
        self._write = write
        self._close = close
        self._peer = peer
        self._ping = ping
        self._address: str | None = None  # while it is counted
        self._splitter = Splitter()
        self._bucket = connections.bucket()
        self._unanswered = False  # a ping
        self._behind = False
        self._stuck = False  # behind for a whole heartbeat
        self._unread = 0
        self._gone = False
        transport.registerProducer(self, True)
        connections.all.add(self)
        self._member = self._house.connect(self.send)

    @property
    def door(self) -> str:
        """Through which door it came: the one that can be pinged is the WebSocket."""
        return "tcp" if self._ping is None else "websocket"

    @property
    def role(self) -> str:
        """`player` or `audience` on a stage, `foyer` before."""
        if self._member.stage is None:
            return "foyer"
        return "player" if self._member.acts else "audience"

    @property
    def unread(self) -> int:
        """How many bytes were sent since the client fell behind; 0 if it has not."""
        return self._unread

    def received(self, data: bytes) -> None:
        """Take bytes from the client, cut anywhere."""
        self.alive()
        self._count_address()
        overlong = self._splitter.overlong
        for frame in self._splitter.feed(data):
            if self._gone:
                return
            if self._bucket.take():
                self._house.receive(self._member, frame)
            else:
                self._house.counts["rate_limited"] += 1
                if self._bucket.dropped > MAX_DROPPED:
                    self.cut("flood")
        self._house.counts["overlong_frames"] += self._splitter.overlong - overlong
        if self._splitter.overlong >= MAX_OVERLONG:
            self.cut("overlong")

    def send(self, frame: bytes) -> None:
        """Send one encoded frame. One client's trouble ends here: it must not stop a broadcast."""
        if self._gone:
            return
        self._house.counts["frames_sent"] += 1
        try:
            self._write(frame)
        except Exception:  # such as a WebSocket that is halfway closed
            self.cut("unsendable")
        if self._behind:
            self._unread += len(frame)
            if self._unread > self._connections.max_unread:
                self.cut("laggard")

    def alive(self) -> None:
        """The client has shown a sign of life."""
        self._unanswered = False

    def beat(self) -> None:
        """Send a heartbeat, or cut a client that has taken or answered nothing since the last one."""
        self._count_address()  # those who never say anything are counted too
        if self._behind:
            if self._stuck:
                self.cut("laggard")
            self._stuck = True
        elif self._ping is None:
            self.send(BEAT)
        elif self._unanswered:
            self.cut("silent")
        else:
            self._unanswered = True
            try:
                self._ping()
            except Exception:  # a WebSocket that is halfway closed
                self.cut("unsendable")

    def _count_address(self) -> None:
        if self._address is None and not self._gone:
            address = self._peer()
            if self._connections.addresses.enter(address):
                self._address = address
            else:
                self.cut("address")

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
        if self._address is not None:
            self._connections.addresses.leave(self._address)
            self._address = None
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
        self._behind = self._stuck = self._unanswered = False
        self._unread = 0
        if self._transport.disconnecting:
            self._transport.unregisterProducer()  # or Twisted waits for ever for us to go on
        else:
            self._transport.resumeProducing()

    def stopProducing(self) -> None:
        """The transport is gone; `lost` follows."""
