"""Lesson 17's visitors, and its page as a browser would open it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from requests import RequestException

from lessons.learners.school import Learner
from tests.support.wait import wait_until

# The users have arrived, and the page has been open for as long as Prometheus needs to notice it.
REQUESTS = 'sum(rate(nginx_requests_total{kind!="websocket"}[30s])) > 10'
CHARTS = 'sum(rate(prometheus_http_requests_total{handler="/api/v1/query_range"}[15s])) > 0'


@contextmanager
def open_page(learner: Learner) -> Iterator[None]:
    """Send the page's request for one of its charts, every two seconds; a fault can end the responses."""
    closed = Event()

    def draw() -> None:
        while not closed.wait(2):
            now = time.time()
            with suppress(AssertionError, RequestException):
                learner.stack.prometheus("query_range", query="up", start=now - 300, end=now, step=2)

    drawing = Thread(target=draw)
    drawing.start()
    try:
        yield
    finally:
        closed.set()
        drawing.join()


def until_all_is_well(learner: Learner) -> None:
    alerts = learner.stack.alerts
    wait_until(lambda: not alerts(), within=180, every=1, report=lambda: str(alerts()))


@contextmanager
def watched(learner: Learner) -> Iterator[None]:
    """Make an attempt with twenty users of Locust's page and an open page, until the stack is well again."""
    learner.wait(6)  # seconds in which Prometheus has checked its rules once
    until_all_is_well(learner)
    learner.stack.swarm(20)
    try:
        with open_page(learner):
            wait_until(lambda: learner.stack.prometheus("query", query=REQUESTS)["result"], every=1)
            wait_until(lambda: learner.stack.prometheus("query", query=CHARTS)["result"], every=1)
            learner.begin(17)
            yield
    finally:
        learner.stack.swarm(0)
    until_all_is_well(learner)
