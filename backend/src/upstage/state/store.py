"""The database's thread, so that the reactor never waits for the disk.

One thread keeps the order of writes, and a write is reported only when it is on the disk. Chat lines wait in
a bounded queue and are written together, so a slow disk delays the chat and nothing else. While nothing can
be written, lines are sent to clients and kept in memory.
"""

from collections import Counter, deque
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.threadpool import ThreadPool

from upstage.state.database import Database
from upstage.state.records import NotWritten

P = ParamSpec("P")
T = TypeVar("T")

# Chat lines that wait for the disk; further lines are sent and counted as lost, but not written.
MAX_QUEUE = 20_000

log = Logger()


class Store:
    """Runs the methods of one Database, in order, in one thread. Use it between `start` and `stop`."""

    def __init__(self, database: Database, reactor: Any) -> None:
        self._database = database
        self._reactor = reactor
        self._thread = ThreadPool(1, 1, "store")
        self._lines: deque[tuple[str, str, Callable[[], None]]] = deque()
        self._writing = False
        self._unwritten: deque[tuple[str, str]] = deque(maxlen=MAX_QUEUE)  # sent, and not on the disk
        self.outcomes: Counter[str] = Counter(kept=0, lost=0)  # chat lines

    @property
    def queued(self) -> int:
        """The number of chat lines not yet on the disk."""
        return len(self._lines)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    async def stop(self) -> None:
        """Write queued chat lines, close the database and end the thread."""
        while self._writing:
            await self.run(lambda: None)  # the thread runs this after the lines that are being written
        if self._unwritten:
            await self._add([])
        await self.run(self._database.close)
        self._thread.stop()

    def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Deferred[T]:
        """Do blocking work in the thread; fires with its result."""
        return deferToThreadPool(self._reactor, self._thread, work, *args, **kwargs)

    def keep(self, stage: str, line: str, kept: Callable[[], None]) -> None:
        """Write a chat line to disk, then call `kept`. If the disk fails, the line is sent but not kept."""
        if len(self._lines) >= MAX_QUEUE:
            self.outcomes["lost"] += 1
            kept()
            return
        self._lines.append((stage, line, kept))
        if not self._writing:
            self._writing = True
            Deferred.fromCoroutine(self._write())

    async def _write(self) -> None:
        while self._lines:
            gathered = list(self._lines)
            await self._add([(stage, line) for stage, line, _ in gathered])
            for _, _, kept in gathered:
                self._lines.popleft()
                kept()
        self._writing = False

    async def _add(self, lines: list[tuple[str, str]]) -> None:
        """Write lines, after those that did not fit on the disk before. Never raise."""
        lines = [*self._unwritten, *lines]
        try:
            await self.run(self._database.add_chat, lines)
        except NotWritten as problem:
            if not self._unwritten:
                log.warn("chat is kept in memory until it can be written", fields={"reason": str(problem)})
            self.outcomes["lost"] += max(0, len(lines) - MAX_QUEUE)
            self._unwritten.extend(lines[len(self._unwritten) :])
        except Exception:
            self.outcomes["lost"] += len(lines)
            self._unwritten.clear()
            log.failure("chat could not be written")
        else:
            self.outcomes["kept"] += len(lines)
            self._unwritten.clear()
