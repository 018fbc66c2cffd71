"""The README's table of what each client gets, played by the clients of hostile.py."""

import threading
import time
from collections.abc import Iterator

import pytest

from policyd.tests import hostile
from policyd.tests.running_daemon import FOLDER, LOCAL, Daemon
from tests.support.wait import wait_until

SECTION = (FOLDER / "README.md").read_text().partition("## What each client gets")[2]
ROWS = [line.strip("|` ").split(" | ") for line in SECTION.splitlines() if line.endswith("` |")]
PLAYED = [
    pytest.param(play, gets, outcome.strip("`"), id=name)
    for row, gets, outcome in ROWS
    for name, play in hostile.CLIENTS[row].items()
]
DEADLINE = 2
FAR = 60  # the deadline of a daemon that must answer long before it
SECONDS = {
    "the policy": (0, DEADLINE + hostile.SLACK),
    "a close at once": (0, FAR / 2),
    "a close at the deadline": (DEADLINE, 2 * DEADLINE + hostile.SLACK),
    "a close after a second": (1, 1 + hostile.SLACK),
}


@pytest.fixture(scope="module")
def shared() -> Iterator[dict[int, Daemon]]:
    """Yield a daemon for each deadline."""
    log = ("--log-lines", "60000")
    with Daemon("--deadline", str(DEADLINE), *log) as daemon, Daemon("--deadline", str(FAR), *log) as far:
        yield {DEADLINE: daemon, FAR: far}
        for each in (daemon, far):  # each connection has ended with its client
            assert not {"error", "stopped"} & each.stop().keys()


def test_each_row_has_its_clients() -> None:
    assert [row for row, _, _ in ROWS] == list(hostile.CLIENTS)


@pytest.mark.parametrize(("play", "gets", "outcome"), PLAYED)
def test_a_client_gets_what_the_table_says_and_delays_no_other(
    shared: dict[int, Daemon], play: hostile.Play, gets: str, outcome: str
) -> None:
    deadline = FAR if gets == "a close at once" else DEADLINE
    daemon = shared[deadline]
    if outcome == "stopped":
        daemon = Daemon("--deadline", "30")
        threading.Timer(0.1, daemon.terminate).start()
    before = len(daemon.events("connection"))
    begin = time.monotonic()
    assert gets.startswith(play(LOCAL, daemon.port, deadline))
    shortest, longest = SECONDS[gets]
    assert shortest <= time.monotonic() - begin <= longest
    wait_until(lambda: outcome in {line["outcome"] for line in daemon.events("connection")[before:]})
    if outcome != "stopped":
        begin = time.monotonic()
        assert hostile.honest(LOCAL, daemon.port, 0) == hostile.POLICY
        assert time.monotonic() - begin < deadline / 2
