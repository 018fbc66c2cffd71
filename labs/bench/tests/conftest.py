"""Servers on loopback for the programs of bench/clients."""

from collections.abc import Iterator

import pytest

from bench.tests.programs import Site, Stage
from support.origin import Origin


@pytest.fixture
def origin() -> Iterator[Origin]:
    """An HTTP server."""
    origin = Origin("origin")
    yield origin
    origin.close()


@pytest.fixture
def site() -> Iterator[Site]:
    """The pages and files of a stage."""
    site = Site()
    yield site
    site.close()


@pytest.fixture
def stage() -> Iterator[Stage]:
    """The stage socket."""
    stage = Stage()
    yield stage
    stage.close()
