"""Lets each of your own classes keep its `host`: Locust would give all of them the one in LOCUST_HOST, this
stack.
"""

from typing import Any

from locust import User
from locust.env import Environment

OWN = "asked"  # the attribute that keeps a class's own host: Locust overwrites `host`
OURS = ("locustfile", "users.", "locust.")  # the modules of the shipped classes, which have no host


def register(environment: Environment) -> None:
    """Make each class that has a `host` of its own send its requests to that host."""
    for user in classes(environment):
        if (host := own(user)) and OWN not in vars(user):
            setattr(user, OWN, host)
            user.__init__ = asking(host, user.__init__)  # type: ignore[method-assign]


def own(user: type[User]) -> str | None:
    """Return the `host` that a file of the user gives this class or one of its base classes."""
    theirs = (each for each in user.__mro__ if not each.__module__.startswith(OURS))
    return next((vars(each)["host"] for each in theirs if vars(each).get("host")), None)


def asking(host: str, begin: Any) -> Any:
    """Return an `__init__` for users whose requests go to this host."""

    def begin_there(user: User, *given: Any) -> None:
        user.host = host
        begin(user, *given)

    return begin_there


def classes(environment: Environment) -> list[type[User]]:
    """Return all classes that can be chosen."""
    offered: dict[str, Any] = environment.available_user_classes or {}
    return list(dict.fromkeys([*environment.user_classes, *offered.values()]))


def asked(environment: Environment, picked: list[type[User]]) -> dict[str, str]:
    """Return the host to which each class sends its requests, by the class's name."""
    return {user.__name__: getattr(user, OWN, environment.host or "") for user in picked}


def in_words(environment: Environment, picked: list[type[User]]) -> str:
    """Return the hosts of a run as text: `http://nginx:8000, Shopper http://shop.example`."""
    hosts = asked(environment, picked)
    shared = [host for host in [environment.host or ""] if not hosts or host in hosts.values()]
    own = [f"{name} {host}" for name, host in sorted(hosts.items()) if host != environment.host]
    return ", ".join([*shared, *own])
