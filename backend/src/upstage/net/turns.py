"""Time slices of the reactor: work that can wait runs a few milliseconds at a time, each client in turn."""

import time
from collections import deque
from collections.abc import Callable

from twisted.internet.interfaces import IReactorTime

SLICE = 0.002  # seconds of work in one turn of the reactor: the longest that it delays all other clients
# Bytes a second that the reactor sends, after the slice and before anything else, in large pieces.
SENT = 400e6


class Turns:
    """Small pieces of work, in a queue for each client: the one with the longest queue delays no other.

    Between two slices the reactor runs everything else that is due, such as chat.
    """

    def __init__(self, reactor: IReactorTime, clock: Callable[[], float] = time.perf_counter) -> None:
        self._reactor = reactor
        self._clock = clock
        self._queues: dict[str, deque[Callable[[], None]]] = {}  # none is empty; the first is the next
        self._due = False
        self._end = 0.0  # of the slice

    def __len__(self) -> int:
        """The number of pieces that wait."""
        return sum(map(len, self._queues.values()))

    def add(self, act: Callable[[], None], client: str = "") -> None:
        """Call `act` after everything that already waits for `client`, an address or any other key."""
        self._queues.setdefault(client, deque()).append(act)
        self._schedule()

    def charge(self, written: int) -> None:
        """End the slice earlier by the time that it takes to send what has been written, in bytes."""
        self._end -= written / SENT

    def _schedule(self) -> None:
        if self._queues and not self._due:
            self._due = True
            self._reactor.callLater(0, self._run)

    def _run(self) -> None:
        self._due = False
        self._end = self._clock() + SLICE
        try:
            while self._queues:
                self._next()()
                if self._clock() >= self._end:
                    break
        finally:  # the reactor logs exceptions; the rest of the queues still runs
            self._schedule()

    def _next(self) -> Callable[[], None]:
        """Take a piece from the first queue, which becomes the last."""
        client = next(iter(self._queues))
        queue = self._queues.pop(client)
        act = queue.popleft()
        if queue:
            self._queues[client] = queue
        return act
