"""The version of Varnish that is tested, and a running Varnish for tests that need more than a VTC."""

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.program import PATH
from varnish.tests.python.varnish_server import Backend, VarnishServer


def pytest_report_header() -> str:
    program = shutil.which("varnishd", path=PATH)
    if program is None:
        return "varnishd: none"
    done = subprocess.run([program, "-V"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return f"varnishd: {done.stdout.splitlines()[0]}, {program}"


@pytest.fixture(scope="module")
def server() -> Iterator[VarnishServer]:
    """Yield a running Varnish for the tests of one module; a backend that answers late is not sick."""
    with VarnishServer() as running:
        running.start()
        running.cli("backend.set_health", "*", "healthy")
        yield running


@pytest.fixture
def fresh() -> Iterator[VarnishServer]:
    """Yield a Varnish for one test, not started yet."""
    with VarnishServer() as server:
        yield server


@pytest.fixture
def app(fresh: VarnishServer) -> Backend:
    """Return a second backend, beside that of the default host."""
    app = Backend("app")
    fresh.origins.append(app)
    return app


@pytest.fixture(autouse=True)
def forget(request: pytest.FixtureRequest) -> None:
    """Forget the requests that the module's backend received in the previous test."""
    if "server" in request.fixturenames:
        request.getfixturevalue("server").backend.forget()
