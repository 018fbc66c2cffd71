"""Whether Locust itself was the limit: the worst that any of its processes has seen during a run.

Two signs, each over some seconds: the CPU it used, and how late its timers were. On a machine that others
use, too, a process can starve with little CPU; its timers tell, and all it measures is late by as much.

Locust looks at its own CPU every ten seconds, and the first look says nothing: too seldom for a run of
twenty.
"""

import time
from typing import Any

import gevent
from locust import events

# Seconds; about as often as workers report. Shorter, and everybody's arrival alone would look like a limit.
INTERVAL = 3.0
TICK = 0.05  # seconds
KEY = "generator"  # in the reports of workers

cpu = 0.0  # per cent of one core; on the master of all its workers and itself
late = 0.0  # milliseconds, the mean of an interval; likewise
_watch: "gevent.Greenlet[..., None] | None" = None


def forget(**_: Any) -> None:
    """Somebody wants to see only what comes from now on."""
    global cpu, late
    cpu = late = 0.0


def start(**_: Any) -> None:
    """A run begins."""
    global _watch
    forget()
    if _watch:
        _watch.kill(block=False)
    _watch = gevent.spawn(_observe)


def stop(**_: Any) -> None:
    """The run is over; what follows, reports above all, is no part of it."""
    if _watch:
        _watch.kill(block=False)


def _observe() -> None:
    global cpu, late
    while True:
        begin, used, ticks, wall = time.monotonic(), time.process_time(), 0, 0.0
        while wall < INTERVAL:
            gevent.sleep(TICK)
            ticks += 1
            wall = time.monotonic() - begin
        cpu = max(cpu, 100 * (time.process_time() - used) / wall)
        late = max(late, 1000 * (wall / ticks - TICK))


def hand_over(data: dict[str, Any], **_: Any) -> None:
    """On a worker: with every report."""
    data[KEY] = [cpu, late]


def take_over(data: dict[str, Any], **_: Any) -> None:
    """On the master: the worst of all processes counts."""
    global cpu, late
    theirs = data.get(KEY, [0.0, 0.0])
    cpu, late = max(cpu, theirs[0]), max(late, theirs[1])


events.test_start.add_listener(start)  # type: ignore[no-untyped-call]
events.reset_stats.add_listener(forget)  # type: ignore[no-untyped-call]
events.test_stop.add_listener(stop)  # type: ignore[no-untyped-call]
events.report_to_master.add_listener(hand_over)  # type: ignore[no-untyped-call]
events.worker_report.add_listener(take_over)  # type: ignore[no-untyped-call]
