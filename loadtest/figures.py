"""The figures of a run: each is kept where it is counted; this module lets all begin and end together.

Every process counts for itself. With each report, a worker sends its new counts, and the master adds them up.
So the figures of the whole run are on the master, or in the only process.
https://docs.locust.io/en/stable/api.html#locust.event.Events.report_to_master
"""

from typing import Any

from locust.env import Environment

from caches import counters
from caches.backend import backend_poll
from comparison.recorder import recorder
from users import chat, player, seen_files
from verdict.generator import load_of_locust


def register(environment: Environment) -> None:
    """Begin and end with Locust's own statistics; have workers send their figures to the master."""
    events = environment.events
    events.request.add_listener(counters.heard)
    events.test_start.add_listener(begin)
    events.reset_stats.add_listener(restart)
    events.test_stopping.add_listener(recorder.finish)
    events.test_stop.add_listener(end)
    for counted in (counters, load_of_locust):
        events.report_to_master.add_listener(counted.send)
        events.worker_report.add_listener(counted.receive)


def forget() -> None:
    """Forget the last run: the next one may have another target, or empty caches."""
    recorder.clear()  # the measurements of Compare and Capacity
    counters.forget()  # the outcomes at the caches
    backend_poll.clear()  # the backend's reports
    load_of_locust.forget()  # whether Locust was the limit
    seen_files.forget()  # which files the caches must have by now
    player.rejected.clear()  # sign-ins that the server rejected
    chat.lines.clear()  # lines that may still be heard


def begin(environment: Environment, **_: Any) -> None:
    """Start a run with nothing from the last one."""
    forget()
    backend_poll.start(environment)
    load_of_locust.start(environment.runner)


def restart(**_: Any) -> None:
    """Count from 0 within a run: after a warm-up, or by *Reset* on the page. The caches stay warm."""
    recorder.restart()
    counters.forget()
    backend_poll.forget()
    load_of_locust.forget()


def end(**_: Any) -> None:
    """Stop the measurements that run beside the users."""
    backend_poll.stop()
    load_of_locust.stop()
