"""extras/ring on an engine: one copy of each file, a purge that reaches all, and a cache that is lost."""

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from stack import PROJECT, Stack
from support.wait import wait_until

FILES = [f"/media/fox.svg?{number}" for number in range(60)]
# The outcome of a cache without nginx in front, once for each of 30 files.
FROM_IT = (
    "curl",
    "-s",
    "-o",
    "/dev/null",
    "-D",
    "-",
    "-H",
    "Host: localhost",
    "http://localhost:8080/media/fox.svg?[0-29]",
)


class Ring(Stack):
    """The stack with three Varnishes."""

    def outcomes(self, files: list[str] = FILES) -> dict[str, str]:
        """Which Varnish answers for each file, and how: `varnish-2; hit`."""
        found = {}
        for file in files:
            answer = self.get(file)
            assert answer.status_code == 200
            found[file] = re.sub(r"; (stored|ttl=\d+)", "", answer.headers["Cache-Status"].split(", ")[0])
        return found

    def inside_each(self) -> Counter[str]:
        """The outcome at each Varnish when half of the files are requested from it directly."""
        found = Counter[str]()
        for service in ("varnish", "varnish-2", "varnish-3"):
            answers = self.compose("exec", "-T", service, *FROM_IT)
            found.update(re.findall(r"(?i)^cache-status: ([\w-]+; [^;\s]+)", answers, re.M))
        return found


@pytest.fixture(scope="module")
def ring() -> Iterator[Ring]:
    stack = Ring("containers", PROJECT + "-ring", settings={"EXTRAS": "ring"})
    stack.make("clean")
    try:
        stack.make("up")
        yield stack
    finally:
        stack.make("clean")


def all_are(outcome: str) -> Counter[str]:
    return Counter({f"varnish-{number}; {outcome}": 30 for number in (1, 2, 3)})


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
    assert re.search(r"hit -> deliver +a copy that stays fresh", traced), traced


def test_a_purge_reaches_every_cache(ring: Ring) -> None:
    ring.inside_each()
    assert ring.inside_each() == all_are("hit")
    ring.make("purge", "TAG=media")
    assert ring.inside_each() == all_are("fwd=uri-miss")


def test_a_cache_that_was_away_is_purged_on_its_return(ring: Ring) -> None:
    ring.inside_each()
    ring.compose("pause", "varnish-2")
    try:
        with pytest.raises(AssertionError, match="varnish-2:8082: no answer") as failed:
            ring.make("purge", "TAG=media")
        assert "varnish-3" not in str(failed.value)
    finally:
        ring.compose("unpause", "varnish-2")
    wait_until(lambda: "purges again" in ring.compose("logs", "backend"), within=10)
    assert ring.inside_each() == all_are("fwd=uri-miss")


def test_a_killed_cache_costs_no_request_and_only_its_own_files(ring: Ring) -> None:
    files = [f"/media/diva.svg?{number}" for number in range(60)]  # no other cache has them
    before = ring.outcomes(files)
    lost = {file for file, outcome in before.items() if outcome.startswith("varnish-3")}
    socket = ring.web_stage_client()
    socket.join()
    statuses: Counter[str] = Counter()
    fetched: set[str] = set()
    ended = threading.Event()

    def load() -> None:
        while not ended.is_set():
            for file in files:
                try:
                    answer = ring.get(file)
                    statuses[str(answer.status_code)] += 1
                    if "fwd=uri-miss; stored" in answer.headers["Cache-Status"]:
                        fetched.add(file)
                except OSError as error:
                    statuses[repr(error)] += 1
                time.sleep(1 / 150)

    clients = [threading.Thread(target=load) for _ in range(2)]
    for client in clients:
        client.start()
    ring.compose("kill", "varnish-3")
    wait_until(lambda: fetched >= lost, within=10)
    time.sleep(1)
    ended.set()
    for client in clients:
        client.join()
    assert (set(statuses), statuses["200"] > 300) == ({"200"}, True), statuses
    assert fetched == lost
    after = ring.outcomes(files)
    assert not any("varnish-3" in outcome for outcome in after.values())
    assert {file for file in files if after[file].split(";")[0] != before[file].split(";")[0]} == lost
    socket.send("TEXT", msg="still here")
    assert socket.until("ANONTEXT")[-1]["text"] == "still here"
