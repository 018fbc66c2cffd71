"""Arrivals: their schedule, their visitors and their samples."""

import random
from collections.abc import Iterator
from itertools import islice, pairwise
from types import SimpleNamespace

import gevent
import pytest
from gevent.event import Event
from gevent.pool import Pool
from locust import User

from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import alone, run, samples
from locustfile import Arrivals, Reader
from users import arrivals, open_model
from verdict import rows
from verdict.judge import FAILED, NOT_IN_RUN, OK, Row, Run, judge, read
from verdict.thresholds import SHIPPED


def test_constant_arrivals_have_equal_gaps_and_processes_are_not_in_step() -> None:
    one, other = (list(islice(open_model.instants(4, "constant", random.Random(seed)), 9)) for seed in (1, 2))
    assert [round(b - a, 9) for a, b in pairwise(one)] == [0.25] * 8
    assert 0 <= one[0] < 0.25
    assert one[0] != other[0]


def test_poisson_arrivals_have_the_rate_as_their_mean_and_vary_as_much() -> None:
    due = list(islice(open_model.instants(40, "poisson", random.Random(1)), 40_000))
    gaps = [b - a for a, b in pairwise(due)]
    mean = sum(gaps) / len(gaps)
    assert mean == pytest.approx(1 / 40, rel=0.02)
    # The standard deviation of an exponential distribution is its mean.
    assert sum((gap - mean) ** 2 for gap in gaps) / len(gaps) == pytest.approx(mean**2, rel=0.05)


def test_a_process_has_its_share(site: FakeSite) -> None:
    user = alone(site, Arrivals, "--arrivals=6")
    user.environment.parsed_options.processes_of_run = 3
    user.on_start()
    assert next(user.schedule) - user.due == pytest.approx(3 / 6)


class Held(arrivals.Newcomer):
    """Visits that last until the test ends them."""

    abstract = True
    over = Event()

    def visit(self) -> bool:
        return bool(Held.over.wait())


class Door:
    """Arrivals without a runner, with two visitors; a test says when visits are due.

    `taken`: name, milliseconds and fault of each sample.
    """

    def __init__(self, user: Arrivals) -> None:
        user.pool, user.schedule, user.due = Pool(2), iter(()), 1e9
        self.user, self.now, self.taken = user, 0.0, samples(user, "arrival")

    def open_at(self, now: float, *due: float) -> None:
        self.now = now
        self.user.waiting.extend(due)
        self.user.open_visits()
        gevent.sleep(0)


@pytest.fixture
def door(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    door = Door(alone(site, Arrivals, "--arrivals=1", newcomer=Held))
    monkeypatch.setattr(arrivals, "time", SimpleNamespace(monotonic=lambda: door.now))
    yield door
    door.user.on_stop()
    Held.over.clear()


def test_time_counts_from_the_instant_and_without_a_free_visitor_a_visit_is_late(door: Door) -> None:
    door.open_at(1.0, 1.0, 1.0, 1.0)
    assert door.taken == [("start", 0, None)] * 2
    door.now = 5.0
    Held.over.set()
    gevent.sleep(0.1)
    assert sorted(door.taken[2:], key=str) == [("start", 4000, None), *[("visit", 4000, None)] * 3]
    assert len(door.user.idle) == 2
    door.open_at(6.0, 5.5)
    assert door.taken[-1][:2] == ("visit", 500)
    assert len(door.user.idle) == 2, "a visitor is used again"


def test_after_a_stall_every_visit_that_was_due_comes_with_its_own_instant(door: Door) -> None:
    door.user.due, door.user.schedule = 1.0, iter([2.0, 3.0, 9.0])
    door.open_at(4.0)
    assert door.taken == [("start", 3000, None), ("start", 2000, None)]
    assert (list(door.user.waiting), door.user.due) == ([3.0], 9.0)


NEVER = "never started: no newcomer was free"


def test_a_visit_that_waits_too_long_never_starts(door: Door) -> None:
    door.open_at(1.0, 1.0, 1.0, 1.0, 5.0)
    door.open_at(11.5)
    assert door.taken[2:] == [("start", 10_500, NEVER)]
    assert list(door.user.waiting) == [5.0]


def test_the_end_of_a_run_fails_what_never_started_and_what_took_too_long(door: Door) -> None:
    door.open_at(5.0, 0.0, 5.0, 5.0)
    door.now = 10.5
    door.user.on_stop()
    late = ("visit", 10_500, "not over after 10 s, at the end of the run")
    assert door.taken[2:] == [late, ("start", 5500, NEVER)]


def test_an_error_of_ours_is_reported_and_ends_no_visitor(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[Exception] = []
    door.user.environment.events.user_error.add_listener(lambda exception, **_: errors.append(exception))
    monkeypatch.setattr(Held, "visit", lambda _: 1 // 0)
    door.open_at(0.0, 0.0, 0.0, 0.0)
    gevent.sleep(0.1)
    assert len(errors) == 3
    assert [fault for name, _, fault in door.taken if name == "visit"] == ["an exception"] * 3


def test_every_visitor_is_a_newcomer_and_a_file_that_fails_fails_the_visit(site: FakeSite) -> None:
    result = run(site, Arrivals, users=5, arguments=("--arrivals=10",), until_rows={"arrival visit": 9})
    assert not result.failed
    assert site.asked["/script/v1/main.js"] >= 9
    assert not site.revalidated
    del site.pages["/media/castle.svg"]
    result = run(site, Arrivals, arguments=("--arrivals=10",), until_rows={"arrival visit": 3})
    assert result.failures["arrival visit"] == result.requests["arrival visit"] >= 3
    assert result.failures["arrival start"] == 0


def verdicts(user: type[User], *starts: Row) -> tuple[str, str, str]:
    """Return the verdicts on the arrivals' starts, two lines, and on visits, one line."""
    possible, left_out = rows.of_run([user])
    run = Run(rows=list(starts), possible=possible, left_out=left_out)
    lines = {line.what: line.verdict for line in judge(run, read(SHIPPED))}
    late, never = lines["p99 of how late arrivals start"], lines["arrivals that never started"]
    return late, never, lines["p95 of arrival visit"]


def test_late_and_never_started_are_lines_of_the_verdict() -> None:
    for failures, times, expected in (
        (0, {20: 198, 300: 2}, (OK, OK)),
        (0, {20: 197, 300: 3}, (FAILED, OK)),
        (1, {20: 200}, (OK, FAILED)),
    ):
        assert verdicts(Arrivals, Row("arrival", "start", 200, failures, times))[:2] == expected
    assert verdicts(Reader) == (NOT_IN_RUN,) * 3
