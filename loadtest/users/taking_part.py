"""Chooses the classes of users that can take part in a run: some need an account, or a list of paths.

Such a class has a class method `lack(options)`, which returns what is missing, or None. With `--arrivals`,
only the class Arrivals takes part, and the crawlers, which run beside any visitors.
"""

import logging
import sys
from argparse import Namespace
from collections.abc import Iterable

from locust import User
from locust.dispatch import UsersDispatcher
from locust.env import Environment
from locust.runners import WorkerNode, WorkerRunner

from users.arrivals import Schedule
from users.crawler import Crawl
from users.open_model import OnePerProcess, OpenModel

log = logging.getLogger(__name__)


def lack(user: type[User], options: Namespace) -> str | None:
    """Return the reason why this class cannot take part, or None."""
    if options.arrivals and not issubclass(user, Schedule | Crawl):
        return "with --arrivals only Arrivals take part"
    asked = getattr(user, "lack", None)
    return asked(options) if asked else None


def refusal(users: Iterable[type[User]], options: Namespace) -> str | None:
    """Return why a run of these classes would have no user, or None."""
    lacks = {user.__name__: lack(user, options) for user in users}
    if not all(lacks.values()):
        return None
    return "No user can take part in this run. " + " ".join(f"{name}: {why}." for name, why in lacks.items())


def in_all(environment: Environment, users: int) -> int:
    """Return how many users there will be if Locust starts `users` in a run: OnePerProcess adds some."""
    options = environment.parsed_options
    assert options
    picked = [user for user in environment.user_classes if not lack(user, options)]
    each = sum(issubclass(user, OpenModel) for user in picked)
    return (users if each < len(picked) else 0) + (options.processes_of_run * each if users else 0)


def register(environment: Environment) -> None:
    """Leave classes that lack something out of a run; users of the other classes replace theirs.

    The process that leads the run creates the dispatcher at the start, after it has read the form.
    """

    def dispatcher(worker_nodes: list[WorkerNode], user_classes: list[type[User]]) -> UsersDispatcher:
        assert environment.parsed_options
        lacks = {user: lack(user, environment.parsed_options) for user in user_classes}
        for user, reason in lacks.items():
            if reason:
                log.info("No %s in this run: %s.", user.__name__, reason)
        complete = [user for user in user_classes if not lacks[user]]
        # Workers get this number with the options.
        environment.parsed_options.processes_of_run = len(worker_nodes)
        return OnePerProcess(worker_nodes, complete, user_classes)

    # If the page starts the run, its form shows the reason; and a worker has no options yet.
    options = environment.parsed_options
    assert options
    leads = not isinstance(environment.runner, WorkerRunner)
    starts = leads and (options.autostart or not environment.web_ui)
    if starts and (why := refusal(environment.user_classes, options)):
        sys.exit(why)
    environment.dispatcher_class = dispatcher  # type: ignore[assignment]
