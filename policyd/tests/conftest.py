"""Policy servers that stop after the test."""

import sys
from collections.abc import Callable, Iterator

import pytest

# pytest's importlib mode takes the folder policyd for the package of that name: forget it.
sys.modules.pop("policyd", None)

from running_daemon import Daemon  # noqa: E402


@pytest.fixture
def start() -> Iterator[Callable[..., Daemon]]:
    """A function that starts a `Daemon`."""
    daemons: list[Daemon] = []

    def starts(**options: object) -> Daemon:
        daemons.append(Daemon(**options))  # type: ignore[arg-type]
        return daemons[-1]

    yield starts
    for daemon in daemons:
        daemon.close()


@pytest.fixture
def daemon(start: Callable[..., Daemon]) -> Daemon:
    return start()
