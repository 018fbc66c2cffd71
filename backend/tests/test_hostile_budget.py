"""The cost of hostile clients, on transports without a network that stop reading when told to."""

import struct
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import cast

import pytest
from twisted.internet.testing import StringTransport
from twisted.web.resource import Resource

from backend.tests.fake_clients import JOIN as JOIN_FRAME
from backend.tests.fake_clients import SocketClient, message
from backend.tests.fake_reactor import Reactor, ticking
from upstage.net.connection import Connections
from upstage.net.input import AT_ONCE, READ_SIZE
from upstage.net.lane import Lane
from upstage.net.slices import SLICE, Slices
from upstage.stage.limits import BURST, BYTES, GRACE, JOIN, MAX_WAIT, RATE
from upstage.stage.stage import Stage
from upstage.web.request import Site
from upstage.web.templates import Pages


class FakeServer:
    """A server without a network: its stages and connections, on a clock that the test advances."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.reactor = Reactor()
        self.stages = stage.host
        self.connections = Connections(self.stages, self.reactor, clock=self.reactor.seconds)

    def wait(self, seconds: float) -> None:
        self.reactor.pump([0.05] * round(seconds / 0.05))


class Client(SocketClient):
    """One client; `sent` is the number of bytes that were read from it."""

    def __init__(self, server: FakeServer, websocket: bool = False, address: str = "198.51.100.1") -> None:
        super().__init__(server.connections, address, websocket)
        self.server = server
        self.sent = 0

    @property
    def is_read(self) -> bool:
        return self.transport.producerState == "producing" and not self.transport.disconnected

    def pour(self, data: bytes) -> None:
        self.sent += len(data)
        self.protocol.dataReceived(data)

    def press(self, stream: Iterator[bytes], seconds: float) -> None:
        """Send as much as the server reads in this many seconds."""
        for _ in range(round(seconds / 0.05)):
            while self.is_read:
                self.pour(next(stream))
            self.server.wait(0.05)
            if self.transport.disconnected:
                return


def hostile(first: bytes, again: bytes) -> Iterator[bytes]:
    """Yield the stream of a hostile client in pieces of the size in which it is read."""
    held = first
    while True:
        while len(held) < READ_SIZE:
            held += again
        yield held[:READ_SIZE]
        held = held[READ_SIZE:]


@pytest.fixture
def server(stage: Stage) -> FakeServer:
    return FakeServer(stage)


CHUNK = 64 * 1024
TEXT, CONTINUATION, PING, PONG = 1, 0, 9, 10


def many(frame: bytes) -> bytes:
    """Return as many copies of a frame as fit into a piece."""
    return frame * (CHUNK // len(frame))


BEGIN = message(TEXT, b"x", final=False)  # the first fragment of a message
# By name: whether it is a WebSocket, the first bytes of a client, and those that it repeats.
ATTACKS = {
    "ping0": (True, b"", many(message(PING))),
    "pong0": (True, b"", many(message(PONG))),
    "fragment0": (True, BEGIN, many(message(CONTINUATION, b"", final=False))),
    "fragment1": (True, BEGIN, many(message(CONTINUATION, b"x", final=False))),
    "endless": (True, BEGIN, many(message(CONTINUATION, b"x" * 16_000, final=False))),
    "huge": (True, struct.pack("!BBQ4x", 0x81, 0xFF, 1 << 62), b"x" * CHUNK),
    "nul-less": (False, b"", b"x" * CHUNK),
    "nul-only": (False, b"", bytes(CHUNK)),
}


@pytest.mark.parametrize(("websocket", "first", "again"), ATTACKS.values(), ids=ATTACKS)
def test_input_over_the_budget_is_not_read_and_ends_in_a_disconnection(
    server: FakeServer, websocket: bool, first: bytes, again: bytes
) -> None:
    client = Client(server, websocket)
    stream = hostile(first, again)
    client.press(stream, 5)
    # Every byte costs tokens, and the last read may be one too many.
    assert client.sent <= (BURST + 5 * RATE) * BYTES + 2 * READ_SIZE
    assert not client.is_read
    assert not client.transport.disconnected  # a client that only lagged has time to recover
    assert server.stages.counts["throttled"] < 5 * 5  # its timer does not run for every frame
    client.press(stream, GRACE + 5)
    assert client.transport.disconnected
    assert server.stages.counts["cut_flood"] == 1
    assert server.reactor.getDelayedCalls() == []


def test_single_bytes_cost_a_token_for_each_read(server: FakeServer) -> None:
    client = Client(server)
    client.press((b"x" for _ in count()), 5)
    assert client.sent <= BURST + 5 * RATE + 10


def test_frames_that_come_too_fast_are_delayed_not_lost(server: FakeServer) -> None:
    client = Client(server)
    client.pour(JOIN_FRAME)
    server.wait(0.05)
    lines = [b"text=%d&mode=ANONTEXT" % number for number in range(600)]
    client.pour(b"".join(b"msg=%d&mode=TEXT\0" % number for number in range(600)))
    server.wait(1)
    assert lines[-1] not in client.received()
    server.wait(10)
    assert [frame for frame in client.received() if frame.endswith(b"ANONTEXT")] == lines
    assert client.is_read


@pytest.mark.parametrize("websocket", [False, True])
def test_a_normal_client_is_always_read(server: FakeServer, websocket: bool) -> None:
    def frame(text: bytes) -> bytes:
        return message(1, text) if websocket else text + b"\0"

    client = Client(server, websocket)
    client.pour(frame(b"MD5=x&mode=IDENT") + frame(JOIN_FRAME[:-1]) + frame(b"mode=LOADED"))
    server.wait(0.05)
    for number in range(31 * 60):  # a minute of drawing
        client.pour(frame(b"layer=0&x=123.45&y=67.89&mode=DRAW_LINE"))
        if number % 31 == 0:
            client.pour(frame(b"msg=look%20here&mode=TEXT"))
            if websocket:
                client.pour(message(10))
        server.reactor.advance(1 / 31)
        assert client.is_read
    assert server.stages.counts["throttled"] == 0


def test_clients_frames_are_taken_in_turn(server: FakeServer) -> None:
    heard: list[str] = []
    server.stages.receive = lambda member, frame: heard.append(member.id)  # type: ignore[method-assign]
    loud, calm = Client(server), Client(server)
    loud.pour(b"mode=NB\0" * 100)
    calm.pour(b"mode=NB\0")
    assert heard == ["sock_1"] * AT_ONCE + ["sock_2"]
    server.wait(0.05)
    assert len(heard) == 101


def test_repeated_joins_are_expensive(server: FakeServer) -> None:
    client = Client(server)
    client.press((JOIN_FRAME for _ in count()), 10)
    joins = sum(frame.endswith(b"STAGE_NAME") for frame in client.received())
    assert 10 < joins <= (BURST + 10 * RATE) / JOIN + 1


def test_the_chat_goes_on_while_a_school_joins_at_once(server: FakeServer) -> None:
    slices = Slices(server.reactor, ticking(0.0005))
    server.connections.shared = replace(server.connections.shared, slices=slices)
    talker = Client(server, address="192.0.2.1")
    talker.pour(JOIN_FRAME)
    server.wait(0.05)
    school = [Client(server) for _ in range(500)]
    for learner in school:
        learner.pour(JOIN_FRAME)
    turns = 0
    while len(slices):
        server.reactor.turn()
        turns += 1
        talker.pour(b"msg=%d&mode=TEXT\0" % turns)
        assert talker.received()[-1] == b"text=%d&mode=ANONTEXT" % turns
    assert turns > 500 * 0.0005 / SLICE / 2
    assert server.stage.audience == 501
    assert server.reactor.seconds() < 0.1  # no client had to wait for tokens
    assert not any(learner.transport.disconnected for learner in school)


def test_repeated_connections_are_expensive(server: FakeServer) -> None:
    """A new connection has its own full bucket, so its address's bucket counts."""
    rate, burst = 100.0, 6000 * 30
    server.connections.addresses._rate = rate
    joined = refused = 0
    for _ in range(10_000):
        client = Client(server)
        client.pour(JOIN_FRAME)
        server.reactor.advance(0.001)
        joined += client.received()[-1].endswith(b"JOINED")
        refused += client.transport.disconnected
        client.protocol.connectionLost()
    assert joined <= (burst + 10 * rate) / (JOIN + 6) + 1
    assert refused == server.stages.counts["cut_address"] > 3_000
    neighbour = Client(server, address="192.0.2.1")
    neighbour.pour(JOIN_FRAME)
    server.wait(0.05)
    assert neighbour.received()[-1].endswith(b"JOINED")
    server.wait(MAX_WAIT + 1)
    assert Client(server).is_read


