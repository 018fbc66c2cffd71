"""The measurements of the current run, or of the last one if none is under way; they are on the master.

A measurement begins when the users have arrived and warmed up: everything counted before is left out.
"""

import time
from typing import Any

from locust.env import Environment

from caches.backend import backend_poll
from comparison.gather import gather
from comparison.measurement import Measurement
from verdict import generator, this_run

SHORTEST = 0.5  # seconds; a shorter measurement gives no rates


class Recorder:
    """`outcome`: the conclusion from all measurements. `answered`: whether the run reached its aim."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.measurements: list[Measurement] = []
        self.outcome = ""
        self.answered = False
        self._open: tuple[str, int] | None = None  # topology and users of the measurement under way
        self._warm_up = 0
        self._began = 0.0

    def begin(self, environment: Environment, topology: str, users: int) -> None:
        """Start a measurement: the counts until now were its warm-up."""
        self._warm_up = self.forget(environment)
        self._open = topology, users

    def forget(self, environment: Environment) -> int:
        """Count from 0 in all processes; return the number of samples until now."""
        runner = environment.runner
        assert runner
        gather(runner)
        now, samples = time.monotonic(), int(runner.stats.num_requests)
        runner.stats.clear_all()
        runner.exceptions = {}
        generator.forget_warnings(runner)
        environment.events.reset_stats.fire()
        self._began = now  # the listeners may have taken some time
        return samples

    def restart(self) -> None:
        """Measure from now on: the statistics were reset on the page."""
        self._began = time.monotonic()

    @property
    def lasted(self) -> float:
        """Seconds since the measurement under way began."""
        return time.monotonic() - self._began

    def finish(self, environment: Environment, least: float = 0.0, **_: Any) -> bool:
        """End the measurement under way, if there is one; the end of a run does so, too.

        Return False if it continues, because it has not lasted `least` seconds: the last report takes a
        moment, in which the page may reset the statistics.
        """
        if self._open:
            assert environment.runner
            backend_poll.look()
            gather(environment.runner)
            if self.lasted < least:
                return False
            if measurement := self.so_far(environment):
                self.measurements.append(measurement)
            self._open = None
        return True

    def so_far(self, environment: Environment) -> Measurement | None:
        """Return the measurement under way, unless it has just begun."""
        seconds = self.lasted
        if not self._open or seconds < SHORTEST:
            return None
        assert environment.runner
        topology, users = self._open
        return Measurement(
            topology=topology,
            users=users,
            began=time.time() - seconds,
            seconds=seconds,
            warm_up=self._warm_up,
            run=this_run.measured(environment.runner),
            lines=this_run.verdict(environment),
            asked=dict(backend_poll.asked),
            backend=backend_poll.summary(),
            arrivals=environment.parsed_options.arrivals,  # type: ignore[union-attr]
        )


recorder = Recorder()
