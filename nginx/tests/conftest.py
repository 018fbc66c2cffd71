"""One nginx for each test module, with the deployed configuration, in front of recording origins."""

from collections.abc import Iterator

import pytest

from nginx.tests.name_server import NameServer
from nginx.tests.nginx_server import NginxServer


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[NginxServer]:
    """A running nginx of one worker; the module's SETTINGS, if it has any, are part of its environment."""
    with NginxServer(**getattr(request.module, "SETTINGS", {})) as running:
        running.use_one_worker()
        running.start()
        yield running


@pytest.fixture
def fresh() -> Iterator[NginxServer]:
    """An nginx of the test's own, not started yet."""
    with NginxServer() as server:
        yield server


@pytest.fixture
def name_server() -> Iterator[NameServer]:
    """A name server that knows no name yet."""
    server = NameServer()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def forget(request: pytest.FixtureRequest) -> None:
    """Forget what the module's origins were asked in the previous test."""
    for name in {"server", "ring", "site", "nginx"} & {*request.fixturenames}:
        for origin in request.getfixturevalue(name).origins:
            origin.forget()
