"""Time slices of the reactor: work that can wait runs a few milliseconds at a time, each client in turn."""

import time
from collections import deque
from collections.abc import Callable

from twisted.internet.interfaces import IReactorTime

SLICE = 0.002  # seconds of work in one turn of the reactor: the longest that it delays all other clients


class Slices:
    """Small pieces of work, in a queue for each client: a long queue of one client does not delay the others.

    Between two slices the reactor runs everything else that is due, such as chat. A slice ends after `most`
    pieces, and the next one begins `rest` seconds later.
    """

    def __init__(
        self,
        reactor: IReactorTime,
        clock: Callable[[], float] = time.perf_counter,
        most: int = 1000,
        rest: float = 0.0,
    ) -> None:
        self._reactor = reactor
        self._clock = clock
        self._most = most
        self._rest = rest
        self._queues: dict[str, deque[Callable[[], None]]] = {}  # none is empty; the first has the next turn
        self._due = False

    def __len__(self) -> int:
        """The number of pieces that wait."""
        return sum(map(len, self._queues.values()))

    def add(self, act: Callable[[], None], client: str = "") -> None:
        """Call `act` after all that already waits for `client`, which is an address or any other key."""
        self._queues.setdefault(client, deque()).append(act)
        self._schedule()

    def _schedule(self) -> None:
        if self._queues and not self._due:
            self._due = True
            self._reactor.callLater(self._rest, self._run)

    def _run(self) -> None:
        self._due = False
        end = self._clock() + SLICE
        try:
            for _ in range(self._most):
                if not self._queues:
                    break
                self._next()()
                if self._clock() >= end:
                    break
        finally:  # the reactor logs exceptions; the other pieces still run
            self._schedule()

    def _next(self) -> Callable[[], None]:
        """Take a piece from the first queue, and move that queue to the end."""
        client = next(iter(self._queues))
        queue = self._queues.pop(client)
        act = queue.popleft()
        if queue:
            self._queues[client] = queue
        return act
