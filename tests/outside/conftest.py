"""The stack that the tests of this folder share; the application behind it is the tests' own server."""

import os
from collections.abc import Iterator

import pytest

from tests.stack import PROJECT, Stack
from tests.support.ports import free_ports


@pytest.fixture(scope="session")
def origin_port() -> int:
    """Return the port of the stack's application, on 127.0.0.1."""
    return free_ports(1)[0]


@pytest.fixture(scope="session")
def fronting(origin_port: int) -> Iterator[Stack]:
    """Yield a running stack in containers, which is removed after the last test."""
    if os.environ.get("ENGINE") == "no":
        pytest.skip("no container engine can run here (make test said why)")
    stack = Stack("containers", PROJECT + "-outside")
    stack.settings |= {"EXTRAS": "app", "APP": f"http://127.0.0.1:{origin_port}", "WITH": "upstage"}
    stack.settings["APP_HEADERS"] = "Abc Bar Baz Foo Other"  # what cache-tests' origin varies by
    with stack.running():
        yield stack
