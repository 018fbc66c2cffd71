"""Time slices of the reactor: work that can wait runs a few milliseconds at a time, in order of arrival."""

import time
from collections import deque
from collections.abc import Callable

from twisted.internet.interfaces import IReactorTime

SLICE = 0.002  # seconds of work in one turn of the reactor: the longest that it delays all other clients


class Turns:
    """A queue of small pieces of work. Between two slices the reactor runs everything else that is due."""

    def __init__(self, reactor: IReactorTime, clock: Callable[[], float] = time.perf_counter) -> None:
        self._reactor = reactor
        self._clock = clock
        self._queue: deque[Callable[[], None]] = deque()
        self._due = False

    def __len__(self) -> int:
        """The number of pieces that wait."""
        return len(self._queue)

    def add(self, act: Callable[[], None]) -> None:
        """Call `act` after everything that is already in the queue."""
        self._queue.append(act)
        self._schedule()

    def _schedule(self) -> None:
        if self._queue and not self._due:
            self._due = True
            self._reactor.callLater(0, self._run)

    def _run(self) -> None:
        self._due = False
        end = self._clock() + SLICE
        try:
            while self._queue:
                self._queue.popleft()()
                if self._clock() >= end:
                    break
        finally:  # the reactor logs exceptions; the rest of the queue still runs
            self._schedule()
