"""A headless Chromium for tests: Debian's package, driven by Playwright."""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = shlex.split("""
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync
""")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run Chromium; raise AssertionError if it is not installed."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "chromium is missing; make test installs it as root"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield a headless Chromium."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def complaints() -> list[str]:
    """Return a list for the console errors and uncaught exceptions of pages (`listen`)."""
    return []


def listen(page: Page, complaints: list[str]) -> None:
    """Append the page's console errors and uncaught exceptions from now on."""
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
