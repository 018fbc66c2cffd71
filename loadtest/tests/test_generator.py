"""The figures about Locust itself, over a run and over several processes."""

from typing import Any

import gevent
import pytest
from locust.env import Environment
from locust.event import Events

from locust_library import until
from verdict import generator
from verdict.generator import KEY, LoadOfLocust


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Events:
    """The events of a Locust whose process is watched, in short intervals."""
    monkeypatch.setattr(generator, "load_of_locust", LoadOfLocust())
    monkeypatch.setattr(generator, "INTERVAL", 0.1)
    environment = Environment(events=Events())
    generator.register(environment)
    return environment.events


def test_only_a_run_is_measured(events: Events) -> None:
    events.test_start.fire(environment=None)
    until(lambda: generator.load_of_locust.late > 0)
    events.test_stop.fire(environment=None)
    gevent.sleep(0)
    events.reset_stats.fire()
    gevent.sleep(0.3)
    assert generator.load_of_locust.late == 0


def test_the_master_has_the_highest_figures_of_all_processes(events: Events) -> None:
    worker = LoadOfLocust()
    for worker.cpu, worker.late in ((50.0, 3.0), (20.0, 9.0)):
        report: dict[str, Any] = {}
        worker.send(report)
        events.worker_report.fire(client_id="1", data=report)
    events.worker_report.fire(client_id="2", data={})  # a worker without figures
    assert (generator.load_of_locust.cpu, generator.load_of_locust.late) == (50.0, 9.0)


def test_a_worker_reports_its_figures(events: Events) -> None:
    generator.load_of_locust.cpu, generator.load_of_locust.late = 70.0, 8.0
    report: dict[str, Any] = {}
    events.report_to_master.fire(client_id="1", data=report)
    assert report == {KEY: [70.0, 8.0]}
