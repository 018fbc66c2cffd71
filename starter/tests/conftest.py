"""Starts the starter as a stranger does: copied into an empty folder, one line changed, `docker compose up`.

With the variables of asking.py the tests ask a starter that runs already.
"""

import hashlib
import shutil
import time
from collections.abc import Iterator

import pytest

from asking import APP_PORT, HTTP_PORT, HTTPS_PORT, RUNS_ALREADY, STARTER, TOKEN, App, New, compose


@pytest.fixture(scope="session")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The running starter, in front of app.py on this machine."""
    if RUNS_ALREADY:
        yield
        return
    folder = tmp_path_factory.mktemp("shop")
    shutil.copytree(STARTER, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("tests", "recipes"))
    settings = folder / ".env"
    text = settings.read_text().replace("APP=app:8000", f"APP=host.docker.internal:{APP_PORT}")
    ports = f"SITE=localhost:{HTTP_PORT}\nHTTP_PORT={HTTP_PORT}\nHTTPS_PORT={HTTPS_PORT}\n"
    settings.write_text(f"{text}{ports}PURGE_TOKEN={TOKEN}\n")
    try:
        compose(folder, "up", "--detach", "--wait")
        yield
    finally:
        compose(folder, "down", "--volumes", "--timeout", "2")


@pytest.fixture(scope="session")
def running(starter: None) -> Iterator[App]:
    app = App()
    app.start()
    yield app
    app.stop()


@pytest.fixture(autouse=True)
def app(running: App) -> App:
    """The application: up, well and quick before each test."""
    if running.process is None:
        running.start()
    running.read("/set?fail=0&slow=0")
    return running


@pytest.fixture
def new(request: pytest.FixtureRequest) -> New:
    """Makes an address that no test has asked for before: new("/page") is /page-81b2."""
    unique = hashlib.sha256(f"{request.node.nodeid} {time.time()}".encode()).hexdigest()[:10]
    return lambda path: f"{path}-{unique}"
