"""A second locustfile, for tests: ends the run as soon as each of the rows in UNTIL has so many samples.

So a run is as short as it can be, and on a busy machine as long as it must.
"""

import json
import os
from typing import Any

import gevent
from locust import events
from locust.env import Environment
from locust.runners import WorkerRunner

WANTED: dict[str, int] = json.loads(os.environ["UNTIL"])
LINGER = float(os.environ["LINGER"])  # seconds to go on then


def watch(environment: Environment, **_: Any) -> None:
    if not isinstance(environment.runner, WorkerRunner):
        gevent.spawn(quit_in_time, environment)


def quit_in_time(environment: Environment) -> None:
    runner = environment.runner
    assert runner
    missing = set(WANTED)
    while missing:
        gevent.sleep(0.05)
        for entry in list(runner.stats.entries.values()):
            row = entry.name if entry.name.startswith("/") else f"{entry.method} {entry.name}"
            if entry.num_requests >= WANTED.get(row, 0):
                missing.discard(row)
    gevent.sleep(LINGER)
    runner.quit()


events.test_start.add_listener(watch)  # type: ignore[no-untyped-call]
