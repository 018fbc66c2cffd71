"""The base class of shapes that measure several times in one run."""

import logging
import time
from collections.abc import Iterator
from typing import Any

import gevent
from locust.env import Environment

import options
from comparison.measurement import Measurement
from comparison.recorder import recorder
from shapes import Shape
from users import taking_part

LATE = 10.0  # seconds; longer than this, the shape does not wait for users to come or go

Tick = tuple[int, float]

log = logging.getLogger(__name__)


class Series(Shape):
    """Runs a script: a generator that yields numbers of users, and measures in between."""

    abstract = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.form: dict[str, Any] = {}  # options that a run changes, with their values before it

    def script(self) -> Iterator[Tick]:
        """Yield the numbers of users; the end of the script ends the run."""
        raise NotImplementedError

    def tick(self) -> Tick | None:
        """Return the next number of users. Locust calls this again immediately, or a second later."""
        assert self.runner
        if self.runner.shape_last_tick is None:
            self.form = {name: getattr(self.options, name) for name in ("topology", "misses", "arrivals")}
            # In these shapes a miss is a result, not a failure; workers get the options with their users.
            self.options.misses = options.COUNT
            self._script = self.script()
        return next(self._script, None)

    def measure(self, topology: str, users: int, warm_up: float = 0.0) -> Iterator[Tick]:
        """Let that many users arrive, warm up for at least `warm_up` seconds, and measure."""
        assert self.runner
        self.options.topology = topology
        rate = max(1.0, self.options.spawn_rate or self.rate)
        yield users, rate
        self._wait(users, within=users / rate + LATE)
        gevent.sleep(max(warm_up, self.options.warm_up))
        recorder.begin(self.environment, topology, users)
        seconds = self.options.seconds
        # A reset on the page restarts the measurement, even one that comes during the last report.
        while (left := seconds - recorder.lasted) > 0 or not recorder.finish(self.environment, least=seconds):
            gevent.sleep(left)

    def leave(self) -> Iterator[Tick]:
        """Let all users leave, and forget their samples, which must not count for the next topology."""
        yield 0, 100.0
        self._wait(0, within=LATE)
        recorder.forget(self.environment)
        assert self.runner
        self.runner._users_dispatcher = None  # the next users may be of other classes

    @property
    def latest(self) -> Measurement:
        """The measurement that has just ended."""
        return recorder.measurements[-1]

    def restore(self) -> None:
        """Reset the options to their values before the run."""
        vars(self.options).update(self.form)

    def _wait(self, users: int, within: float) -> None:
        assert self.runner
        end = time.monotonic() + within
        expected = taking_part.in_all(self.environment, users)
        while self.runner.user_count != expected and time.monotonic() < end:
            gevent.sleep(0.05)
        if self.runner.user_count != expected:
            log.warning("There are %d users instead of %d.", self.runner.user_count, expected)


def register(environment: Environment) -> None:
    """Give the next run the options as they were."""

    def restore(**_: Any) -> None:
        if isinstance(environment.shape_class, Series):
            environment.shape_class.restore()

    environment.events.test_stop.add_listener(restore)
