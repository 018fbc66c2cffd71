"""The open model: work begins when it is due, however long earlier work takes (see
loadtest/users/arrivals.py).

Each process has one user of such a class, which does its share of the work that the form asks for.
"""

import random
import time
from collections.abc import Iterator

from locust import User
from locust.dispatch import UsersDispatcher
from locust.runners import WorkerNode

import options

LONGEST_WAIT = 1.0  # seconds until the schedule is checked again, also for work that has waited too long


def instants(rate: float, times: str, chance: random.Random) -> Iterator[float]:
    """Yield the seconds from the start of a run to each piece of work, `rate` (above 0) a second on average.

    `constant`: equal gaps; the first one is randomly shorter, so that several processes are not in step.
    `poisson`: random gaps with the exponential distribution, as between independent visitors.
    """
    poisson = times == options.POISSON
    due = 0.0 if poisson else (chance.random() - 1) / rate
    while True:
        due += chance.expovariate(rate) if poisson else 1 / rate
        yield due


class OpenModel(User):
    """A user who does not wait for responses: one in each process, beside the users of other classes."""

    abstract = True
    schedule: Iterator[float]  # when later pieces of work are due, by the clock time.monotonic
    due: float  # when the next piece is due

    def begin(self, rate: float, times: str) -> None:
        """Schedule the work of this process: its share of `rate` a second from now on."""
        given = self.environment.parsed_options
        assert given
        began = time.monotonic()
        share = rate / given.processes_of_run
        self.schedule = (began + due for due in instants(share, times, random.Random()))
        self.due = next(self.schedule)

    def wait_time(self) -> float:
        """Return the seconds until the next piece of work is due."""
        return max(0.0, min(self.due - time.monotonic(), LONGEST_WAIT))

    def due_until(self, now: float) -> Iterator[float]:
        """Yield the times at which work was due until `now`, each of them once."""
        while self.due <= now:
            due, self.due = self.due, next(self.schedule)
            yield due


class OnePerProcess(UsersDispatcher):
    """Locust's dispatcher of users, which also gives each process one user of each OpenModel class.

    These users start together with the first of the other users, and stop with the last. Only processes that
    exist at the start of a run have them, because those share the work. The numbers in the form count the
    other users only.
    """

    def __init__(
        self, worker_nodes: list[WorkerNode], user_classes: list[type[User]], known: list[type[User]]
    ) -> None:
        """`user_classes`: the classes that will have users, perhaps none. `known`: all classes of the run."""
        self.open = [user.__name__ for user in user_classes if issubclass(user, OpenModel)]
        self.waiting = [user for user in user_classes if not issubclass(user, OpenModel)]
        self.there: dict[str, int] = {}  # class -> users in each process
        self.processes = {node.id for node in worker_nodes}
        super().__init__(worker_nodes, self.waiting or user_classes or known)

    def new_dispatch(
        self, target_user_count: int, spawn_rate: float, user_classes: list[type[User]] | None = None
    ) -> None:
        """Begin to start or stop users."""
        self.there = dict.fromkeys(self.open, int(target_user_count > 0))
        chosen = user_classes and [user for user in user_classes if user in self.waiting]
        super().new_dispatch(target_user_count if self.waiting else 0, spawn_rate, chosen)

    def __next__(self) -> dict[str, dict[str, int]]:
        """Return process -> class -> number of users."""
        return {
            node: users | (self.there if node in self.processes else {})
            for node, users in super().__next__().items()
        }
