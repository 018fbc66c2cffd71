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
SECONDS = {
    "the policy": (0, DEADLINE + hostile.SLACK),
    "a close at once": (0, DEADLINE / 2),
    "a close at the deadline": (DEADLINE, 2 * DEADLINE + hostile.SLACK),
    "a close after a second": (1, 1 + hostile.SLACK),
}


@pytest.fixture(scope="module")
def shared() -> Iterator[Daemon]:
    with Daemon("--deadline", str(DEADLINE), "--log-lines", "60000") as daemon:
        yield daemon
        assert not {"error", "stopped"} & daemon.stop().keys()  # each connection has ended with its client


def test_each_row_has_its_clients() -> None:
    assert [row for row, _, _ in ROWS] == list(hostile.CLIENTS)


@pytest.mark.parametrize(("play", "gets", "outcome"), PLAYED)
def test_a_client_gets_what_the_table_says_and_delays_no_other(
    shared: Daemon, play: hostile.Play, gets: str, outcome: str
) -> None:
    daemon = shared
    if outcome == "stopped":
        daemon = Daemon("--deadline", "30")
        threading.Timer(0.1, daemon.terminate).start()
    before = len(daemon.events("connection"))
    begin = time.monotonic()
    assert gets.startswith(play(LOCAL, daemon.port, DEADLINE))
    shortest, longest = SECONDS[gets]
    assert shortest <= time.monotonic() - begin <= longest
    wait_until(lambda: outcome in {line["outcome"] for line in daemon.events("connection")[before:]})
    if outcome != "stopped":
        begin = time.monotonic()
        assert hostile.honest(LOCAL, daemon.port, 0) == hostile.POLICY
        assert time.monotonic() - begin < DEADLINE / 2
