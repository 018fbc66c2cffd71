"""What one client sends: split into frames, paid for (see `limits`), and acted on a few at a time.

While there is something left to act on, or to pay, the client is not read from: TCP makes it wait, and it
costs neither time nor memory.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from upstage.net.turns import Turns
from upstage.stage import limits
from upstage.stage.limits import Bucket

MAX_OVERLONG = 2  # the second over-long frame disconnects
READ_SIZE = 8 * 1024  # bytes read at once
AT_ONCE = 4  # frames acted on before others have their turn
# Seconds a client in debt waits at least: to go on for each frame would cost more than the frame.
PAUSE = 0.25


class Incoming(Protocol):
    """What turns bytes into frames: `wire.Splitter`, or one for what WebSocket makes of them."""

    overlong: int

    def feed(self, data: bytes) -> None: ...
    def frames(self) -> Iterator[bytes | None]: ...


class Reading(Protocol):
    """The part of a Twisted transport that says whether a client is read from."""

    disconnecting: bool

    def pauseProducing(self) -> None: ...
    def resumeProducing(self) -> None: ...


@dataclass(frozen=True)
class Shared:
    """What all clients of a server share: time, and the counters of what happened."""

    reactor: IReactorTime
    turns: Turns
    clock: Callable[[], float]
    counts: Counter[str]


class Intake:
    """One client's input. `receive` acts on a frame; `cut(reason)` disconnects, and calls `stop`."""

    def __init__(
        self,
        shared: Shared,
        transport: Reading,
        incoming: Incoming,
        receive: Callable[[bytes], None],
        cut: Callable[[str], None],
    ) -> None:
        self._shared = shared
        self._transport = transport
        self._incoming = incoming
        self._receive = receive
        self._cut = cut
        self._bucket = Bucket(shared.clock, limits.RATE, limits.BURST)
        self._address: Bucket | None = None
        self._due = 0.0  # when all debts are paid
        self._unpaid = 0  # bytes
        self._expensive: Callable[[], None] | None = None  # what has to be done before any other frame
        self._held = False  # something is left to act on or to pay
        self._queued = False  # among the turns, or soon will be
        self._timer: IDelayedCall | None = None
        self._behind = False
        self._paused = False
        self._stopped = False

    def share(self, bucket: Bucket) -> None:
        """From now on its address pays, too, and may have debts already."""
        self._address = bucket
        self._spend(0)

    def take(self, data: bytes) -> None:
        """Take bytes from the client, cut anywhere."""
        self._incoming.feed(data)
        self._unpaid += len(data)
        if not self._held:
            self._act(first=True)

    def in_turn(self, act: Callable[[], None]) -> None:
        """Do something expensive: it is paid first, and done when its turn has come."""
        self._expensive = act
        self._spend(limits.JOIN)

    def wait(self) -> None:
        """The client does not read: it is not heard until it does."""
        self._behind = True
        self._read_or_not()

    def go_on(self) -> None:
        """The client reads again."""
        self._behind = False
        if self._held:
            self._hold()
        else:
            self._read_or_not()

    def stop(self) -> None:
        """The connection is over: nothing that is left is acted on."""
        self._stopped = True
        if self._timer and self._timer.active():
            self._timer.cancel()

    def _act(self, first: bool = False) -> None:
        """Act on a few frames, unless there are debts; what is left is held. `first`: of those just read."""
        if self._in_debt():
            self._hold()
            return
        count, overlong = 0, self._incoming.overlong
        for frame in islice(self._incoming.frames(), AT_ONCE):
            count += 1
            if frame is not None:
                self._receive(frame)
            if self._stopped:
                return
            if self._expensive or self._behind:
                break
        self._shared.counts["overlong_frames"] += self._incoming.overlong - overlong
        if self._incoming.overlong >= MAX_OVERLONG:
            self._cut("overlong")
            return
        # A read that brings no whole frame is paid for like one: there may be a read for every byte.
        self._spend((count or first) + self._unpaid / limits.BYTES)
        self._unpaid = 0
        if count == AT_ONCE or self._expensive or self._behind or self._in_debt():
            self._hold()
        else:
            self._held = False
            self._read_or_not()

    def _spend(self, tokens: float) -> None:
        delay = self._bucket.spend(tokens)
        if self._address:
            delay = max(delay, self._address.spend(tokens))
        if delay:
            self._due = max(self._due, self._shared.clock() + delay)

    def _in_debt(self) -> bool:
        return self._due > self._shared.clock()

    def _hold(self) -> None:
        """Go on when the debts are paid and it is this client's turn; read nothing until then."""
        self._held = True
        self._read_or_not()
        if self._queued or self._behind:
            return
        self._queued = True
        delay = self._due - self._shared.clock()
        if delay <= 0:
            self._shared.turns.add(self._turn)
        elif self._bucket.spend(0) and self._bucket.since_full() > limits.GRACE:
            self._cut("flood")
        elif delay > limits.PATIENCE:
            self._cut("address")
        else:
            self._shared.counts["throttled"] += 1
            wait = max(delay, PAUSE)
            self._timer = self._shared.reactor.callLater(wait, self._shared.turns.add, self._turn)

    def _turn(self) -> None:
        """Go on with what was held."""
        self._queued = False
        if self._stopped or self._behind:
            return
        act, self._expensive = self._expensive, None
        if act:
            act()
        self._act()

    def _read_or_not(self) -> None:
        pause = self._held or self._behind
        if pause != self._paused and not self._transport.disconnecting:
            self._paused = pause
            if pause:
                self._transport.pauseProducing()
            else:
                self._transport.resumeProducing()
