"""Starts the starter as a new user does: copied to an empty folder, a line changed, `docker compose up`."""

import secrets
import shutil
from collections.abc import Iterator

import pytest

from starter.tests.asking import APP_PORT, STARTER, TOKEN, App, New, started


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Yield app.py, on this machine, behind the running starter."""
    folder = tmp_path_factory.mktemp("shop")
    shutil.copytree(STARTER, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("tests", "recipes"))
    settings = (folder / ".env").read_text()
    (folder / ".env").write_text(settings.replace("APP=app:8000", f"APP=host.docker.internal:{APP_PORT}"))
    for file in folder.rglob("*"):  # as with umask 077
        file.chmod(file.stat().st_mode & 0o700)
    app = App(folder)
    with started(folder, f"PURGE_TOKEN={TOKEN}\nTRUSTED_PROXIES=127.0.0.0/8\nACME_FOLDER=./acme\n"):
        yield app
        app.stop()


@pytest.fixture(autouse=True)
def app(running: App) -> App:
    """Return the application, which is running when a test begins."""
    if running.process is None:
        running.start()
    return running


@pytest.fixture
def new() -> New:
    """Return a function that makes addresses for one test: new("/page") is /page-81b2."""
    unique = secrets.token_hex(5)
    return lambda path: f"{path}-{unique}"
