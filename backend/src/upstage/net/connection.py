"""The common part of TCP and WebSocket connections: sending, heartbeats, cutting clients that do not read.

A write to a Twisted transport never blocks and never fails: data that the client does not read stays in
the server's memory. So each connection measures how far its client is behind and cuts it off at a limit. It
also notices dead clients, and clients that hold a place without using it. `input` handles the input.
"""

import time
from collections import Counter, deque
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import Protocol

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from upstage.net.input import Incoming, Input, Shared
from upstage.net.slices import Slices
from upstage.stage.limits import MAX_PER_ADDRESS, MAX_TOGETHER, MAX_UNREAD, Addresses, client_of
from upstage.stage.stages import Stages
from upstage.stage.wire import encode

HEARTBEAT = 45.0  # seconds: proxies close connections that were quiet for 60
BEAT = encode("HEARTBEAT")  # clients ignore unknown modes
SMALL = 8 * 1024  # bytes of the reply to a JOIN that are sent immediately
# Of the rest, at most PIECES pieces (`stage.layers`) go out every REST seconds, 200 MB/s for all clients
# together: the proxies in front also have to copy every piece, and on few cores that delays the chat.
PIECES, REST = 12, 0.002
PATIENCE = 20.0  # seconds in which a client must join, or complete a frame that it has begun
SWEEP = 2.0  # seconds between two checks for clients that take longer
MAX_LINES = 100  # log lines about cut-off clients for each sweep; one more line counts the rest

log = Logger()


class Transport(Protocol):
    """The methods of a Twisted TCP transport that this module uses."""

    disconnecting: bool

    def write(self, data: bytes) -> None: ...
    def registerProducer(self, producer: "Connection", streaming: bool) -> None: ...
    def unregisterProducer(self) -> None: ...
    def pauseProducing(self) -> None: ...
    def resumeProducing(self) -> None: ...
    def loseConnection(self) -> None: ...
    def abortConnection(self) -> None: ...


class Client(Enum):
    """The client's state, as far as the server can tell."""

    READS = auto()
    PINGED = auto()  # has been pinged, and has sent nothing since
    BEHIND = auto()  # does not read what it is sent
    STUCK = auto()  # has not read for a whole heartbeat
    GONE = auto()


READING = {Client.READS, Client.PINGED}
BEHIND = {Client.BEHIND, Client.STUCK}


