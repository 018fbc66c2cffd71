"""One nginx per test module, in front of mocks, with the deployed configuration."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The tests run from a bare checkout, and this folder is no package.
sys.path.insert(0, str(Path(__file__).parent))

from front import Front


@pytest.fixture(scope="module")
def front(request: pytest.FixtureRequest) -> Iterator[Front]:
    """A running front of house; the module's KNOBS, if it has any, are its environment."""
    with Front(**getattr(request.module, "KNOBS", {})) as running:
        running.start()
        yield running


@pytest.fixture(autouse=True)
def forget(request: pytest.FixtureRequest) -> None:
    """What the mocks saw in one test is no business of the next."""
    if "front" in request.fixturenames:
        front: Front = request.getfixturevalue("front")
        for mock in front.mocks:
            mock.seen.clear()
            mock.answer = None
