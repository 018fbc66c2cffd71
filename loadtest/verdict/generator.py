"""Tells whether Locust itself was the limit, from its processes' highest CPU use and timer delay in a run.

Both are means over some seconds. On a shared machine a process can starve although it uses little CPU: then
its timers are late, and so is everything it measures.

Locust checks its own CPU every ten seconds and ignores the first check: too seldom for a short run.
"""

import time
from typing import Any

import gevent
from locust.runners import MasterRunner, Runner

# Seconds, as often as workers report. In a shorter interval, the arrival of users would count as a limit.
INTERVAL = 3.0
TICK = 0.05  # seconds
KEY = "generator"  # in the reports of workers


class LoadOfLocust:
    """`cpu`: percent of one core. `late`: milliseconds. On the master, the highest of all processes."""

    def __init__(self) -> None:
        self.cpu = self.late = 0.0
        self._greenlet: gevent.Greenlet[..., None] | None = None

    def start(self, runner: Runner | None) -> None:
        """Start measuring with a run."""
        if runner:
            forget_warnings(runner)
        self.forget()
        self.stop()
        self._greenlet = gevent.spawn(self._observe)

    def stop(self) -> None:
        """Stop measuring at the end of the run; writing its reports does not count."""
        if self._greenlet:
            self._greenlet.kill(block=False)

    def forget(self) -> None:
        """Measure from now on."""
        self.cpu = self.late = 0.0

    def send(self, data: dict[str, Any], **_: Any) -> None:
        """On a worker, add both figures to each report."""
        data[KEY] = [self.cpu, self.late]

    def receive(self, data: dict[str, Any], **_: Any) -> None:
        """On the master, keep the highest figures of all processes."""
        cpu, late = data.get(KEY, [0.0, 0.0])
        self.cpu, self.late = max(self.cpu, cpu), max(self.late, late)

    def _observe(self) -> None:
        while True:
            begin, used, ticks, wall = time.monotonic(), time.process_time(), 0, 0.0
            while wall < INTERVAL:
                gevent.sleep(TICK)
                ticks += 1
                wall = time.monotonic() - begin
            self.cpu = max(self.cpu, 100 * (time.process_time() - used) / wall)
            self.late = max(self.late, 1000 * (wall / ticks - TICK))


load_of_locust = LoadOfLocust()


def forget_warnings(runner: Runner) -> None:
    """Forget Locust's own warnings, too; a master keeps them from run to run."""
    runner.cpu_warning_emitted = runner.worker_cpu_warning_emitted = False
    if isinstance(runner, MasterRunner):
        for worker in runner.clients.all:
            worker.cpu_warning_emitted = False
