"""A real daemon for every test that asks for one."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# The tests run from a bare checkout. pytest's importlib mode takes this folder, which is named like the
# package in it, for the package itself: forget that.
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]
sys.modules.pop("policyd", None)

from policyd.policy import load  # noqa: E402
from policyd.server import Limits  # noqa: E402
from running_daemon import QUICK, SHIPPED, Daemon  # noqa: E402


@pytest.fixture
def start() -> Iterator[Callable[..., Daemon]]:
    """A function that starts daemons; they are stopped after the test."""
    daemons: list[Daemon] = []

    def starts(limits: Limits = QUICK, host: str = "127.0.0.1", lines_per_second: int = 1000) -> Daemon:
        daemons.append(Daemon(load(SHIPPED), limits, host, lines_per_second))
        return daemons[-1]

    yield starts
    for daemon in daemons:
        daemon.close()


@pytest.fixture
def daemon(start: Callable[..., Daemon]) -> Daemon:
    started: Daemon = start()
    return started
