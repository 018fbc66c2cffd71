"""Workers that come and go: whose users move, and what the verdict learns."""

from types import SimpleNamespace
from typing import Any

import pytest
from locust import User
from locust.runners import STATE_MISSING, STATE_RUNNING, WorkerNode, WorkerNodes

from verdict.judge import Absence
from workers import Dispatcher, watch

USERS = 39


class Visitor(User):
    """Any class of users."""


def join(runner: Any, id: str, users: int) -> None:
    worker = runner.clients[id] = WorkerNode(id, STATE_RUNNING)
    report(worker, users)


def report(worker: WorkerNode, users: int) -> None:
    worker.user_classes_count = {"Visitor": users}


def miss(runner: Any, id: str) -> None:
    """As Locust does after three missing heartbeats."""
    worker = runner.clients[id]
    worker.state = STATE_MISSING
    worker.user_classes_count = {}
    watch.dispatcher.remove_worker(worker)  # type: ignore[union-attr]


@pytest.fixture
def runner() -> Any:
    """A master whose three workers have 13 users each."""
    runner: Any = SimpleNamespace(clients=WorkerNodes(), target_user_count=USERS)
    for name in "abc":
        join(runner, f"{name}_1", 13)
        watch.hear(f"{name}_1", 1000.0)
    list(dispatched(Dispatcher(list(runner.clients.values()), [Visitor]), USERS))
    watch.look(runner)
    return runner


def dispatched(dispatcher: Dispatcher, users: int) -> dict[str, int]:
    """How many users each worker has after the next distribution."""
    dispatcher.new_dispatch(users, spawn_rate=1000)
    *_, last = dispatcher
    return {worker: sum(classes.values()) for worker, classes in last.items()}


def told() -> list[tuple[str, int, bool]]:
    return [(absence.worker, absence.users, absence.lost) for absence in watch.absences]


def test_the_users_of_workers_that_quit_move_together(runner: Any) -> None:
    dispatcher = watch.dispatcher
    assert dispatcher
    for id in ("a_1", "b_1"):
        dispatcher.remove_worker(runner.clients[id])
        del runner.clients[id]
    watch.look(runner)
    assert watch.due
    assert told() == [("a_1", 13, False), ("b_1", 13, False)]
    assert dispatched(dispatcher, USERS) == {"c_1": USERS}
    report(runner.clients["c_1"], USERS)
    watch.look(runner)
    assert all(absence.seconds is not None and absence.seconds < 60 for absence in watch.absences)
    # The same a second time: Locust's own dispatcher would take this one for unfinished.
    join(runner, "d_1", 0)
    dispatcher.add_worker(runner.clients["d_1"])
    assert dispatched(dispatcher, USERS) == {"c_1": 20, "d_1": 19}


def test_a_lost_worker_counts_from_its_last_heartbeat(runner: Any) -> None:
    miss(runner, "b_1")
    watch.look(runner)
    (absence,) = watch.absences
    assert absence == Absence("b_1", 1000.0, users=13, all=USERS, lost=True)
    runner.target_user_count = 20  # somebody wants fewer users now
    watch.look(runner)
    (absence,) = watch.absences
    assert absence.seconds


@pytest.mark.parametrize("told_so", [True, False], ids=["by its heartbeat", "by a report only"])
def test_a_lost_worker_that_is_back_gets_users_again(runner: Any, told_so: bool) -> None:
    miss(runner, "b_1")
    watch.look(runner)
    runner.clients["b_1"].state = STATE_RUNNING
    if told_so:
        assert watch.dispatcher
        watch.dispatcher.add_worker(runner.clients["b_1"])
    watch.look(runner)
    assert told() == [("b_1", 13, False)]  # its samples came late
    assert watch.dispatcher
    assert dispatched(watch.dispatcher, USERS) == {"a_1": 13, "b_1": 13, "c_1": 13}


def test_a_reset_forgets_only_those_who_are_back(runner: Any) -> None:
    back, away = (
        Absence(id, 1000.0, 13, USERS, False, seconds) for id, seconds in (("a_1", 2.0), ("b_1", None))
    )
    watch.absences = [back, away]
    watch.forget()
    assert watch.absences == [away]


def test_a_worker_without_users_that_quits_is_not_missed(runner: Any) -> None:
    join(runner, "d_1", 0)
    watch.look(runner)
    del runner.clients["d_1"]
    watch.look(runner)
    assert watch.absences == []
