"""Arrivals: their schedule, their visitors and their samples."""

import random
from collections.abc import Iterator
from itertools import islice, pairwise
from types import SimpleNamespace
from typing import Any

import gevent
import pytest
from gevent.event import Event
from gevent.pool import Pool
from locust.runners import WorkerNode

from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import create, parse, run
from locustfile import Arrivals, Reader
from users import arrivals, open_model, taking_part
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


@pytest.mark.parametrize("workers", [1, 3])
def test_each_process_has_one_user_with_its_share_whatever_the_number_in_the_form(
    site: FakeSite, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    environment = create(site, Arrivals, Reader, arguments=("--arrivals=6",))
    taking_part.register(environment)
    nodes = [WorkerNode(f"host_{number}") for number in range(workers)]
    dispatcher = environment.dispatcher_class(nodes, [Arrivals, Reader])
    for users, expected in ((1, 1), (20, 1), (0, 0), (2, 1)):
        dispatcher.new_dispatch(users, 1)
        assert list(dispatcher)[-1] == {node.id: {"Arrivals": expected} for node in nodes}
    # What a worker does with the options that the dispatcher has completed.
    monkeypatch.setattr(Arrivals, "host", site.url)
    user = Arrivals(environment)
    user.on_start()
    assert next(user.schedule) - user.due == pytest.approx(workers / 6)


def test_they_run_alone_and_without_arrivals_not_at_all() -> None:
    assert taking_part.lack(Arrivals, parse()) == "there are no --arrivals"
    assert taking_part.lack(Reader, parse()) is None
    some = parse("--arrivals=0.5")
    assert taking_part.lack(Arrivals, some) is None
    assert taking_part.lack(Reader, some) == "with --arrivals only Arrivals take part"


class Held(arrivals.Newcomer):
    """Visits that last until the test ends them."""

    abstract = True
    over = Event()

    def visit(self) -> bool:
        return bool(Held.over.wait())


@pytest.fixture
def schedule(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> Iterator[Arrivals]:
    """Arrivals without a runner, with two visitors; a test says when visits are due."""
    monkeypatch.setattr(Arrivals, "host", site.url)
    user = Arrivals(create(site, Arrivals, arguments=("--arrivals=1",)))
    user.newcomer = Held
    assert user.environment.parsed_options
    user.environment.parsed_options.processes_of_run = 1
    user.on_start()
    user.pool, user.schedule = Pool(2), iter([1e9])
    user.due = next(user.schedule)
    yield user
    user.on_stop()


def samples(user: Arrivals) -> list[tuple[str, int, str | None]]:
    """The samples of arrivals from now on: name, milliseconds, fault."""
    taken: list[tuple[str, int, str | None]] = []

    def take(request_type: str, name: str, response_time: float, exception: Any, **_: Any) -> None:
        if request_type == "arrival":
            taken.append((name, round(response_time), exception and str(exception)))

    user.environment.events.request.add_listener(take)
    return taken


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The clock of arrivals, in seconds; a test sets it."""
    now = [0.0]
    monkeypatch.setattr(arrivals, "time", SimpleNamespace(monotonic=lambda: now[0]))
    yield now
    Held.over.clear()


def open_at(user: Arrivals, clock: list[float], now: float, *due: float) -> None:
    clock[0] = now
    user.waiting.extend(due)
    user.open_visits()
    gevent.sleep(0)


def test_time_counts_from_the_instant_and_without_a_free_visitor_a_visit_is_late(
    clock: list[float], schedule: Arrivals
) -> None:
    taken = samples(schedule)
    open_at(schedule, clock, 1.0, 1.0, 1.0, 1.0)
    assert taken == [("start", 0, None)] * 2
    clock[0] = 5.0
    Held.over.set()
    gevent.sleep(0.1)
    assert sorted(taken[2:], key=str) == [("start", 4000, None), *[("visit", 4000, None)] * 3]
    assert len(schedule.idle) == 2
    open_at(schedule, clock, 6.0, 5.5)
    assert taken[-1][:2] == ("visit", 500)
    assert len(schedule.idle) == 2, "a visitor is used again"


def test_after_a_stall_every_visit_that_was_due_comes_with_its_own_instant(
    clock: list[float], schedule: Arrivals
) -> None:
    taken = samples(schedule)
    schedule.due, schedule.schedule = 1.0, iter([2.0, 3.0, 9.0])
    open_at(schedule, clock, 4.0)
    assert taken == [("start", 3000, None), ("start", 2000, None)]
    assert (list(schedule.waiting), schedule.due) == ([3.0], 9.0)


NEVER = "never started: no newcomer was free"


def test_a_visit_that_waits_too_long_never_starts(clock: list[float], schedule: Arrivals) -> None:
    taken = samples(schedule)
    open_at(schedule, clock, 1.0, 1.0, 1.0, 1.0, 5.0)
    open_at(schedule, clock, 11.5)
    assert taken[2:] == [("start", 10_500, NEVER)]
    assert list(schedule.waiting) == [5.0]


def test_the_end_of_a_run_fails_what_never_started_and_what_took_too_long(
    clock: list[float], schedule: Arrivals
) -> None:
    taken = samples(schedule)
    open_at(schedule, clock, 5.0, 0.0, 5.0, 5.0)
    clock[0] = 10.5
    schedule.on_stop()
    late = ("visit", 10_500, "not over after 10 s, at the end of the run")
    assert taken[2:] == [late, ("start", 5500, NEVER)]


def test_an_error_of_ours_is_reported_and_ends_no_visitor(
    schedule: Arrivals, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, errors = samples(schedule), []
    schedule.environment.events.user_error.add_listener(lambda exception, **_: errors.append(exception))
    monkeypatch.setattr(Held, "visit", lambda _: 1 // 0)
    schedule.waiting.extend([schedule.due] * 3)
    schedule.open_visits()
    gevent.sleep(0.1)
    assert len(errors) == 3
    assert [fault for name, _, fault in taken if name == "visit"] == ["an exception"] * 3


def test_every_visitor_is_a_newcomer_and_a_file_that_fails_fails_the_visit(site: FakeSite) -> None:
    result = run(site, Arrivals, users=5, arguments=("--arrivals=10",), until_rows={"arrival visit": 9})
    assert not result.failed
    assert site.asked["/script/v1/main.js"] >= 9
    assert not site.revalidated
    del site.pages["/media/castle.svg"]
    result = run(site, Arrivals, arguments=("--arrivals=10",), until_rows={"arrival visit": 3})
    assert result.failures["arrival visit"] == result.requests["arrival visit"] >= 3
    assert result.failures["arrival start"] == 0


def test_late_and_never_started_are_lines_of_the_verdict() -> None:
    shipped = read(SHIPPED)
    late, never = "p99 of how late arrivals start", "arrivals that never started"

    def lines(start: Row) -> dict[str, str]:
        possible, left_out = rows.of_run([Arrivals])
        run = Run(rows=[start], possible=possible, left_out=left_out)
        return {line.what: line.verdict for line in judge(run, shipped)}

    fine = lines(Row("arrival", "start", 200, 0, {20: 198, 300: 2}))
    assert (fine[late], fine[never], fine["p95 of * heard"]) == (OK, OK, NOT_IN_RUN)
    assert lines(Row("arrival", "start", 200, 0, {20: 197, 300: 3}))[late] == FAILED
    assert lines(Row("arrival", "start", 200, 1, {20: 200}))[never] == FAILED
    possible, left_out = rows.of_run([Reader])
    without = {line.what: line.verdict for line in judge(Run(possible=possible, left_out=left_out), shipped)}
    assert (without[late], without[never], without["p95 of arrival visit"]) == (NOT_IN_RUN,) * 3
