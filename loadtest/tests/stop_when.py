"""A second locustfile, for tests: ends the run as soon as each of the rows in UNTIL has that many samples;
"Aggregated" are all rows together.

So a run is as short as it can be, and on a busy machine as long as it must be. There, a worker's heartbeat
may be later than the three seconds after which Locust gives the worker up and ends the run.
"""

import json
import os
from typing import Any

import gevent
from locust import events, runners
from locust.env import Environment
from locust.runners import WorkerRunner

WANTED: dict[str, int] = json.loads(os.environ["UNTIL"])

runners.HEARTBEAT_LIVENESS = 60  # seconds


@events.test_start.add_listener
def watch(environment: Environment, **_: Any) -> None:
    """Watch the run in the process that leads it."""
    if not isinstance(environment.runner, WorkerRunner):
        gevent.spawn(quit_in_time, environment)


def quit_in_time(environment: Environment) -> None:
    """Quit once the table has every row."""
    runner = environment.runner
    assert runner
    missing = set(WANTED)
    while missing:
        gevent.sleep(0.05)
        if runner.stats.total.num_requests >= WANTED.get("Aggregated", 0):
            missing.discard("Aggregated")
        for entry in list(runner.stats.entries.values()):
            row = entry.name if entry.name.startswith("/") else f"{entry.method} {entry.name}"
            if entry.num_requests >= WANTED.get(row, 0):
                missing.discard(row)
    runner.quit()
