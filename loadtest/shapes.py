"""The load shapes that are timetables: how many users there are, and when.

Shares are of the number of users in the form, so a shape fits any machine.
https://docs.locust.io/en/stable/custom-load-shape.html
"""

import signal
import sys
from argparse import Namespace
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import gevent
from flask import Flask, before_render_template
from gevent import get_hub
from locust import LoadTestShape
from locust.env import Environment


@dataclass(frozen=True)
class Part:
    """For `seconds`, run `share` (0 to 1) of all users; they start or stop within `ramp` seconds."""

    seconds: float
    share: float
    ramp: float


class Shape(LoadTestShape):
    """The values that every shape reads from the form."""

    abstract = True
    use_common_options = True
    users: ClassVar[int] = 1  # the numbers the form offers; used if a run asks for 0
    rate: ClassVar[float] = 1.0

    @property
    def environment(self) -> Environment:
        assert self.runner
        return self.runner.environment

    @property
    def options(self) -> Namespace:
        """The form, or the command line."""
        given: Namespace | None = self.environment.parsed_options
        assert given
        return given

    @property
    def most(self) -> int:
        """The number of users in the form."""
        return self.options.num_users or self.users


class Timetable(Shape):
    """Runs its parts one after another, then ends the run. The run time of the form may end it earlier."""

    abstract = True
    parts: ClassVar[tuple[Part, ...]]

    def tick(self) -> tuple[int, float] | None:
        """The number of users now, and how many of them to start or stop per second; None ends the run."""
        elapsed: float = self.get_run_time()  # type: ignore[no-untyped-call]
        if self.options.run_time and elapsed >= self.options.run_time:
            return None
        before = 0
        for part in self.parts:
            users = round(self.most * part.share)
            if elapsed < part.seconds:
                return users, max(1.0, abs(users - before) / part.ramp)
            elapsed -= part.seconds
            before = users
        return None


class CurtainUp(Timetable):
    """All users arrive within five seconds, as at 11:11:11."""

    parts = (Part(60, 1, ramp=5),)


class Slashdot(Timetable):
    """A quiet evening, until a popular site links to the stage."""

    parts = (Part(30, 0.1, ramp=10), Part(60, 1, ramp=10), Part(60, 0.5, ramp=30), Part(30, 0.1, ramp=15))


class Interval(Timetable):
    """All users leave and return."""

    parts = (Part(60, 1, ramp=30), Part(30, 0, ramp=10), Part(60, 1, ramp=10))


class LongRun(Timetable):
    """All users arrive within a minute and stay until the run is stopped or its time is up."""

    parts = (Part(inf, 1, ramp=60),)


class Step(Timetable):
    """A tenth more users every half minute: shows where response times begin to rise."""

    parts = tuple(Part(30, tenths / 10, ramp=5) for tenths in range(1, 11))


def register(environment: Environment) -> None:
    """Choose the shape of this run, and let the web UI choose another one."""
    # Locust takes the start of a run from its event loop's clock, which was last updated before the imports.
    get_hub().loop.update_now()
    _choose(environment)
    options, runner = environment.parsed_options, environment.runner
    if options and options.headless and runner and environment.shape_class:
        # Locust itself listens to this signal only after the shape has ended.
        gevent.signal_handler(signal.SIGTERM, runner.quit)
    if environment.web_ui:
        _keep_user_count_editable(environment)


def _choose(environment: Environment) -> None:
    """Use no shape unless `--shape` names one; Locust would use the first that it finds."""
    options, available = environment.parsed_options, environment.available_shape_classes
    assert options
    Shape.users = options.num_users or Shape.users
    Shape.rate = options.spawn_rate or Shape.rate
    if options.shape and options.shape not in (available or {}):
        sys.exit(f"There is no shape {options.shape!r}; the shapes are {', '.join(sorted(available or {}))}.")
    environment.shape_class = (available or {}).get(options.shape)
    if environment.shape_class:
        environment.shape_class.runner = environment.runner


def _keep_user_count_editable(environment: Environment) -> None:
    """Tell the page that every shape reads the number of users, as all of ours do.

    Locust's page checks only the shape of the last run. Without one it disables the field and sends 0.
    """
    assert environment.web_ui
    app = environment.web_ui.app

    @before_render_template.connect_via(app)
    def enable(_: Flask, context: dict[str, Any], **__: object) -> None:
        context.get("template_args", {})["shape_use_common_options"] = True
