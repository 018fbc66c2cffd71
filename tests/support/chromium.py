"""A headless Chromium for tests: Debian's package, driven by Playwright."""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

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
