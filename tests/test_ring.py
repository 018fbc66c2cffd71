"""extras/ring on an engine: one copy of each file, and a trace and a purge that know every Varnish."""

import re
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.stack import PROJECT, Stack

FILES = [f"/media/fox.svg?{number}" for number in range(60)]


class Ring(Stack):
    """The stack with three Varnishes."""

    def outcomes(self) -> dict[str, str]:
        """Return the Varnish that answers for each file, and its outcome: `varnish-2; hit`."""
        found = {}
        for file in FILES:
            response = self.get(file)
            assert response.status_code == 200
            found[file] = re.sub(r"; (stored|ttl=\d+)", "", response.headers["Cache-Status"].split(", ")[0])
        return found


@pytest.fixture(scope="module")
def ring() -> Iterator[Ring]:
    with Ring("containers", PROJECT + "-ring", settings={"EXTRAS": "ring"}).running() as stack:
        yield stack


def test_each_file_is_fetched_once_and_then_a_hit(ring: Ring) -> None:
    first, second = ring.outcomes(), ring.outcomes()
    assert set(first.values()) == {f"varnish-{number}; fwd=uri-miss" for number in (1, 2, 3)}
    assert second == {file: outcome.replace("fwd=uri-miss", "hit") for file, outcome in first.items()}
    assert min(Counter(first.values()).values()) >= 0.2 * len(FILES)
    assert all(name in ring.make("status") for name in ("varnish ", "varnish-2", "varnish-3"))


def test_trace_finds_the_varnish_that_answered(ring: Ring) -> None:
    file = next(file for file, outcome in ring.outcomes().items() if outcome.startswith("varnish-3"))
    time.sleep(1.1)  # nginx's copy of this second
    traced = ring.make("trace", f"URL={file}")
    assert "Cache-Status: varnish-3; hit" in traced
    assert re.search(r"varnish hit .*\n +a copy that stays fresh", traced), traced


def test_a_purge_reaches_every_cache(ring: Ring) -> None:
    ring.outcomes()
    for purged, outcome in ((False, "hit"), (True, "fwd=uri-miss")):
        if purged:
            ring.make("purge", "TAG=media")
            time.sleep(1.1)  # nginx's copy of this second
        assert set(ring.outcomes().values()) == {f"varnish-{number}; {outcome}" for number in (1, 2, 3)}
