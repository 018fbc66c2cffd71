"""Handles a client's input: frames, paid for with tokens (see `stage.limits`), a few of them at a time.

While frames or debts are left, the server does not read from the client: TCP makes the client wait, and
waiting costs the server neither time nor memory.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from upstage.net.slices import Slices
from upstage.stage import limits
from upstage.stage.limits import Bucket

MAX_OVERLONG = 2  # the second over-long frame disconnects
READ_SIZE = 8 * 1024  # bytes read at once
AT_ONCE = 4  # frames handled before other clients have their turn
# The shortest wait of a client in debt, in seconds: a timer for each frame would cost more than the frame.
PAUSE = 0.25


class Incoming(Protocol):
    """Splits bytes into frames: `wire.Splitter`, or `websocket.Messages`."""

    overlong: int

    @property
    def unfinished(self) -> bool:
        """Whether a frame has begun but not ended."""

    def feed(self, data: bytes) -> None: ...
    def frames(self) -> Iterator[bytes | None]: ...


class Reading(Protocol):
    """The part of a Twisted transport that starts and stops reading."""

    disconnecting: bool

    def pauseProducing(self) -> None: ...
    def resumeProducing(self) -> None: ...


@dataclass(frozen=True)
class Shared:
    """The objects that all clients of a server share: the reactor, the clock and the counters."""

    reactor: IReactorTime
    slices: Slices
    sending: Slices  # for large pieces
    clock: Callable[[], float]
    counts: Counter[str]


class Input:
    """One client's input. `receive` handles a frame; `cut(reason)` disconnects, and calls `stop`."""

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
        self.complete = 0  # complete frames so far
        self._bucket = Bucket(shared.clock, limits.RATE, limits.BURST)
        self._address: Bucket | None = None
        self._client = ""  # the key of its queue of turns
        self._due = 0.0  # when all debts are paid
        self._unpaid = 0  # bytes not yet paid for
        self._expensive: Callable[[], None] | None = None  # work that comes before any other frame
        self._held = False  # whether frames or debts are left
        self._queued = False  # whether it waits in the queue of turns, or for the timer that puts it there
        self._timer: IDelayedCall | None = None
        self._behind = False
        self._paused = False
        self._stopped = False

    @property
    def held(self) -> bool:
        """Whether the server reads nothing from the client: it has debts, or must wait for its turn."""
        return self._held

    @property
    def unfinished(self) -> bool:
        """Whether the client has begun a frame but not ended it."""
        return self._incoming.unfinished

    def share(self, bucket: Bucket, address: str) -> None:
        """From now on also charge the bucket of the address, and wait in the address's queue of turns."""
        self._address = bucket
        self._client = address
        self._spend(0)

    def take(self, data: bytes) -> None:
        """Take bytes from the client; they may end in the middle of a frame."""
        self._incoming.feed(data)
        self._unpaid += len(data)
        if not self._held:
            self._act(first=True)

    def defer(self, act: Callable[[], None]) -> None:
        """Queue expensive work: it is paid for first, and done when it is this client's turn."""
        self._expensive = act
        self._spend(limits.JOIN)

    def wait(self) -> None:
        """Read nothing from the client until `go_on`, because it does not read."""
        self._behind = True
        self._read_or_not()

    def go_on(self) -> None:
        """Read from the client again: it has caught up."""
        self._behind = False
        if self._held:
            self._hold()
        else:
            self._read_or_not()

    def stop(self) -> None:
        """Drop the rest of the input: the connection has ended."""
        self._stopped = True
        if self._timer and self._timer.active():
            self._timer.cancel()

    def _act(self, first: bool = False) -> None:
        """Handle a few frames, unless there are debts; hold the rest. `first`: this input is new."""
        if self._in_debt():
            self._hold()
            return
        count, overlong = 0, self._incoming.overlong
        for frame in islice(self._incoming.frames(), AT_ONCE):
            count += 1
            if frame is not None:
                self.complete += 1
                self._receive(frame)
            if self._stopped:
                return
            if self._expensive or self._behind:
                break
        self._shared.counts["overlong_frames"] += self._incoming.overlong - overlong
        if self._incoming.overlong >= MAX_OVERLONG:
            self._cut("overlong")
            return
        # A read without a complete frame costs as much as a frame: a client may send byte by byte.
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
        """Continue when the debts are paid and it is this client's turn; read nothing until then."""
        self._held = True
        self._read_or_not()
        if self._queued or self._behind:
            return
        self._queued = True
        delay = self._due - self._shared.clock()
        if delay <= 0:
            self._shared.slices.add(self._turn, self._client)
        elif self._bucket.spend(0) and self._bucket.since_full() > limits.GRACE:
            self._cut("flood")
        elif delay > limits.MAX_WAIT:
            self._cut("address")
        else:
            self._shared.counts["throttled"] += 1
            wait = max(delay, PAUSE)
            self._timer = self._shared.reactor.callLater(
                wait, self._shared.slices.add, self._turn, self._client
            )

    def _turn(self) -> None:
        """Continue with the held frames."""
        self._queued = False
        if self._stopped or self._behind:
            return
        act, self._expensive = self._expensive, None
        if act:
            act()
        if self._behind and not self._stopped:
            self._hold()
        elif not self._stopped:
            self._act()

    def _read_or_not(self) -> None:
        pause = self._held or self._behind
        if pause != self._paused and not self._transport.disconnecting:
            self._paused = pause
            if pause:
                self._transport.pauseProducing()
            else:
                self._transport.resumeProducing()
