"""Load generators of the stage: lost lines are errors, and a delay begins when a line is said."""

import asyncio
from collections.abc import Iterator

import pytest

from labs.bench.clients import speakers, stage_sockets
from labs.bench.clients.speakers import Speakers
from labs.bench.clients.stage_sockets import StageSockets
from labs.bench.tests.fake_stage import Stage, of


@pytest.fixture
def sockets(stage: Stage) -> Iterator[StageSockets]:
    sockets = StageSockets(**of(stage))
    yield sockets
    sockets.close()


def test_a_line_of_a_speaker_that_is_lost_is_an_error(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def lose() -> None:
        async with Speakers(**of(stage), number=3) as clients:
            monkeypatch.setattr(speakers, "TIMEOUT", 0.2)
            await clients.talk(lines_per_second=20, seconds=0.5)

    stage.silent = True
    with pytest.raises(EOFError, match=r"^30 of 30 lines were not received$"):
        asyncio.run(lose())


def test_the_delay_of_a_line_counts_from_when_it_was_said(sockets: StageSockets, stage: Stage) -> None:
    stage.delay = 0.05
    took = sockets.join(6)
    assert min(took) >= 10, "until the second part of the reply"
    sockets.watch(3)
    delays, _ = sockets.say(lines=4, every=0.1)
    assert [len(line) for line in delays] == [3] * 4
    assert min(min(line) for line in delays) >= 50


def test_a_client_that_is_not_watched_must_receive_each_line_too(
    sockets: StageSockets, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.deaf = 4
    sockets.join(4)
    monkeypatch.setattr(stage_sockets, "TIMEOUT", 1.0)
    sockets.watch(1)
    with pytest.raises(ConnectionError, match="1 of 4 clients did not receive each of 2 lines once"):
        sockets.say(lines=2, every=0.01)


def test_a_client_that_is_disconnected_is_an_error(sockets: StageSockets, stage: Stage) -> None:
    stage.refused = 3
    with pytest.raises(ConnectionError, match="the server has closed one of 5 connections"):
        sockets.join(5)
