"""One nginx for each test module, with the deployed configuration, in front of recording origins."""

from collections.abc import Iterator

import pytest

from nginx.tests.name_server import NameServer
from nginx.tests.nginx_server import NginxServer


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[NginxServer]:
    """Yield a running nginx of one worker, with the module's SETTINGS, if any, in its environment."""
    with NginxServer(**getattr(request.module, "SETTINGS", {})) as running:
        running.use_one_worker()
        running.start()
        yield running


@pytest.fixture
def fresh() -> Iterator[NginxServer]:
    """Yield an nginx for one test, not started yet."""
    with NginxServer() as server:
        yield server


@pytest.fixture
def name_server() -> Iterator[NameServer]:
    """Yield a name server that knows no name yet."""
    server = NameServer()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def forget(request: pytest.FixtureRequest) -> None:
    """Forget the requests that the module's origins received in the previous test."""
    for name in {"server", "ring", "site", "nginx"} & {*request.fixturenames}:
        for origin in request.getfixturevalue(name).origins:
            origin.forget()