class Connections:
    """All connections, over TCP and WebSocket; the server closes them when it stops.

    `max_per_address` and `max_together` are numbers of connections.
    """

    def __init__(
        self,
        stages: Stages,
        reactor: IReactorTime,
        max_unread: int = MAX_UNREAD,
        max_per_address: int = MAX_PER_ADDRESS,
        max_together: int = MAX_TOGETHER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stages = stages
        self.reactor = reactor
        self.shared = Shared(
            reactor, Slices(reactor), Slices(reactor, most=PIECES, rest=REST), clock, stages.counts
        )
        self._checks = Slices(reactor)  # thousands of checks, which must not delay the clients
        self.max_unread = max_unread
        self.addresses = Addresses(clock, max_per_address, together=max_together)
        self.all: set[Connection] = set()
        self._lines = 0  # log lines about clients that were cut off since the last sweep
        self._others: Counter[str] = Counter()  # clients that were cut off without a line, by reason

    def beat(self) -> None:
        """Every HEARTBEAT seconds: keep quiet connections alive, and cut those whose client is gone."""
        for connection in self.all:
            self._checks.add(connection.beat)

    def sweep(self) -> None:
        """Every SWEEP seconds: cut the clients that have kept the server waiting for PATIENCE seconds."""
        if self._others:
            log.info("cut off without a line each", fields=dict(self._others))
        self._lines = 0
        self._others.clear()
        if self._checks:
            return  # the previous sweep has not finished
        now = self.shared.clock()
        for connection in self.all:
            self._checks.add(partial(connection.check_progress, now))

    def log_cut(self, reason: str, fields: dict[str, object]) -> None:
        """Log that a client was cut off; beyond MAX_LINES only count: so logging cannot delay the chat."""
        if self._lines < MAX_LINES:
            self._lines += 1
            log.info("cut off", fields={"reason": reason, **fields})
        else:
            self._others[reason] += 1

    async def close(self, patience: float) -> None:
        """Close all connections; after `patience` seconds cut off clients that have not read everything."""
        for connection in list(self.all):
            connection.close()
        deadline = self.reactor.seconds() + patience
        while self.all and self.reactor.seconds() < deadline:
            await deferLater(self.reactor, 0.02)
        for connection in list(self.all):
            connection.cut("stop")


class Connection:
    """One client's connection: the producer of its transport, to notice when the client falls behind.

    `incoming` splits the input into frames, `write` sends encoded frames (NUL included), `close` closes the
    connection in the transport's own way, `peer` returns the client's address once data have come, `ping`
    asks the client for a sign of life (WebSocket only); any input counts as one.
    """

    def __init__(
        self,
        connections: Connections,
        transport: Transport,
        incoming: Incoming,
        write: Callable[[bytes], None],
        close: Callable[[], None],
        peer: Callable[[], str],
        ping: Callable[[], None] | None = None,
    ) -> None:
        self._connections = connections
        self._stages = connections.stages
        self._transport = transport
        self._write = write
        self._close = close
        self._peer = peer
        self._ping = ping
        self._address: str | None = None  # set while this connection counts for its address
        self._client = Client.READS
        self._unread = self._sent = 0  # bytes
        self._joined = False  # whether it was on a stage at the last check
        self._joining = False
        self._outgoing: deque[bytes] = deque()  # the rest of the reply to a JOIN, and later frames
        self._reply = 0  # how many of them are pieces of that reply
        self._queued = False  # whether it waits for its turn to send a piece of the reply
        self._waiting_since = connections.shared.clock()  # since when a JOIN, or the rest of a frame, is due
        self._complete = 0  # the number of complete frames at that time
        transport.registerProducer(self, True)
        connections.all.add(self)
        self._member = self._stages.connect(self.send)
        self._input = Input(
            connections.shared, transport, incoming, partial(self._stages.receive, self._member), self.cut
        )
        self._member.defer = self._defer_join

    @property
    def kind(self) -> str:
        """The value of the metrics' label `transport`; only a WebSocket has a ping."""
        return "tcp" if self._ping is None else "websocket"

    @property
    def role(self) -> str:
        """The value of the metrics' label `role`."""
        if self._member.stage is None:
            return "unjoined"
        return "player" if self._member.acts else "audience"

    @property
    def unread(self) -> int:
        """The bytes sent since the client fell behind, without replies to a JOIN; 0 if it is not behind."""
        return self._unread

    def received(self, data: bytes) -> None:
        """Take bytes from the client; they may end in the middle of a frame."""
        if self._client is Client.PINGED:
            self._client = Client.READS
        self.enter()
        if self._client is not Client.GONE:
            self._input.take(data)

    def send(self, frames: bytes) -> None:
        """Send encoded frames. Errors of one client end here: they must not stop a broadcast."""
        if self._client is Client.GONE:
            return
        if self._joining or self._outgoing:
            self._outgoing.append(frames)
        else:
            self._put(frames)
        # While the client waits for its turn to be sent a stage, the delay is the server's.
        if self._client in BEHIND and not self._joining:
            self._unread += len(frames)
            if self._unread > self._connections.max_unread:
                self.cut("laggard")

    def _put(self, frames: bytes) -> None:
        self._stages.counts["frames_sent"] += frames.count(0)
        self._sent += len(frames)
        try:
            self._write(frames)
        except Exception:  # such as a WebSocket that is closing
            self.cut("unsendable")

    def _defer_join(self, act: Callable[[], None]) -> None:
        self._input.defer(partial(self._join, act))

    def _join(self, act: Callable[[], None]) -> None:
        """Send a whole stage as fast as the client reads it. The stage's bytes do not count as unread.

        A client that is behind cannot request a stage again, because nothing is read from it.
        """
        self._joining = True
        try:
            act()
        finally:
            self._joining = False
        self._look_at_stage(self._connections.shared.clock())
        self._reply = len(self._outgoing)
        self._put_outgoing()

    def _put_outgoing(self) -> None:
        """Write the next piece, or several small ones; write the rest when it is this client's turn.

        Later frames follow the reply immediately: otherwise they could arrive faster than the client's turns.
        """
        size = 0
        while self._outgoing and self._client in READING:
            size += len(self._outgoing[0])
            if self._reply and size > len(self._outgoing[0]) and size > SMALL:
                self._input.wait()
                self._go_on_in_turn()
                return
            self._reply = max(0, self._reply - 1)
            self._put(self._outgoing.popleft())

    def _go_on_in_turn(self) -> None:
        if not self._queued:
            self._queued = True
            self._connections.shared.sending.add(self._go_on, self._address or "")

    def _go_on(self) -> None:
        self._queued = False
        self._put_outgoing()
        if not self._outgoing and self._client in READING:
            self._unread = 0
            self._input.go_on()

    def beat(self) -> None:
        """Send a heartbeat, or cut off a client that has not read, or not answered, since the last one."""
        match self._client:
            case Client.STUCK:
                self.cut("laggard")
            case Client.BEHIND:
                self._client = Client.STUCK
            case Client.PINGED:
                self.cut("silent")
            case Client.READS if self._ping:
                self._client = Client.PINGED
                try:
                    self._ping()
                except Exception:  # a WebSocket that is closing
                    self.cut("unsendable")
            case Client.READS:
                self.send(BEAT)

    def check_progress(self, now: float) -> None:
        """Cut off a client that has been on no stage, or not completed a frame, for PATIENCE seconds.

        It is not cut off while the server reads nothing from it.
        """
        self.enter()  # a connection that never sends anything takes a place, too
        self._look_at_stage(now)
        complete = self._input.complete
        if self._joined and (complete != self._complete or not self._input.unfinished):
            self._complete, self._waiting_since = complete, now
        elif now - self._waiting_since > PATIENCE and not (self._input.held or self._client in BEHIND):
            self.cut("unfinished" if self._joined else "unjoined")

    def _look_at_stage(self, now: float) -> None:
        """Notice that the client has joined, its stage was closed, or its player joined elsewhere."""
        joined = self._member.stage is not None
        if joined != self._joined:
            self._joined, self._waiting_since = joined, now
            if self._address is not None:
                self._connections.addresses.note(self._address, self, joined)

    def enter(self) -> None:
        """Take a place as soon as the client's address is known."""
        if self._address is None and self._client is not Client.GONE:
            address = client_of(self._peer())
            bucket = self._connections.addresses.enter(address, self)
            if bucket is None:
                self.cut("address")
            else:
                self._address = address
                self._input.share(bucket, address)

    def give_up(self) -> None:
        self.cut("full")

    def close(self) -> None:
        """Close after everything has been sent."""
        while self._outgoing:
            self._put(self._outgoing.popleft())
        self._transport.unregisterProducer()  # with a paused producer, Twisted would keep the connection open
        try:
            self._close()
        except Exception:
            self.cut("unsendable")

    def cut(self, reason: str) -> None:
        """Close immediately, drop unsent data, and count the reason."""
        if self._client is not Client.GONE:
            self._end()
            self._stages.counts[f"cut_{reason}"] += 1
            stage = self._member.stage
            fields: dict[str, object] = {"socket": self._member.id, "sent": self._sent}
            self._connections.log_cut(reason, fields | ({"stage": stage.id} if stage else {}))
            # Not loseConnection: that waits until the client has read everything.
            self._transport.abortConnection()

    def lost(self) -> None:
        """Free the connection's place, because one side has closed it."""
        self._end()
        self._connections.all.discard(self)
        self._stages.disconnect(self._member)

    def _end(self) -> None:
        self._client = Client.GONE
        self._outgoing.clear()
        self._input.stop()
        if self._address is not None:
            self._connections.addresses.leave(self._address, self)
            self._address = None

    # The transport calls these methods of its producer (twisted.internet.interfaces.IPushProducer).

    def pauseProducing(self) -> None:
        """Read nothing from the client, which is behind, until it has caught up.

        Otherwise it could request replies (INFO, a WebSocket ping) without ever reading one.
        """
        if self._client in READING:
            self._client = Client.BEHIND
        self._input.wait()

    def resumeProducing(self) -> None:
        if self._client is not Client.GONE:
            self._client = Client.READS
        if self._transport.disconnecting:
            self._transport.unregisterProducer()  # otherwise Twisted would wait for the producer forever
        elif self._outgoing:
            self._go_on_in_turn()
        else:
            self._go_on()

    def stopProducing(self) -> None:
        """Do nothing: the transport is gone, and `lost` is called next."""
