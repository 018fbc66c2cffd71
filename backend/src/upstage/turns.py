"""Sharing the reactor: work that has to wait is done a few milliseconds at a time, in the order it came."""

import time
from collections import deque
from collections.abc import Callable

from twisted.internet.interfaces import IReactorTime

SLICE = 0.002  # seconds of work in each turn of the reactor; all other clients wait no longer than that


class Turns:
    """A queue of small pieces of work. Between two slices the reactor does all that is due otherwise."""

    def __init__(self, reactor: IReactorTime, clock: Callable[[], float] = time.perf_counter) -> None:
        self._reactor = reactor
        self._clock = clock
        self._queue: deque[Callable[[], None]] = deque()
        self._due = False

    def __len__(self) -> int:
        """How many pieces wait."""
        return len(self._queue)

    def add(self, act: Callable[[], None]) -> None:
        """Call `act` behind everything that waits already."""
        self._queue.append(act)
        self._arrange()

    def _arrange(self) -> None:
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
        finally:  # the reactor logs what a piece raises; the others still have their turn
            self._arrange()