def test_a_turn_is_short_and_an_error_stops_no_other_work() -> None:
    reactor = Reactor()
    slices = Slices(reactor, ticking(0.0005))
    done: list[int] = []

    def act(number: int) -> None:
        done.append(number)
        if number == 1:
            raise RuntimeError("a bug")

    for number in range(20):
        slices.add(lambda number=number: act(number))  # type: ignore[misc]
    with pytest.raises(RuntimeError, match="a bug"):  # the real reactor logs it
        reactor.turn()
    reactor.turn()
    assert 2 < len(done) <= 2 + SLICE / 0.0005 + 1
    while len(slices):
        reactor.turn()
    assert done == list(range(20))
    assert reactor.getDelayedCalls() == []


def test_the_client_with_the_longest_queue_delays_no_other() -> None:
    reactor = Reactor()
    slices = Slices(reactor, ticking(0.0005))
    done: list[str] = []
    for _ in range(100):
        slices.add(lambda: done.append("crowd"), "192.0.2.1")
    slices.add(lambda: done.append("one"), "192.0.2.2")
    slices.add(lambda: done.append("two"), "192.0.2.2")
    while len(slices):
        reactor.turn()
    assert done[:4] == ["crowd", "one", "crowd", "two"]
    assert len(done) == 102


def test_a_probe_does_not_wait_for_pages_and_many_in_a_row_delay_nothing() -> None:
    reactor = Reactor()
    served: list[bytes] = []
    root = Resource()
    for name in (b"health", b"page"):
        page = Resource()
        page.render = lambda _, name=name: served.append(name) or b""  # type: ignore[method-assign]
        root.putChild(name, page)
    site = Site(root, cast(Pages, None), Slices(reactor, ticking(0.0005)), Lane(reactor, 2))
    site.reactor = reactor

    def connect(requests: bytes) -> None:
        protocol = site.buildProtocol(None)
        assert protocol
        protocol.makeConnection(StringTransport())
        protocol.dataReceived(requests)

    for number in range(200):
        connect(b"GET /page HTTP/1.1\r\nHost: x\r\nX-Real-IP: 192.0.2.%d\r\n\r\n" % number)
    connect(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    connect(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
    reactor.turn()
    assert served.count(b"health") == 2
    assert 0 < served.count(b"page") < 10
