"""Locust as a library: a run, or a web UI, in the process of the test."""

import json
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import gevent
from flask.testing import FlaskClient
from locust import User, constant
from locust.argument_parser import get_parser
from locust.env import Environment
from locust.event import Events
from locust.runners import LocalRunner
from locust.stats import PERCENTILES_TO_REPORT, StatsCSV, StatsEntry
from werkzeug.test import TestResponse

import locustfile
from loadtest.tests.fake_site import FakeSite

LOADTEST = Path(__file__).parents[1]
U = TypeVar("U", bound=User)
CLASSES = {
    value.__name__: value
    for value in vars(locustfile).values()
    if isinstance(value, type) and issubclass(value, User) and not value.abstract
}


def parse(*arguments: str) -> Namespace:
    """Return the options of a Locust that is started with these arguments."""
    options: Namespace = get_parser().parse_args(list(arguments))
    return options


def create(site: FakeSite, *classes: type[User], arguments: tuple[str, ...] = ()) -> Environment:
    """Return an environment like Locust's own, with a runner and our listeners; its target is the site."""
    target = (
        f"--host={site.url}",
        "--stage=demo",
        f"--stage-port={site.stage.socket.port}",
        f"--policy-port={site.stage.policy_socket.port}",
        f"--proxy-port={site.port}",
    )
    options = parse(*target, *arguments)
    environment = Environment(
        user_classes=list(classes or CLASSES.values()),
        host=options.host,
        parsed_options=options,
        events=Events(),
        available_user_classes=dict(CLASSES),  # type: ignore[arg-type]
        available_shape_classes={shape.__name__: shape() for shape in locustfile.SHAPES},
        available_user_tasks={name: value.tasks for name, value in CLASSES.items()},
    )
    environment.create_local_runner()
    return environment


def alone(site: FakeSite, user: type[U], *arguments: str, **changes: Any) -> U:
    """Return a user of this class, with these changes to the class; the test runs it, not a runner."""
    environment = create(site, user, arguments=arguments)
    environment.parsed_options.processes_of_run = 1  # type: ignore[union-attr]
    made: U = type(user.__name__, (user,), {"host": site.url, **changes})(environment)
    made.on_start()
    return made


def samples(user: User, kind: str) -> list[tuple[str, int, str | None]]:
    """Return a list that gets the samples of this type from now on: name, milliseconds, fault."""
    taken: list[tuple[str, int, str | None]] = []

    def take(request_type: str, name: str, response_time: float, exception: Any, **_: Any) -> None:
        if request_type == kind:
            taken.append((name, round(response_time), exception and str(exception)))

    user.environment.events.request.add_listener(take)
    return taken


class WebUI:
    """The web UI of a Locust for the site, without a listener: requests are function calls."""

    def __init__(self, site: FakeSite, *arguments: str) -> None:
        self.environment = create(site, arguments=arguments)
        self.runner: Any = self.environment.runner
        self.options: Any = self.environment.parsed_options
        ui = self.environment.create_web_ui(
            delayed_start=True,
            web_base_path=self.environment.parsed_options.web_base_path,  # type: ignore[union-attr]
            userclass_picker_is_active=True,
            stats_csv_writer=StatsCSV(self.environment, PERCENTILES_TO_REPORT),
        )
        locustfile.set_up(self.environment)
        assert ui.app
        self.client: FlaskClient = ui.app.test_client()

    def get(self, path: str, **headers: str) -> TestResponse:
        return self.client.get(path, headers=fields(headers))

    def post(self, path: str, form: Mapping[str, Any] | None = None, **headers: str) -> TestResponse:
        return self.client.post(path, data=form or {}, headers=fields(headers))

    def start(self, **form: Any) -> dict[str, Any]:
        """Press Start: four readers, unless the form says otherwise; return Locust's reply."""
        reply = self.post("/swarm", {"user_count": "4", "spawn_rate": "4", "user_classes": "Reader", **form})
        return dict(reply.get_json())

    def stop(self) -> None:
        self.post("/stop")

    def is_over(self) -> bool:
        return self.runner.state == "stopped" and not self.runner.shape_greenlet

    def stats(self) -> dict[str, Any]:
        return dict(self.get("/stats/requests").get_json())

    def table(self, key: str) -> list[dict[str, Any]]:
        (data,) = (table["data"] for table in self.stats()["extended_stats"] if table["key"] == key)
        return list(data)

    def caches(self) -> dict[str, dict[str, Any]]:
        """Return the tab Caches: each row by its name."""
        return {row["name"].replace("\u00a0", " "): row for row in self.table("caches")}

    def verdict(self) -> dict[str, tuple[str, str, str]]:
        """Return the tab Verdict: for each line the verdict, the allowed value and the reason."""
        return {row["what"]: (row["verdict"], row["allowed"], row["why"]) for row in self.table("verdict")}

    def arguments(self) -> dict[str, Any]:
        return template_arguments(self.get("/").get_data(as_text=True))


def fields(headers: Mapping[str, str]) -> dict[str, str]:
    """Return header fields: `sec_fetch_site="x"` becomes `sec-fetch-site: x`."""
    return {name.replace("_", "-"): value for name, value in headers.items()}


def template_arguments(page: str) -> dict[str, Any]:
    return dict(json.loads(page.partition("window.templateArgs = ")[2].partition("\n")[0].rstrip("; ")))


def until(check: Callable[[], object], within: float = 30) -> None:
    """Let the users run until the check holds; `wait_until` would stop them with its sleep."""
    deadline = time.monotonic() + within
    while not check():
        assert time.monotonic() < deadline, f"still false after {within} s"
        gevent.sleep(0.02)


def eager(user: type[User]) -> type[User]:
    """Return the class with short visits, and almost no pauses between them."""
    changes = {"wait_time": constant(0.05), "patience": lambda self: 0.0}
    return type(user.__name__, (user,), changes)


@dataclass
class Result:
    """The result of a run, by rows of Locust's table; the name of a row not of HTTP begins with its type."""

    environment: Environment
    requests: dict[str, int]
    failures: dict[str, int]
    reasons: list[str]  # one for each kind of failure

    @property
    def failed(self) -> set[str]:
        """The rows with failures."""
        return {row for row, count in self.failures.items() if count}


def reasons(environment: Environment) -> list[str]:
    """Return the failures in Locust's table, one for each kind."""
    errors = environment.stats.errors.values()
    return [f"{error.method} {error.name}: {error.error}" for error in errors]


def run(
    site: FakeSite,
    *classes: type[User],
    until_rows: dict[str, int],
    users: int = 5,
    arguments: tuple[str, ...] = (),
) -> Result:
    """Run users until each of those rows has that many samples.

    A run in which a task raised an exception fails the test.
    """
    environment = create(site, *classes, arguments=(f"--users={users}", *arguments))
    runner = environment.runner
    assert isinstance(runner, LocalRunner)
    locustfile.set_up(environment)

    def rows() -> dict[str, StatsEntry]:
        found = runner.stats.entries.items()
        return {
            (name if kind in ("GET", "POST") else f"{kind} {name}"): entry for (name, kind), entry in found
        }

    def enough() -> bool:
        taken = {row: entry.num_requests for row, entry in rows().items()}
        return all(taken.get(row, 0) >= least for row, least in until_rows.items())

    try:
        runner.start(users, spawn_rate=users)
        until(enough)
    finally:
        runner.quit()
    assert not runner.exceptions, runner.exceptions
    return Result(
        environment,
        {row: entry.num_requests for row, entry in rows().items()},
        {row: entry.num_failures for row, entry in rows().items()},
        reasons(environment),
    )
