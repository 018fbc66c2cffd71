"""The house the acceptance tests run against: opened by `make up`, once in containers, once native."""

import os
from collections.abc import Iterator

import pytest

from house import REPO, House

HOUSES = {
    "containers": ("proscenium-test", "127.43.0"),
    "native": ("proscenium-test-native", "127.44.0"),
}


@pytest.fixture(scope="session", params=HOUSES)
def house(request: pytest.FixtureRequest) -> Iterator[House]:
    """A house that is open, with nobody in it yet. Closed and removed when the last test is done."""
    mode = request.param
    if mode == "containers" and os.environ.get("ENGINE") == "no":
        pytest.skip("no container engine can run here (make test said why)")
    project, net = HOUSES[mode]
    house = House(mode, project, net)
    house.make("clean")
    failed_before = request.session.testsfailed
    try:
        house.opening = house.make("up")
        yield house
    finally:
        if request.session.testsfailed > failed_before:
            logs = REPO / "test-results" / f"{mode}.log"
            logs.parent.mkdir(exist_ok=True)
            logs.write_text(house.last_words())
            print(f"\nThe last words of every service ({logs}):\n{logs.read_text()}")
        house.make("clean")
