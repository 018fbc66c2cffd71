"""Many clients of a stage: the programs against one on loopback, the drivers' figures, and the drawing."""

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

import pytest

from bench.clients.stage_sockets import StageSockets
from bench.drivers import joins, non_reader, one_line
from bench.lab_stack import LabStack, Problem, Usage
from bench.memory import Memory
from bench.tests.programs import Generator, Stage, report
from scale.draw import drawing
from upstage.stage.drawing import redraw
from upstage.stage.layers import MAX_MARKS, Layer
from upstage.stage.wire import decode

SET_UP = b"stageName=x&mode=STAGE_NAME\0" + b"chat=&mode=LOAD_CHAT\0"


class FullStage(Stage):
    """A stage that sends what it is, and then in two parts how many members it has.

    A `deaf` client is the one that came as that number: it misses the lines. After `patience` lines the last
    client is announced to be gone.
    """

    def __init__(self) -> None:
        self.members: list[socket.socket] = []
        self.deaf = 0
        self.refused = 0  # the number of the client that is disconnected when it joins
        self.patience = 0
        self.said = 0
        super().__init__()

    def handle(self, connection: socket.socket, frame: str) -> None:
        if frame.endswith("mode=JOIN"):
            with self.lock:
                self.received["JOIN"] += 1
                self.frames.append(frame)
                self.members.append(connection)
                if len(self.members) == self.refused:
                    connection.shutdown(socket.SHUT_RDWR)
                    return
                counts = self.counts(len(self.members))
                connection.sendall(SET_UP + counts[:-5])
                time.sleep(0.01)  # so that parts arrive as parts
                connection.sendall(counts[-5:])
                self.tell(self.members[:-1], counts)
        elif frame.endswith("mode=TEXT"):
            with self.lock:
                self.received["TEXT"] += 1
                time.sleep(self.delay)
                line = frame.removeprefix("msg=").partition("&")[0].replace("@", "%40")
                hearing = [member for number, member in enumerate(self.members, 1) if number != self.deaf]
                self.tell(hearing, f"text={line}&mode=ANONTEXT\0".encode())
                self.said += 1
                if self.said == self.patience:
                    self.tell(self.members[:-1], self.counts(len(self.members) - 1))
        else:
            super().handle(connection, frame)

    @staticmethod
    def tell(members: list[socket.socket], frame: bytes) -> None:
        for member in members:
            with suppress(OSError):  # it has left
                member.sendall(frame)

    @staticmethod
    def counts(members: int) -> bytes:
        return f"pCount=0&aCount={members}&mode=JOINED\0".encode()


@pytest.fixture
def full_stage() -> Iterator[FullStage]:
    stage = FullStage()
    yield stage
    stage.close()


@pytest.fixture
def sockets(full_stage: FullStage) -> Iterator[StageSockets]:
    sockets = StageSockets("127.0.0.1", full_stage.port, True, "load")
    yield sockets
    sockets.close()


def of(stage: FullStage) -> dict[str, Any]:
    """The setting `stage` of a program."""
    return {"address": "127.0.0.1", "port": stage.port, "proxied": True, "stage": "load"}


def test_a_client_has_joined_when_the_whole_reply_has_arrived(
    sockets: StageSockets, full_stage: FullStage
) -> None:
    took = sockets.join(8)
    assert len(took) == 8
    assert min(took) >= 10, "the second part of the reply"
    assert full_stage.frames == ["stage_ID=load&mode=JOIN"] * 8


def test_the_delay_of_a_line_to_each_watched_client(sockets: StageSockets, full_stage: FullStage) -> None:
    full_stage.delay = 0.05
    sockets.join(6)
    sockets.watch(3)
    delays, seconds = sockets.say(lines=4, every=0.1)
    assert [len(line) for line in delays] == [3] * 4
    assert min(min(line) for line in delays) >= 50
    assert max(max(line) for line in delays) < 5000
    assert 0 < seconds < 5
    assert full_stage.received["TEXT"] == 4


