"""A policy server in a thread with its own event loop, on a free port of loopback."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

from policyd.log import Log
from policyd.policy import load
from policyd.server import Limits, PolicyServer, open_listeners
from support.wait import wait_until

HERE = Path(__file__).parent
SHIPPED = HERE.parent / "flashpolicy.xml"
QUICK = Limits(deadline=0.8, linger=0.5)


class Daemon:
    """A `PolicyServer` with the shipped policy; `lines` are those of its log, parsed."""

    def __init__(self, limits: Limits = QUICK, host: str = "127.0.0.1", lines_per_second: int = 1000) -> None:
        self.policy = load(SHIPPED)
        self.lines: list[dict[str, Any]] = []
        self.log = Log(lambda line: self.lines.append(json.loads(line)), lines_per_second)
        self.host = host
        listeners = open_listeners([host], 0)
        self.port: int = listeners[0].getsockname()[1]
        self.server = PolicyServer(self.policy, limits, self.log)
        self._loop = asyncio.new_event_loop()
        self._loop.call_soon(self.server.start, listeners)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def close(self) -> None:
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self.server.stop(), self._loop).result(10)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)

    def has_counted(self, **outcomes: int) -> bool:
        """Wait until the log has counted these outcomes, `closed_early` standing for `closed-early`."""
        wanted = {name.replace("_", "-"): count for name, count in outcomes.items()}
        return wait_until(lambda: wanted.items() <= self.log.counts.items(), within=3, every=0.01)
