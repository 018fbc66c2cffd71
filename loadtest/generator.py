"""How busy the generator is: the highest CPU of one of its processes during a run.

Locust looks at its own CPU every ten seconds, and the first look says nothing: too seldom for a run of
twenty.
"""

import time
from typing import Any

import gevent
from locust import events

# Seconds; about as often as workers report. Shorter, and everybody's arrival alone would look like a limit.
INTERVAL = 3.0
KEY = "generator_cpu"  # in the reports of workers

peak = 0.0  # per cent of one core; on the master of all its workers and itself
_watch: "gevent.Greenlet[..., None] | None" = None


def start(**_: Any) -> None:
    """A run begins: forget the last one's figures."""
    global peak, _watch
    peak = 0.0
    if _watch:
        _watch.kill(block=False)
    _watch = gevent.spawn(_observe)


def stop(**_: Any) -> None:
    """The run is over; what follows, reports above all, is no part of it."""
    if _watch:
        _watch.kill(block=False)


def _observe() -> None:
    global peak
    while True:
        wall, cpu = time.monotonic(), time.process_time()
        gevent.sleep(INTERVAL)
        peak = max(peak, 100 * (time.process_time() - cpu) / (time.monotonic() - wall))


def hand_over(data: dict[str, Any], **_: Any) -> None:
    """On a worker: with every report."""
    data[KEY] = peak


def take_over(data: dict[str, Any], **_: Any) -> None:
    """On the master: the busiest process counts."""
    global peak
    peak = max(peak, data.get(KEY, 0.0))


events.test_start.add_listener(start)  # type: ignore[no-untyped-call]
events.test_stop.add_listener(stop)  # type: ignore[no-untyped-call]
events.report_to_master.add_listener(hand_over)  # type: ignore[no-untyped-call]
events.worker_report.add_listener(take_over)  # type: ignore[no-untyped-call]
