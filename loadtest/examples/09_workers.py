"""One process of Locust fills one core. Workers send the load; the master adds up their figures.

Look at: the last line of the log, the pages that each process opened. `make load EXAMPLE=09
LOADTEST_PROCESSES=4` starts four workers. Figures of your own travel in the two events below.
"""

import logging
from collections import Counter
from typing import Any

from locust import FastHttpUser, constant, events, task

opened: Counter[str] = Counter()  # this process's pages; on the master: worker -> pages


class Hand(FastHttpUser):
    wait_time = constant(0.5)

    @task
    def open_the_page(self) -> None:
        self.client.get("/stages/load")
        opened["here"] += 1


@events.report_to_master.add_listener
def send(data: dict[str, Any], **_: object) -> None:
    """On a worker, every three seconds: send the count since the last report."""
    data["opened"] = opened.pop("here", 0)


@events.worker_report.add_listener
def receive(client_id: str, data: dict[str, Any], **_: object) -> None:
    opened[client_id] += data["opened"]


@events.quitting.add_listener
def tell(**_: object) -> None:
    if opened:
        logging.info("pages by process: %s", dict(opened))
