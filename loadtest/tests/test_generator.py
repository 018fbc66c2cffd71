"""The figures about Locust itself, over a run and over several processes."""

import time
from typing import Any

import gevent
import pytest

from loadtest.tests.locust_library import until
from verdict import generator
from verdict.generator import LoadOfLocust


def test_only_a_run_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "INTERVAL", 0.1)
    load = LoadOfLocust()
    load.start(None)
    gevent.sleep(0)
    busy = time.process_time() + 0.5
    while time.process_time() < busy:
        pass
    until(lambda: load.late > 100 and load.cpu > 1)
    measuring = load._greenlet
    load.stop()
    assert measuring
    until(lambda: measuring.dead)


def test_the_master_has_the_highest_figures_of_all_processes() -> None:
    worker, master = LoadOfLocust(), LoadOfLocust()
    for worker.cpu, worker.late in ((50.0, 3.0), (20.0, 9.0)):
        report: dict[str, Any] = {}
        worker.send(report)
        master.receive(report)
    master.receive({})  # a worker without figures
    assert (master.cpu, master.late) == (50.0, 9.0)
