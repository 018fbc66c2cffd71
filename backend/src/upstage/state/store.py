"""The database's thread, so that the reactor never waits for the disk.

One thread keeps the order of writes, and a write is reported only when it is on the disk. Changes of stages
wait in a bounded queue and are written together, so a slow disk delays the stages and nothing else. While
nothing can be written, changes are sent to clients immediately and kept in memory.
"""

import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.threadpool import ThreadPool

from upstage.stage.kept import Change
from upstage.state import steps
from upstage.state.database import LOCK_TIME, Database
from upstage.state.records import NotWritten

P = ParamSpec("P")
T = TypeVar("T")

# The most frames that may wait for the disk, or behind frames that do. If one more comes, all of them are
# sent at once and written later. At most as many unwritten changes are kept; beyond that, the oldest is lost.
# A change has at most 2 kB, or is a layer's whole drawing, which comes only after as many single frames.
MAX_QUEUE = 20_000
SHORT_WAIT = 0.2  # seconds that a change waits for another program's lock before it is sent unwritten
RETRY = 1.0  # seconds between two attempts to write unwritten changes

log = Logger()


class Store:
    """Runs the methods of one Database, in order, in one thread. Use it between `start` and `stop`."""

    def __init__(self, database: Database, reactor: Any) -> None:
        self._database = database
        self._reactor = reactor
        self._thread = ThreadPool(1, 1, "store")
        self._waiting: deque[tuple[str, Sequence[Change], Callable[[], object]]] = deque()
        self._writing = False
        self._begun = 0  # the number of waiting entries, from the first, that are being written
        self._unwritten: deque[tuple[str, Change]] = deque(maxlen=MAX_QUEUE)  # sent, but not on the disk
        # Runs while any changes are unwritten.
        self._retries = LoopingCall(lambda: Deferred.fromCoroutine(self._retry()))
        self._retries.clock = reactor
        self.outcomes: Counter[str] = Counter(kept=0, lost=0)  # changes

    @property
    def queued(self) -> int:
        """The number of frames and changes not yet on the disk."""
        return len(self._waiting) + len(self._unwritten)

    def start(self) -> None:
        self._thread.start()

    async def stop(self) -> None:
        """Write queued changes, close the database and end the thread."""
        while self._writing:
            await self.run(lambda: None)  # runs in the thread after the changes that are being written
        if self._retries.running:
            self._retries.stop()
            await self.run(lambda: None)  # runs after an attempt that has begun
            await self._retry(LOCK_TIME)
            if self._unwritten:
                log.error(
                    "changes of stages are lost: they could not be written",
                    fields={"changes": len(self._unwritten)},
                )
        await self.run(self._database.close)
        self._thread.stop()

    def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Deferred[T]:
        """Do blocking work in the thread; fire with its result."""
        done = deferToThreadPool(self._reactor, self._thread, work, *args, **kwargs)
        if (request := steps.current.get()) is not None:
            request.wait("database", done)
        return done

    def keep(self, stage: str, changes: Sequence[Change], kept: Callable[[], object]) -> None:
        """Write changes to disk, then call `kept`, in the order of the calls; `changes` may be empty.

        If the disk fails, or too many changes wait, call `kept` first and write the changes later.
        """
        if len(self._waiting) >= MAX_QUEUE:
            self._release()
        self._waiting.append((stage, changes, kept))
        if not self._writing:
            self._writing = True
            Deferred.fromCoroutine(self._write())

    async def _write(self) -> None:
        while self._waiting:
            gathered = list(self._waiting)
            changes = [(stage, change) for stage, some, _ in gathered for change in some]
            self._begun = len(gathered)
            # While older changes are unwritten, do not try to write newer ones: that would delay the stages.
            written = not changes
            if changes and not self._retries.running:
                written = await self._write_now(changes, SHORT_WAIT)
            if not written:
                newer, self._unwritten = self._unwritten, deque(maxlen=MAX_QUEUE)
                self._put_aside([*changes, *newer] if not self._begun else [*newer, *changes])
                self._try_again()
            while self._begun:  # unless they have been released in the meantime
                self._begun -= 1
                _, _, kept = self._waiting.popleft()
                kept()
        self._writing = False

    def _release(self) -> None:
        """Send all waiting frames, in order; changes that are not being written now are written later."""
        released, begun = list(self._waiting), self._begun
        self._waiting.clear()
        self._begun = 0
        self._put_aside((stage, change) for stage, some, _ in released[begun:] for change in some)
        self._try_again()
        for _, _, kept in released:
            kept()

    def _try_again(self) -> None:
        """Begin to retry the changes that were put aside."""
        if self._unwritten and not self._retries.running:
            self._retries.start(RETRY, now=False)

    def _put_aside(self, changes: Iterable[tuple[str, Change]]) -> None:
        """Keep changes in memory until they can be written."""
        for change in changes:
            self.outcomes["lost"] += len(self._unwritten) == MAX_QUEUE  # the oldest change is lost
            self._unwritten.append(change)

    async def _retry(self, wait: float = 0.0) -> None:
        """Write the changes that were put aside, and those that arrive in the meantime."""
        while self._unwritten:
            changes, self._unwritten = self._unwritten, deque(maxlen=MAX_QUEUE)
            if not await self._write_now(changes, wait):
                newer, self._unwritten = self._unwritten, changes
                self._put_aside(newer)
                return
        if self._retries.running:
            self._retries.stop()

    async def _write_now(self, changes: Collection[tuple[str, Change]], wait: float) -> bool:
        """Write changes; a lock may take `wait` seconds. Return whether they need no retry; never raise."""
        try:
            await self.run(self._database.keep, changes, wait)
        except (NotWritten, sqlite3.Error) as problem:
            if not self._retries.running:
                log.warn(
                    "changes of stages are kept in memory until they can be written",
                    fields={"reason": str(problem)},
                )
            return False
        except Exception:  # an error in this program: another attempt would fail, too
            self.outcomes["lost"] += len(changes)
            log.failure("changes of stages could not be written")
        else:
            self.outcomes["kept"] += len(changes)
        return True
