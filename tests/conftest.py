"""The stack under test, started by `make up`: in containers, and as plain processes ("native").

Every acceptance test can run on both. Natively only those marked `smoke` belong to `make test`; the others
are marked `slow` here, so that `make test-all` runs them.
"""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.bare import Kept, bare_checkout
from tests.browsing import Visit
from tests.stack import PROJECT, REPO, Stack, webcam_ports
from tests.support.chromium import listen

# Tests started in the background of a shell ignore Ctrl-C, and so would every program under test.
signal.signal(signal.SIGINT, signal.default_int_handler)

STACKS = {"containers": PROJECT, "native": PROJECT + "-native"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the native repetition of most acceptance tests to `make test-all`."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if parameters.get("stack") == "native" and not item.get_closest_marker("smoke"):
            item.add_marker("slow")


@pytest.fixture(scope="session", params=STACKS)
def stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    """Yield a running stack, which is removed after the last test."""
    mode = request.param
    if mode == "containers" and os.environ.get("ENGINE") == "no":
        pytest.skip("no container engine can run here (make test said why)")
    stack = Stack(mode, STACKS[mode])
    stack.settings |= {"EXTRAS": "direct,webcam,inspect", "THEATRES": "second", **webcam_ports()}
    stack.make("clean")
    failed_before = request.session.testsfailed
    try:
        stack.printed = stack.make("up")
        yield stack
    finally:
        if request.session.testsfailed > failed_before:
            logs = REPO / "test-results" / f"{mode}.log"
            logs.parent.mkdir(exist_ok=True)
            logs.write_text(stack.log())
            print(f"\nThe end of every service's log ({logs}):\n{logs.read_text()}")
        stack.make("clean")


@pytest.fixture(scope="session")
def bare_machine() -> Iterator[Kept]:
    """Yield a copy outside pytest's own folder, which every start of pytest closes to other users."""
    with tempfile.TemporaryDirectory(prefix="bare-") as folder:
        yield Kept(bare_checkout(Path(folder)).parent)


@pytest.fixture
def bare(bare_machine: Kept) -> Iterator[Path]:
    """Yield a checkout on a machine with only the programs of any system."""
    yield bare_machine.folder / "stack"
    bare_machine.restore()


@pytest.fixture
def visit(browser: Browser, stack: Stack, complaints: list[str]) -> Iterator[Visit]:
    """Yield a function: visit(path, width=1280) opens a page in a separate browser context."""
    contexts = []

    def open_page(path: str, width: int = 1280, height: int = 800, animated: bool = False) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            reduced_motion="no-preference" if animated else "reduce",  # drawing them takes most of the time
        )
        contexts.append(context)
        page = context.new_page()
        listen(page, complaints)
        page.goto(stack.url(path))
        return page

    yield open_page
    for context in contexts:
        context.close()
