"""Lesson 17: a fault on the page of extras/observe. tests/test_watch_the_stack.py has what is refused."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from school import Pupil
from support.wait import wait_until

EVALUATED = 6  # seconds, in which Prometheus has looked at its rules once
REQUESTS = 'sum(rate(nginx_requests_total{kind!="websocket"}[30s]))'


@pytest.fixture(scope="module", autouse=True)
def live_metrics(pupil: Pupil) -> Iterator[None]:
    pupil.start_with("observe")
    yield
    pupil.start_with("")


@contextmanager
def loaded(pupil: Pupil) -> Iterator[None]:
    """Locust's page has started its twenty users, and they have come."""
    pupil.stack.swarm(20)
    try:
        wait_until(
            lambda: pupil.stack.prometheus("query", query=f"{REQUESTS} > 10")["result"], within=60, every=1
        )
        yield
    finally:
        pupil.stack.swarm(0)


@contextmanager
def open_page(pupil: Pupil) -> Iterator[None]:
    """What the page asks for one of its charts, every two seconds."""
    closed = Event()

    def draw() -> None:
        while not closed.wait(2):
            now = time.time()
            pupil.stack.prometheus("query_range", query="machine_load", start=now - 300, end=now, step=2)

    drawing = Thread(target=draw)
    drawing.start()
    try:
        yield
    finally:
        closed.set()
        drawing.join()


def until_all_is_well(pupil: Pupil) -> None:
    wait_until(
        lambda: not pupil.stack.alerts(), within=180, every=1, report=lambda: str(pupil.stack.alerts())
    )


@contextmanager
def watched(pupil: Pupil) -> Iterator[None]:
    """An attempt with visitors and an open page, until all is well again."""
    pupil.wait(EVALUATED)
    until_all_is_well(pupil)
    with loaded(pupil), open_page(pupil):
        pupil.begin(17)
        yield
    until_all_is_well(pupil)


def test_an_alert_of_the_pupils_own(pupil: Pupil) -> None:
    rules = pupil.folder / "extras" / "observe" / "prometheus" / "rules.yml"
    shipped = rules.read_text()
    rules.write_text(shipped.replace('up{job="backend"} == 0', "vector(1)"))
    try:
        pupil.refused("break the stack, not its alerts")
    finally:
        rules.write_text(shipped)
