"""A load test that decides: it sets the exit code, so that a build can stop.

Look at: the last lines of the log, and `echo $?`. Set SLOWEST to 1: the run fails, although every response
was right. If you copy this class to mine/, a file `thresholds.toml` beside it does the same without code
(loadtest/mine/README.md).
"""

import logging

from locust import FastHttpUser, between, events, task
from locust.env import Environment

SLOWEST = 500  # milliseconds, for 95 of 100 responses
MOST_FAILURES = 0.01  # share of all responses


class Regular(FastHttpUser):
    """Opens the page."""

    wait_time = between(0.5, 1)

    @task
    def open_the_page(self) -> None:
        self.client.get("/stages/load")


@events.quitting.add_listener
def judge(environment: Environment, **_: object) -> None:
    """Locust calls this at the end of the run, and ends with the exit code set here."""
    total = environment.stats.total
    p95 = total.get_response_time_percentile(0.95) or 0
    good = total.num_requests > 0 and total.fail_ratio <= MOST_FAILURES and p95 <= SLOWEST
    logging.info("p95 %d ms, %.1f%% failed: %s", p95, 100 * total.fail_ratio, "good" if good else "NOT GOOD")
    environment.process_exit_code = 0 if good else 1
