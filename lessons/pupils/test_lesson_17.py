"""Lesson 17: a fault on the page of extras/observe."""

import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from school import Pupil
from support.wait import wait_until
from test_lesson_01 import letter

EVALUATED = 6  # seconds, in which Prometheus has looked at its rules once
REQUESTS = 'sum(rate(nginx_requests_total{kind!="websocket"}[30s]))'
FORGOTTEN = 30  # seconds, after which the rates that the check asks for are those of now


@pytest.fixture(scope="module", autouse=True)
def live_metrics(pupil: Pupil) -> Iterator[None]:
    pupil.start_with("observe")
    yield
    pupil.start_with("")


@pytest.fixture(autouse=True)
def all_is_well(live_metrics: None, pupil: Pupil, begin: None) -> None:
    """The lesson begins anew once no alert is on, because it does not count those."""
    until_all_is_well(pupil)
    pupil.begin(17)


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


@contextmanager
def stopped_backend(pupil: Pupil) -> Iterator[None]:
    """A backend that is stopped until the alert fires, and longer."""
    pupil.stack.compose("stop", "backend")
    try:
        wait_until(lambda: "BackendDown" in pupil.stack.alerts("firing"), within=60, every=1)
        pupil.wait(EVALUATED)
        yield
    finally:
        pupil.stack.compose("start", "backend")


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


def test_the_pages_flood(pupil: Pupil) -> None:
    """A fault that is a load itself; the command is that of the lesson's page."""
    page = (pupil.folder / "lessons" / "17-watch-the-stack" / "README.md").read_text()
    (command,) = re.findall(r"^ +(curl .*WORD#.*)$", page, re.M)
    command = command.replace("8080", str(pupil.stack.ports["HTTP_PORT"])).replace("WORD", pupil.word)
    with open_page(pupil), subprocess.Popen(shlex.split(command)) as curl:
        try:
            wait_until(lambda: "ClientsLimited" in pupil.stack.alerts("firing"), within=60, every=1)
            pupil.wait(EVALUATED)
            pupil.refused("Now mend it, .*ClientsLimited")
        finally:
            curl.terminate()
    until_all_is_well(pupil)
    began = time.monotonic()
    asked = pupil.right()
    assert time.monotonic() - began < 5
    assert "ClientsLimited: Over a client's limit" in asked
    code, said = pupil.check(letter(asked, "ClientsLimited: Objects that left"))
    assert (code, "No: It is why objects leave" in said) == (1, True), said


def test_a_fault_that_was_not_watched(pupil: Pupil) -> None:
    """Neither a fault without load nor one without the page; one of each is not both."""
    pupil.wait(FORGOTTEN)
    with open_page(pupil), stopped_backend(pupil):
        pupil.refused("BackendDown has fired, but the stack had fewer than five requests a second")
    until_all_is_well(pupil)
    pupil.wait(FORGOTTEN)
    with loaded(pupil), stopped_backend(pupil):
        pupil.refused("BackendDown has fired, but no page was open to show it")


def test_a_fault_that_was_there_before(pupil: Pupil) -> None:
    with loaded(pupil), open_page(pupil), stopped_backend(pupil):
        pupil.begin(17)
        pupil.wait(2 * EVALUATED)
        pupil.refused("No alert has begun to fire since the lesson began")


def test_an_alert_of_the_pupils_own(pupil: Pupil) -> None:
    rules = pupil.folder / "extras" / "observe" / "prometheus" / "rules.yml"
    shipped = rules.read_text()
    rules.write_text(shipped.replace('up{job="backend"} == 0', "vector(1)"))
    try:
        pupil.refused("break the stack, not its alerts")
    finally:
        rules.write_text(shipped)


def test_without_the_extra(pupil: Pupil) -> None:
    pupil.start_with("")
    pupil.begin(17)
    pupil.refused(r"Type: make up EXTRAS=observe")
    pupil.start_with("observe")
