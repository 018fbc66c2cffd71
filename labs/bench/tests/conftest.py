"""Shared by the tests of load generators: servers on loopback."""

from collections.abc import Iterator

import pytest

from labs.bench.tests.fake_stage import Stage
from tests.support.origin import Origin


@pytest.fixture
def origin() -> Iterator[Origin]:
    """Yield an HTTP server."""
    origin = Origin("origin")
    yield origin
    origin.close()


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Yield a stage socket."""
    stage = Stage()
    yield stage
    stage.close()
