"""The figures at the start of a run, and after a reset within it."""

from collections.abc import Iterator
from typing import Any

import pytest
from locust.env import Environment
from locust.event import Events

import figures
from caches.backend import backend_poll
from caches.counters import count, counts
from users import chat, player, seen_files
from verdict.generator import load_of_locust


@pytest.fixture
def environment() -> Iterator[Environment]:
    """Yield a Locust between two runs, the first of which has left figures of each kind."""
    environment = Environment(events=Events())
    figures.register(environment)
    count("/", "varnish; hit")
    backend_poll.asked["media"] = 3
    load_of_locust.cpu = 70.0
    seen_files.remember("/a", "", 7, missed=True)
    player.rejected.add("username=ann")
    chat.say(1, 1)
    yield environment
    environment.events.test_stop.fire(environment=environment)


def test_a_run_begins_with_nothing_from_the_last_one(environment: Environment) -> None:
    environment.events.test_start.fire(environment=environment)
    assert not any((counts, backend_poll.asked, load_of_locust.cpu))
    assert not any((seen_files.is_warm("/a"), player.rejected, chat.lines))


def test_after_a_reset_the_run_counts_from_0_and_what_is_warm_stays_warm(environment: Environment) -> None:
    environment.events.reset_stats.fire()
    assert not any((counts, backend_poll.asked, load_of_locust.cpu))
    assert all((seen_files.is_warm("/a"), player.rejected))


def test_the_reports_of_workers_carry_the_figures(environment: Environment) -> None:
    report: dict[str, Any] = {}
    environment.events.report_to_master.fire(client_id="1", data=report)
    figures.forget()
    environment.events.worker_report.fire(client_id="1", data=report)
    assert counts["/", "client", "hit"] == 1
    assert load_of_locust.cpu == 70
