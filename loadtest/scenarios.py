"""How many come and when: the load shapes of the web UI, and of `--scenario` without it.

Each is a timetable. Shares are of the number of users in the form, so the same play fits any house.
"""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from flask import Flask, before_render_template
from gevent import get_hub
from locust import LoadTestShape, events
from locust.env import Environment


@dataclass(frozen=True)
class Part:
    """For `seconds`, `share` of all users are wanted (0 to 1); they come or go within `ramp` seconds."""

    seconds: float
    share: float
    ramp: float


class Scenario(LoadTestShape):
    """Plays its parts one after the other, then ends the run; so does the form's run time."""

    abstract = True
    use_common_options = True
    users: ClassVar[int] = 1  # what the form offers, for a run that asks for none
    parts: ClassVar[tuple[Part, ...]]

    def tick(self) -> tuple[int, float] | None:
        """How many users now, and how many of them to start or stop each second."""
        assert self.runner
        options = self.runner.environment.parsed_options
        assert options
        elapsed: float = self.get_run_time()  # type: ignore[no-untyped-call]
        if options.run_time and elapsed >= options.run_time:
            return None
        before = 0
        for part in self.parts:
            users = round((options.num_users or self.users) * part.share)
            if elapsed < part.seconds:
                return users, max(1.0, abs(users - before) / part.ramp)
            elapsed -= part.seconds
            before = users
        return None


class CurtainUp(Scenario):
    """Everybody arrives within five seconds, as at 11:11:11."""

    parts = (Part(60, 1, ramp=5),)


class Slashdot(Scenario):
    """A quiet evening, until a link to it is read by everybody at once."""

    parts = (Part(30, 0.1, ramp=10), Part(60, 1, ramp=10), Part(60, 0.5, ramp=30), Part(30, 0.1, ramp=15))


class Interval(Scenario):
    """All leave, and all return."""

    parts = (Part(60, 1, ramp=30), Part(30, 0, ramp=10), Part(60, 1, ramp=10))


class LongRun(Scenario):
    """Everybody arrives within a minute and stays until somebody stops the run, or its time is up."""

    parts = (Part(inf, 1, ramp=60),)


class Step(Scenario):
    """A tenth more every half minute: where does it begin to hurt?"""

    parts = tuple(Part(30, tenths / 10, ramp=5) for tenths in range(1, 11))


def choose(environment: Environment, **_: object) -> None:
    """The plain form unless a scenario is asked for: Locust would take the first one it finds."""
    assert environment.parsed_options
    assert environment.available_shape_classes
    Scenario.users = environment.parsed_options.num_users or Scenario.users
    environment.shape_class = environment.available_shape_classes.get(environment.parsed_options.scenario)
    if environment.shape_class:
        environment.shape_class.runner = environment.runner


def leave_open(environment: Environment, **_: object) -> None:
    """In the web UI the number of users can be chosen with every scenario.

    Locust's page greys it out, and sends 0, unless the scenario that was played last reads it. All ours do.
    """
    if not environment.web_ui:
        return

    @before_render_template.connect_via(environment.web_ui.app)
    def say_so(_: Flask, context: dict[str, Any], **__: object) -> None:
        context.get("template_args", {})["shape_use_common_options"] = True


def look_at_the_clock(**_: object) -> None:
    """Locust counts the run time from when its event loop last did: before the imports, seconds ago."""
    get_hub().loop.update_now()


events.init.add_listener(choose)  # type: ignore[no-untyped-call]
events.init.add_listener(leave_open)  # type: ignore[no-untyped-call]
events.init.add_listener(look_at_the_clock)  # type: ignore[no-untyped-call]
