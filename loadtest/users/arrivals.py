"""Arrivals: visits that begin on a schedule, however long earlier ones take; an open model.

A user of the other classes waits for each response before the next request: a closed model (Schroeder,
Wierman, Harchol-Balter, "Open Versus Closed: A Cautionary Tale", NSDI 2006). A site that stalls then gets
fewer requests, and the requests that would have met the stall are never measured: coordinated omission (Gil
Tene, "How NOT to Measure Latency").
"""

import time
from argparse import Namespace
from collections import deque
from collections.abc import Callable

from gevent.pool import Pool

from users.browser import PATIENCE, Browser
from users.open_model import OpenModel
from users.samples import Samples

VISITORS = 200  # of one process; each has up to six connections

DIFFERENCE = (
    "Users wait for each answer before they ask again, so a stack that stalls is asked less, and few of "
    "their samples are slow. Arrivals come at their instants, as unrelated people do, whatever became of "
    "earlier visits. Their time counts from that instant, so every visit that a stall delays is a slow "
    "sample."
)


class Newcomer(Browser):
    """Loads the stage page and the files that it names, with an empty browser cache and new connections."""

    abstract = True  # Locust starts none of them: they belong to the class Arrivals

    def visit(self) -> bool:
        """Return whether the page and all files have come, without a fault."""
        self.become_newcomer()
        self.faults = 0
        return self.load_stage() and not self.faults

    def fetch(self, url: str, examine: Callable[[str], str | None] | None = None) -> bool:
        """Fetch as any browser does; a failed sample makes the visit fail."""
        came = super().fetch(url, examine)
        self.faults += not came
        return came


class Schedule(OpenModel):
    """Opens its share of `--arrivals` when each is due, with at most VISITORS newcomers at a time.

    Samples, in milliseconds from when a visit is due: `arrival start` until it starts, and `arrival visit`
    until its page and files have come. A visit that finds no free newcomer waits; after PATIENCE, or at the
    end of the run, it is a failed `arrival start`. A visit that is under way at the end of the run does not
    count, unless it was due more than PATIENCE ago: then it is a failed `arrival visit`.
    """

    abstract = True
    newcomer: type[Newcomer] = Newcomer

    @classmethod
    def lack(cls, given: Namespace) -> str | None:
        """Return the reason why a run has no visits, or None."""
        return None if given.arrivals else "there are no --arrivals"

    def on_start(self) -> None:
        given = self.environment.parsed_options
        assert given
        self.begin(given.arrivals, given.arrival_times)
        self.waiting: deque[float] = deque()  # when the visits that have not started were due
        self.under_way: dict[Newcomer, float] = {}  # when the visits under way were due
        self.idle: list[Newcomer] = []
        self.pool = Pool(VISITORS)
        self.samples = Samples(self.environment, "arrival")

    def open_visits(self) -> None:
        """Start the visits that are due, in order, as long as newcomers are free."""
        now = time.monotonic()
        self.waiting.extend(self.due_until(now))
        while self.waiting and now - self.waiting[0] > PATIENCE:
            self.give_up()
        for _ in range(min(len(self.waiting), self.pool.free_count())):
            self.pool.spawn(self.receive)

    def receive(self) -> None:
        """Act as one newcomer after another, until no visit is waiting."""
        visitor = self.idle.pop() if self.idle else self.create()
        while self.waiting:
            due = self.under_way[visitor] = self.waiting.popleft()
            self.samples.record("start", since(due))
            try:
                fault = None if visitor.visit() else "the page or a file failed"
            except Exception as error:  # Locust reports only tasks' exceptions, and this is no task
                self.environment.events.user_error.fire(
                    user_instance=self, exception=error, tb=error.__traceback__
                )
                fault = "an exception"
            del self.under_way[visitor]
            self.samples.record("visit", since(due), fault)
        self.idle.append(visitor)

    def create(self) -> Newcomer:
        self.newcomer.host = self.host  # Locust sets it only for the classes of the run
        visitor = self.newcomer(self.environment)
        visitor.on_start()
        return visitor

    def give_up(self) -> None:
        """Count the oldest waiting visit as never started."""
        self.samples.record("start", since(self.waiting.popleft()), "never started: no newcomer was free")

    def on_stop(self) -> None:
        """Count the visits that the end of the run cuts off, as the class's docstring says."""
        overdue = [due for due in self.under_way.values() if since(due) > 1000 * PATIENCE]
        full = not self.pool.free_count()  # otherwise the waiting visits were due just now
        self.pool.kill()
        for due in overdue:
            self.samples.record("visit", since(due), f"not over after {PATIENCE:g} s, at the end of the run")
        while full and self.waiting:
            self.give_up()
        for visitor in (*self.idle, *self.under_way):
            visitor.on_stop()


def since(due: float) -> float:
    """Return the milliseconds from an instant (time.monotonic) to now."""
    return (time.monotonic() - due) * 1000
