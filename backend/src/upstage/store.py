"""The database behind a thread of its own, so that the reactor never waits for a disk.

One thread: what is asked first is written first. A write that somebody is told about is awaited; chat
lines are not, they gather in a bounded queue and are written together as fast as the disk allows.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from upstage.database import Database

P = ParamSpec("P")
T = TypeVar("T")

MAX_QUEUE = 20_000  # chat lines that wait for the disk; what comes on top is counted and not kept

log = Logger()


class Store:
    """Runs the methods of one Database, in order, in one thread. Use it between `start` and `stop`."""

    def __init__(self, database: Database, reactor: Any) -> None:
        self._database = database
        self._reactor = reactor
        self._thread = ThreadPool(1, 1, "store")
        self._lines: deque[tuple[str, str]] = deque()
        self._flushing = False
        self.lines_lost = 0

    @property
    def queued(self) -> int:
        """How many chat lines are not written down yet."""
        return len(self._lines)

    def start(self) -> None:
        """Begin to take work."""
        self._thread.start()

    async def stop(self) -> None:
        """Write what is queued, close the database and end the thread."""
        self._flushing = True  # no flush of its own any more
        await self.run(self._write_lines)
        await self.run(self._database.close)
        self._thread.stop()

    def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Deferred[T]:
        """Do blocking work in the thread; fires with its result when it is done and on the disk."""
        return deferToThreadPool(self._reactor, self._thread, work, *args, **kwargs)

    def remember(self, stage: str, line: str) -> None:
        """Keep a chat line. Returns at once; a crash of this process loses what is still queued."""
        if len(self._lines) >= MAX_QUEUE:
            self.lines_lost += 1
            return
        self._lines.append((stage, line))
        if not self._flushing:
            self._flushing = True
            self.run(self._write_lines).addBoth(self._flushed)

    def _write_lines(self) -> None:
        """In the thread: write down what has gathered. The reactor may go on appending."""
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        if lines:
            self._database.add_chat(lines)

    def _flushed(self, result: Failure | None) -> None:
        if isinstance(result, Failure):
            log.failure("chat could not be written", failure=result)
        if self._lines:
            self.run(self._write_lines).addBoth(self._flushed)
        else:
            self._flushing = False
