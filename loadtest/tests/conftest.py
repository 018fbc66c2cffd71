"""Locust runs in this process, as a library: https://docs.locust.io/en/stable/use-as-lib.html

It runs without its monkey patching, which would change the sockets and threads of all tests in the process.
"""

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

with pytest.MonkeyPatch.context() as patch:
    patch.setenv("LOCUST_SKIP_MONKEY_PATCH", "1")
    import locust  # noqa: F401

import figures
from caches import backend
from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import LOADTEST, WebUI

# A test may be slow on a busy machine.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def as_locust(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the state of a Locust that has just started: its folder, no arguments, variables or figures."""
    figures.forget()
    monkeypatch.chdir(LOADTEST)
    monkeypatch.setattr(sys, "argv", ["locust"])
    for name in list(os.environ):
        if name.startswith(("LOCUST_", "LOADTEST_", "BIND_ADDR", "SERVER_NAMES")):
            monkeypatch.delenv(name)


@pytest.fixture
def site() -> Iterator[FakeSite]:
    """Yield a fake site with an empty cache, and its stage."""
    site = FakeSite()
    yield site
    site.close()


@pytest.fixture
def ui(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> Iterator[WebUI]:
    """Yield the web UI of a Locust for the site, on a machine that others cannot reach."""
    monkeypatch.setenv("BIND_ADDR", "127.0.0.1")
    monkeypatch.setattr(backend, "INTERVAL", 0.2)
    monkeypatch.setattr(backend, "SETTLE", 0.1)
    ui = WebUI(site)
    yield ui
    ui.runner.quit()
