"""The database's thread, so that the reactor never waits for the disk.

One thread keeps the order of writes, and a write is reported only when it is on the disk. Chat lines wait in
a bounded queue and are written together, so a slow disk delays the chat and nothing else. While nothing can
be written, lines are sent to clients immediately and kept in memory.
"""

import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from typing import Any, ParamSpec, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.threadpool import ThreadPool

from upstage.state.database import LOCK_TIME, Database
from upstage.state.records import NotWritten

P = ParamSpec("P")
T = TypeVar("T")

# Chat lines that wait for the disk; further lines are sent and counted as lost, but not written. The same
# number limits the lines that were sent but not yet written; the newest are kept. A line has at most 2 kB.
MAX_QUEUE = 20_000
CHAT_LOCK_TIME = 0.2  # seconds that a chat line waits for another program's lock, before it is sent unwritten
RETRY = 1.0  # seconds between two attempts to write such lines

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
        # Runs while there are some.
        self._retries = LoopingCall(lambda: Deferred.fromCoroutine(self._retry()))
        self._retries.clock = reactor
        self.outcomes: Counter[str] = Counter(kept=0, lost=0)  # chat lines

    @property
    def queued(self) -> int:
        """The number of chat lines not yet on the disk."""
        return len(self._lines) + len(self._unwritten)

    def start(self) -> None:
        self._thread.start()

    async def stop(self) -> None:
        """Write queued chat lines, close the database and end the thread."""
        while self._writing:
            await self.run(lambda: None)  # the thread runs this after the lines that are being written
        if self._retries.running:
            self._retries.stop()
            await self.run(lambda: None)  # after an attempt that has begun
            await self._retry(LOCK_TIME)
            if self._unwritten:
                log.error("chat is lost: it could not be written", fields={"lines": len(self._unwritten)})
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
            lines = [(stage, line) for stage, line, _ in gathered]
            # While older lines are unwritten, newer ones do not even try: that would delay the chat.
            if not self._retries.running and not await self._add(lines, CHAT_LOCK_TIME):
                self._retries.start(RETRY, now=False)
            if self._retries.running:
                self._put_aside(lines)
            for _, _, kept in gathered:
                self._lines.popleft()
                kept()
        self._writing = False

    def _put_aside(self, lines: Iterable[tuple[str, str]]) -> None:
        """Keep lines in memory until they can be written."""
        for line in lines:
            self.outcomes["lost"] += len(self._unwritten) == MAX_QUEUE  # the oldest one
            self._unwritten.append(line)

    async def _retry(self, wait: float = 0.0) -> None:
        """Write the lines that were put aside, and those that arrive while this runs."""
        while self._unwritten:
            lines, self._unwritten = self._unwritten, deque(maxlen=MAX_QUEUE)
            if not await self._add(lines, wait):
                newer, self._unwritten = self._unwritten, lines
                self._put_aside(newer)
                return
        if self._retries.running:
            self._retries.stop()

    async def _add(self, lines: Collection[tuple[str, str]], wait: float) -> bool:
        """Write lines; a lock may take `wait` seconds. Return False to be called again later; never raise."""
        try:
            await self.run(self._database.add_chat, lines, wait)
        except (NotWritten, sqlite3.Error) as problem:
            if not self._retries.running:
                log.warn("chat is kept in memory until it can be written", fields={"reason": str(problem)})
            return False
        except Exception:  # an error of this program: another attempt would fail too
            self.outcomes["lost"] += len(lines)
            log.failure("chat could not be written")
        else:
            self.outcomes["kept"] += len(lines)
        return True