def test_a_client_that_is_not_watched_must_receive_each_line_too(
    sockets: StageSockets, full_stage: FullStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.clients.stage_sockets.TIMEOUT", 1.0)
    full_stage.deaf = 4
    sockets.join(4)
    sockets.watch(1)
    with pytest.raises(ConnectionError, match="1 of 4 clients did not receive each of 2 lines once"):
        sockets.say(lines=2, every=0.01)


def test_a_client_that_is_disconnected_is_an_error(sockets: StageSockets, full_stage: FullStage) -> None:
    full_stage.refused = 3
    with pytest.raises(ConnectionError, match="the server has closed one of 5 connections"):
        sockets.join(5)


def test_a_line_to_all(full_stage: FullStage) -> None:
    settings = {
        "stage": of(full_stage),
        "listeners": 20,
        "watched": 5,
        "lines": 3,
        "every": 0.2,
        "settle": 0.1,
    }
    found = report("one_line", settings)
    assert found["deliveries"] == 60
    assert 0 < found["p50_milliseconds"] <= found["p99_milliseconds"] <= found["highest_milliseconds"] < 5000
    assert 0.4 <= found["held_until"] - found["held_from"] < 5
    assert found["join_seconds"] >= 0.2, "the stage needs 10 ms for each"
    assert 0 < found["generator_milliseconds_per_line"] < 1000


def test_clients_talk_until_all_others_have_joined(full_stage: FullStage) -> None:
    settings = {"stage": of(full_stage), "joins": 30, "speakers": 2, "lines_per_second": 50, "seconds": 60}
    # The programs' speakers look for lines that are called line-N, which the stage repeats.
    found = report("joins", settings)
    assert len(found["joins"]["milliseconds"]) == 30
    assert found["joins"]["seconds"] >= 0.3
    assert found["joins"]["bytes"] > 30 * len(SET_UP)
    assert len(found["milliseconds"]) == full_stage.received["TEXT"] > 10


def test_a_client_that_never_reads_is_gone_when_the_stage_says_so(full_stage: FullStage) -> None:
    full_stage.patience = 10
    settings = {"stage": of(full_stage), "kilobytes_per_second": 5, "within": 20}
    found = report("non_reader", settings)
    assert 0.4 <= found["cut_seconds"] < 5, "ten lines, twenty a second"
    assert found["bytes"] > 10 * 5000 / 20 / 8, "the lines, which this stage does not escape"


def test_a_client_that_never_reads_may_stay_for_ever(full_stage: FullStage) -> None:
    settings = {"stage": of(full_stage), "kilobytes_per_second": 5, "within": 0.5}
    assert report("non_reader", settings)["cut_seconds"] is None


# --- The drivers


class Sampled:
    """Memory's samples of a service that uses half of a core and grows by a kilobyte a second."""

    def __init__(self, *moments: float) -> None:
        self.samples = [(moment, Usage(moment / 2, 1000 * int(moment), 10**9)) for moment in moments]

    @property
    def memory(self) -> Memory:
        return cast(Memory, self)


HELD = dict.fromkeys(one_line.PASSED_ON, 7.0) | {
    "join_seconds": 2.0,
    "held_from": 100.0,
    "held_until": 110.0,
}


def test_the_use_of_the_servers_is_that_while_lines_were_sent() -> None:
    servers = {"backend": Sampled(1, 99, 102, 104, 109, 130).memory}
    found = one_line.metrics(HELD, {"lines": 5}, servers)
    assert found == dict.fromkeys(one_line.PASSED_ON, 7.0) | {
        "join_milliseconds": 2000.0,
        "backend_memory_bytes": 104_000,
        "backend_cpu_milliseconds_per_line": 1000.0,
    }
    with pytest.raises(Problem, match="the memory of backend less than twice"):
        one_line.metrics(HELD, {"lines": 5}, {"backend": Sampled(1, 104, 130).memory})


def joins_report(joins: dict[str, Any] | None) -> dict[str, Any]:
    lines = [float(number) for number in range(101)]
    return {"milliseconds": lines, "late_milliseconds": [0.5], "joins": joins, "cpu_percent": 5.0}


def test_the_figures_of_joins() -> None:
    alone = {
        "p50_milliseconds": 50.0,
        "p95_milliseconds": 95.0,
        "p99_milliseconds": 99.0,
        "lines": 101.0,
        "speakers_late_p99_milliseconds": 0.5,
        "generator_cpu_percent": 5.0,
    }
    assert joins.metrics(joins_report(None)) == alone
    others = {"milliseconds": [10.0, 20.0, 30.0], "seconds": 2.0, "bytes": 5000, "cpu_percent": 20.0}
    assert joins.metrics(joins_report(others)) == alone | {
        "all_joined_milliseconds": 2000.0,
        "join_p50_milliseconds": 20.0,
        "join_p99_milliseconds": pytest.approx(29.8),
        "bytes_per_second": 2500.0,
        "generator_cpu_percent": 25.0,
    }
    with pytest.raises(Problem, match="the generator was the bottleneck: it used 91 % of a core"):
        joins.metrics(joins_report(others | {"cpu_percent": 86.0}))


class Restarted(Generator):
    """A stack that notes which services were restarted."""

    def __init__(self, *reports: dict[str, Any]) -> None:
        super().__init__(*reports)
        self.restarted: list[str] = []

    def restart(self, service: str) -> None:
        self.restarted.append(service)

    @property
    def stack(self) -> LabStack:
        return cast(LabStack, self)


def test_a_client_that_is_not_disconnected_rejects_the_measurement() -> None:
    stack = Restarted({"cut_seconds": 1.5, "bytes": 3000.0}, {"cut_seconds": None, "bytes": 3000.0})
    settings = {"within": 150}
    assert non_reader.measure(stack.stack, settings) == {"cut_milliseconds": 1500.0, "sent_bytes": 3000.0}
    with pytest.raises(Problem, match="a client that never reads was still there after 150 s"):
        non_reader.measure(stack.stack, settings)
    assert stack.restarted == ["backend"] * 2


def test_the_stage_is_drawn_full() -> None:
    for number, (stage, change) in enumerate(drawing()):
        layer = Layer(number)
        for frame in change.frames:
            redraw(layer, decode(frame.removesuffix(b"\0")))
        assert (stage, change.layer) == ("rehearsal", number)
        assert len(list(layer.replay())) == MAX_MARKS + 1, "and its visibility"
        assert sum(map(len, layer.prepared())) > 90_000
    assert number == 3
