"""Workers that come and go during a run: the others get their users, and the verdict says how fast.

Locust's own redistribution loses users (2.47), with and without `--enable-rebalancing`. It starts one for
each worker that comes or goes. That takes a second, in the loop that receives the workers' heartbeats: if six
join at once, all are "missing" then. After the first one, a worker that quits takes its users along. One that
was "missing" and is back may be left out. And a minute after a loss all users start again from none.

So Locust's dispatcher still works out who goes where, but `Watch` starts it, once for all that has happened
within a second.
"""

import math
import time
from dataclasses import replace
from typing import Any

import gevent
from locust import User, runners
from locust.dispatch import UsersDispatcher
from locust.env import Environment
from locust.runners import STATE_MISSING, STATE_RUNNING, MasterRunner, WorkerNode, WorkerRunner

from verdict.judge import Absence

INTERVAL = 1.0  # seconds

# Locust would start all users again then. A worker that was lost stays in its list until the next run.
runners.HEARTBEAT_DEAD_INTERNAL = -math.inf  # type: ignore[assignment]


class Dispatcher(UsersDispatcher):
    """Locust's, which leaves it to `watch` when users move. `workers`: the IDs of those that it knows."""

    def __init__(self, worker_nodes: list[WorkerNode], user_classes: list[type[User]]) -> None:
        super().__init__(worker_nodes, user_classes)
        self.workers = {worker.id for worker in worker_nodes}
        watch.dispatcher = self

    @property
    def dispatch_in_progress(self) -> bool:
        """So that Locust itself starts no redistribution."""
        return True

    def add_worker(self, worker_node: WorkerNode) -> None:
        """A worker has come."""
        super().add_worker(worker_node)
        self.workers.add(worker_node.id)
        watch.due = True

    def remove_worker(self, worker_node: WorkerNode) -> None:
        """A worker has gone."""
        super().remove_worker(worker_node)
        self.workers.discard(worker_node.id)
        watch.due = True


class Watch:
    """`absences`: of the users whose worker has gone during this run. `due`: users have to move."""

    def __init__(self) -> None:
        self.dispatcher: Dispatcher | None = None
        self._greenlet: gevent.Greenlet[..., None] | None = None
        self.clear()

    def clear(self) -> None:
        """Forget the last run."""
        self.due = False
        self.absences: list[Absence] = []
        self._users: dict[str, int] = {}  # of each worker, when it was last looked at
        self._heard: dict[str, float] = {}  # when its last heartbeat came

    def forget(self, **_: Any) -> None:
        """Measure from now on. Who is away still is."""
        self.absences = [absence for absence in self.absences if absence.seconds is None]

    def hear(self, client_id: str, timestamp: float, **_: Any) -> None:
        """A heartbeat has come."""
        self._heard[client_id] = timestamp

    def start(self, environment: Environment, **_: Any) -> None:
        """Watch a run; the workers that were lost before are no part of it."""
        runner = environment.runner
        self._kill()
        self.clear()
        if isinstance(runner, MasterRunner):
            for worker in runner.clients.missing:
                del runner.clients[worker.id]
            self._greenlet = gevent.spawn(self._observe, runner)

    def stop(self, environment: Environment, **_: Any) -> None:
        """The run ends, perhaps because its last worker has gone."""
        if self._kill():
            assert isinstance(environment.runner, MasterRunner)
            self.look(environment.runner)

    def look(self, runner: MasterRunner) -> None:
        """Note which users are away, and which are back."""
        well = {worker.id: worker for worker in runner.clients.all if worker.state != STATE_MISSING}
        here = {id: worker.user_count for id, worker in well.items()}
        before, now = sum(self._users.values()), sum(here.values())
        for id, users in self._users.items():
            lost = id in runner.clients  # one that quits is removed
            if id not in here and (users or lost):
                since = self._heard.get(id, 0) if lost else time.time()
                self.absences.append(Absence(id, since, users, before, lost))
        self._users = here
        for number, absence in enumerate(self.absences):
            if absence.worker in here:  # and so are its samples
                absence = self.absences[number] = replace(absence, lost=False)
            if absence.seconds is None and now >= min(absence.all, runner.target_user_count):
                self.absences[number] = replace(absence, seconds=time.time() - absence.since)
        for id in well.keys() - (self.dispatcher.workers if self.dispatcher else well.keys()):
            assert self.dispatcher
            self.dispatcher.add_worker(well[id])

    def _kill(self) -> bool:
        greenlet, self._greenlet = self._greenlet, None
        if greenlet:
            greenlet.kill(block=False)
        return greenlet is not None

    def _observe(self, runner: MasterRunner) -> None:
        while True:
            gevent.sleep(INTERVAL)
            self.look(runner)
            if self.due and runner.state == STATE_RUNNING and runner.spawning_completed:
                self.due = False
                runner.start(runner.target_user_count, runner.spawn_rate)


watch = Watch()


def register(environment: Environment) -> None:
    """Watch each run on the master. A worker that quits sends what it has counted since its last report."""
    environment.events.test_start.add_listener(watch.start)
    environment.events.test_stopping.add_listener(watch.stop)
    environment.events.reset_stats.add_listener(watch.forget)
    environment.events.heartbeat_sent.add_listener(watch.hear)  # the master replies to each
    if isinstance(environment.runner, WorkerRunner):
        environment.events.quitting.add_listener(report)


def report(environment: Environment, **_: Any) -> None:
    """On a worker: the last report, before Locust's own message that it quits."""
    runner = environment.runner
    assert isinstance(runner, WorkerRunner)
    data: dict[str, Any] = {}
    environment.events.report_to_master.fire(client_id=runner.client_id, data=data)
    runner.send_message("stats", data)
