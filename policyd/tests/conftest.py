"""A real daemon for every test: in a thread with its own event loop, on port 0 of loopback."""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
# The tests run from a bare checkout. pytest's importlib mode takes this folder, which is named like the
# package in it, for the package itself: forget that.
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]
sys.modules.pop("policyd", None)

from policyd.journal import Journal  # noqa: E402
from policyd.listeners import open_listeners  # noqa: E402
from policyd.policy import Policy, load  # noqa: E402
from policyd.server import Limits, PolicyServer  # noqa: E402

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


@pytest.fixture
def start() -> Iterator[Callable[..., Daemon]]:
    """A function that starts daemons; they are stopped after the test."""
    daemons: list[Daemon] = []

    def starts(limits: Limits = QUICK, host: str = "127.0.0.1", lines_per_second: int = 1000) -> Daemon:
        daemons.append(Daemon(load(SHIPPED), limits, host, lines_per_second))
        return daemons[-1]

    yield starts
    for daemon in daemons:
        daemon.close()


@pytest.fixture
def daemon(start: Callable[..., Daemon]) -> Daemon:
    started: Daemon = start()
    return started
