"""A real daemon in a thread with its own event loop, on port 0 of loopback."""

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

from policyd.journal import Journal
from policyd.listeners import open_listeners
from policyd.policy import Policy
from policyd.server import Limits, PolicyServer

HERE = Path(__file__).parent
SHIPPED = HERE.parent / "flashpolicy.xml"
QUICK = Limits(deadline=0.8, linger=0.5)


class Daemon:
    """A `PolicyServer` in a thread; `log` has its lines, parsed."""

    def __init__(self, policy: Policy, limits: Limits, host: str, lines_per_second: int) -> None:
        self.policy = policy
        self.log: list[dict[str, Any]] = []
        self.journal = Journal(lambda line: self.log.append(json.loads(line)), lines_per_second)
        self.host = host
        self._listeners = open_listeners([host], 0)
        self.port: int = self._listeners[0].getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._server = PolicyServer(policy, limits, self.journal)
        self._loop.call_soon(self._server.start, self._listeners)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def close(self) -> None:
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop).result(10)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)

    def counted(self, outcome: str, at_least: int = 1) -> int:
        """The count of an outcome, once it has reached `at_least` (or after three seconds)."""
        until = time.monotonic() + 3
        while self.journal.counts[outcome] < at_least and time.monotonic() < until:
            time.sleep(0.01)
        return int(self.journal.counts[outcome])
