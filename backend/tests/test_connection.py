"""Connections on a transport without a network: slow readers, limits, and reasons to cut off a client."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs

from backend.tests.fake_clients import JOIN, SocketClient, beat, clock_of, joined, message, turn
from backend.tests.fake_reactor import Reactor, ticking
from upstage.net.connection import MAX_LINES, PATIENCE, REST, SWEEP, Connection, Connections
from upstage.net.slices import SLICE, Slices
from upstage.net.sockets import StageSocket
from upstage.stage.limits import Addresses
from upstage.stage.stages import Stages
from upstage.stage.wire import Splitter


@pytest.fixture
def timed(stages: Stages) -> Connections:
    """Return connections that measure time with the reactor's clock."""
    clock = Clock()
    return Connections(stages, clock, clock=clock.seconds)


def test_an_overlong_frame_is_dropped_and_the_second_one_disconnects(connections: Connections) -> None:
    [client] = joined(connections)
    frames = client.send(b"msg=" + b"x" * 3000 + b"&mode=TEXT\0msg=short&mode=TEXT\0")
    assert frames == [b"text=short&mode=ANONTEXT"]
    assert not client.transport.disconnected
    client.send(b"y" * 3000)  # no NUL yet, but the frame is too long already
    assert client.transport.disconnected
    assert connections.stages.counts["overlong_frames"] == 2
    assert connections.stages.counts["cut_overlong"] == 1


def test_an_endless_message_is_cut(connections: Connections) -> None:
    client = SocketClient(connections, websocket=True)
    client.protocol.dataReceived(message(1, b"x" * 3000) + message(1, JOIN[:-1]))  # the first is tolerated
    client.protocol.dataReceived(message(1, b"x" * 1000, final=False) + message(0, b"x" * 1000, final=False))
    turn(connections)
    assert b"&mode=JOINED" in client.transport.value()
    assert not client.transport.disconnected
    client.protocol.dataReceived(message(0, b"x" * 1000, final=False))
    assert client.transport.disconnected
    assert connections.stages.counts["cut_overlong"] == 1


def test_binary_messages_are_the_tcp_stream(connections: Connections) -> None:
    client = SocketClient(connections, websocket=True)
    client.send(message(2, b"stage_ID=de"))
    client.send(message(2, JOIN[11:] + b"mode=LOADED\0mode=IN"))
    assert client.transport.value().endswith(b"mode=CONFIRM_LOADED\0")


def test_input_after_a_cut_is_ignored(connections: Connections) -> None:
    client = SocketClient(connections)
    client.send(JOIN + b"x" * 3000 + b"\0" + b"x" * 3000 + b"\0")
    assert client.send(b"msg=still%20here&mode=TEXT\0") == []


def after(connections: Connections, seconds: float) -> None:
    """Let time pass, with the server's checks of its clients."""
    clock = clock_of(connections)
    end = clock.seconds() + seconds
    while clock.seconds() < end:
        clock.advance(SWEEP)
        connections.sweep()
        turn(connections)


def test_a_client_that_does_not_join_in_time_is_cut(timed: Connections) -> None:
    silent, speaking, joined = SocketClient(timed), SocketClient(timed), SocketClient(timed)
    joined.send(JOIN)
    for _ in range(10):
        after(timed, PATIENCE / 10)
        assert not silent.transport.disconnected
        speaking.send(b"mode=NB\0")
    after(timed, SWEEP)
    assert silent.transport.disconnected
    assert speaking.transport.disconnected
    assert timed.stages.counts["cut_unjoined"] == 2
    after(timed, 10 * PATIENCE)
    assert not joined.transport.disconnected


def test_a_client_that_is_on_no_stage_any_more_is_cut(timed: Connections) -> None:
    lost, closed = SocketClient(timed), SocketClient(timed)
    lost.send(b"stage_ID=nowhere&mode=JOIN\0")
    closed.send(JOIN)
    after(timed, PATIENCE + SWEEP)
    assert lost.transport.disconnected
    timed.stages.remove("demo")
    after(timed, PATIENCE)
    assert not closed.transport.disconnected
    after(timed, 2 * SWEEP)
    assert closed.transport.disconnected
    assert timed.stages.counts["cut_unjoined"] == 2


def test_when_all_places_are_taken_those_that_have_not_joined_go(timed: Connections) -> None:
    timed.addresses = Addresses(timed.shared.clock, together=3)
    joined = [SocketClient(timed, "192.0.2.1") for _ in range(2)]
    for client in joined:
        client.send(JOIN)
    idle, newcomer = SocketClient(timed, "192.0.2.2"), SocketClient(timed, "192.0.2.3")
    idle.send(b"mode=NB\0")
    newcomer.send(JOIN)
    assert idle.transport.disconnected
    assert not any(client.transport.disconnected for client in (*joined, newcomer))


def test_many_clients_are_cut_in_slices_and_logged_in_one_line(stages: Stages) -> None:
    clock = Reactor()
    connections = Connections(stages, clock, clock=clock.seconds)
    connections._checks = Slices(clock, ticking(SLICE / 10))
    clients = [SocketClient(connections) for _ in range(MAX_LINES + 50)]
    clock.advance(PATIENCE + SWEEP)
    with capturedLogs() as logged:
        connections.sweep()
        assert not stages.counts["cut_unjoined"]
        turns = 0
        while connections._checks:
            clock.turn()
            turns += 1
        connections.sweep()
    assert all(client.transport.disconnected for client in clients)
    assert turns >= len(clients) / 10
    assert [event["log_format"] for event in logged[:MAX_LINES]] == ["cut off"] * MAX_LINES
    [others] = logged[MAX_LINES:]
    assert others["fields"] == {"unjoined": 50}
    connections.sweep()
    assert not connections._others


def test_a_frame_that_does_not_end_in_time_is_cut(timed: Connections) -> None:
    slow, stuck = SocketClient(timed), SocketClient(timed)
    for client in (slow, stuck):
        client.send(b"stage_ID=demo&mode=JOIN\0msg=he")
    for _ in range(4):
        after(timed, PATIENCE / 2)
        slow.send(b"llo&mode=TEXT\0msg=he")  # there is always an unfinished frame, but never the same one
    assert stuck.transport.disconnected
    assert timed.stages.counts["cut_unfinished"] == 1
    assert not slow.transport.disconnected


def test_time_in_which_the_server_reads_nothing_does_not_count(timed: Connections) -> None:
    client = SocketClient(timed)
    client.protocol._connection.pauseProducing()
    after(timed, 2 * PATIENCE)
    assert not client.transport.disconnected


@pytest.mark.parametrize("request_line", [b"GET / HTTP/1.1\r\n", b"OPTIONS /nice HTTP/1.0\r\n"])
def test_http_on_the_stage_port_is_hung_up_on(connections: Connections, request_line: bytes) -> None:
    client = SocketClient(connections)
    client.send(request_line)
    assert client.transport.disconnected
    assert connections.stages.counts["cut_http"] == 1


def test_a_failed_write_affects_one_client_only(connections: Connections) -> None:
    broken, well = joined(connections, 2)

    def fail(frame: bytes) -> None:
        raise RuntimeError("cannot be sent")

    broken.protocol._connection._write = fail
    assert well.send(b"msg=hi&mode=TEXT\0") == [b"text=hi&mode=ANONTEXT"]
    assert broken.transport.disconnected


def test_closing_waits_for_clients_that_read_and_cuts_the_others(connections: Connections) -> None:
    quick, slow = SocketClient(connections), SocketClient(connections)
    slow.protocol._connection.pauseProducing()
    clock = clock_of(connections)
    done = Deferred.fromCoroutine(connections.close(patience=1))
    for client in (quick, slow):
        assert client.transport.disconnecting
        assert client.transport.producer is None  # Twisted closes nothing that has a paused producer
    assert not slow.transport.disconnected
    quick.lose()
    clock.pump([0.1] * 5)
    assert not done.called
    clock.pump([0.1] * 6)
    assert done.called
    assert slow.transport.disconnected
    assert connections.stages.counts["cut_stop"] == 1


@pytest.mark.parametrize("limit", ["max_per_address", "max_together"])
def test_silent_connections_count_too(stages: Stages, limit: str) -> None:
    connections = Connections(stages, Clock(), **{limit: 2})
    clients = [SocketClient(connections) for _ in range(3)]
    connections.sweep()
    turn(connections)
    assert sum(client.transport.disconnected for client in clients) == 1


def test_a_client_that_answers_no_ping_is_cut(connections: Connections) -> None:
    pings: list[int] = []
    transport = StringTransport()
    ends = (transport.write, transport.loseConnection, lambda: "x", lambda: pings.append(1))
    connection = Connection(connections, transport, Splitter(), *ends)
    beat(connections)
    connection.received(b"")
    beat(connections)
    connection.received(b"mode=NB\0")
    beat(connections)
    assert len(pings) == 3
    assert not transport.disconnected
    beat(connections)
    assert transport.disconnected
    assert connections.stages.counts["cut_silent"] == 1


def draw_a_lot(connections: Connections) -> None:
    """Draw two thousand lines on the demo stage."""
    for number in range(2000):
        connections.stages.by_id["demo"].layers[0].point("DRAW_LINE", str(number), "7")


class Slow(StringTransport):
    """Says that its client is behind at each large write, until the client reads."""

    def write(self, data: bytes) -> None:
        super().write(data)
        if len(data) > 8000:
            self.producer.pauseProducing()


def test_a_client_that_does_not_read_is_not_read_from_and_then_cut(connections: Connections) -> None:
    slow, quick = joined(connections, 2)
    slow.protocol._connection.pauseProducing()  # as the transport does when its buffer is full
    assert slow.transport.producerState == "paused"
    for _ in range(20):
        assert len(quick.send(b"msg=" + b"x" * 100 + b"&mode=TEXT\0")) == 1
    assert slow.transport.disconnected
    assert not quick.transport.disconnected
    assert connections.stages.counts["cut_laggard"] == 1


def test_a_client_that_catches_up_is_no_longer_behind(connections: Connections) -> None:
    slow, quick = joined(connections, 2)
    for _ in range(10):
        slow.protocol._connection.pauseProducing()
        quick.send(b"msg=" + b"x" * 500 + b"&mode=TEXT\0")
        slow.protocol._connection.resumeProducing()
    assert not slow.transport.disconnected
    assert slow.transport.producerState == "producing"


def test_a_closing_connection_of_a_slow_client_is_unregistered(connections: Connections) -> None:
    """This happens if a WebSocket's close frame follows immediately after a JOIN with a long replay."""
    client = SocketClient(connections)
    client.protocol._connection.pauseProducing()
    client.transport.loseConnection()
    client.protocol._connection.resumeProducing()
    assert client.transport.producer is None


def test_the_heartbeat_cuts_a_client_that_has_not_read_since_the_last_one(connections: Connections) -> None:
    quiet, stalled = SocketClient(connections), SocketClient(connections)
    stalled.protocol._connection.pauseProducing()
    quiet.transport.clear()
    beat(connections)
    assert quiet.received() == [b"mode=HEARTBEAT"]
    assert not stalled.transport.disconnected
    stalled.protocol._connection.resumeProducing()
    beat(connections)
    assert not stalled.transport.disconnected
    stalled.protocol._connection.pauseProducing()
    beat(connections)
    beat(connections)
    assert stalled.transport.disconnected
    assert not quiet.transport.disconnected


def test_a_drawn_stage_is_sent_in_pieces_and_others_have_their_turn(
    connections: Connections,
) -> None:
    draw_a_lot(connections)
    client, other = SocketClient(connections), SocketClient(connections)
    other.send(JOIN)
    slow = Slow()
    client.protocol = StageSocket(connections)
    client.transport = slow
    client.protocol.makeConnection(slow)
    client.send(b"stage_ID=demo&mode=JOIN\0msg=early&mode=TEXT\0")
    heard = client.received()
    assert 0 < sum(b"DRAW_LINE" in frame for frame in heard) < 1000
    assert other.send(b"msg=hello&mode=TEXT\0") == [b"text=hello&mode=ANONTEXT"]
    assert client.received() == heard  # in order: after the drawing
    while slow.producerState == "paused" or client.protocol._connection._outgoing:
        slow.clear()
        slow.producer.resumeProducing()
        turn(connections)
        heard += client.received()
    drawn = [frame for frame in heard if b"DRAW_LINE" in frame]
    assert [frame.split(b"&")[1] for frame in drawn] == [b"x=%d" % number for number in range(2000)]
    chat = heard.index(b"text=hello&mode=ANONTEXT")
    assert heard.index(drawn[-1]) < chat < heard.index(b"text=early&mode=ANONTEXT")


def test_a_client_that_does_not_read_a_drawn_stage_is_cut_when_more_comes(connections: Connections) -> None:
    """The reply to its JOIN does not count: no client reads a whole stage at once."""
    draw_a_lot(connections)
    stuck, transport = StageSocket(connections), Slow()
    stuck.makeConnection(transport)
    stuck.dataReceived(JOIN)
    turn(connections)
    [other] = joined(connections)
    for _ in range(2):
        assert not transport.disconnected
        other.send(b"msg=" + b"x" * 600 + b"&mode=TEXT\0")
    assert transport.disconnected
    assert connections.stages.counts["cut_laggard"] == 1


def test_a_client_that_waits_for_its_turn_is_not_behind(connections: Connections) -> None:
    draw_a_lot(connections)
    other, waiting = SocketClient(connections), SocketClient(connections)
    other.send(JOIN)
    waiting.send_only(JOIN)
    line = b"msg=" + b"x" * 600 + b"&mode=TEXT\0"
    for _ in range(10):
        other.send_only(line * 4)
    assert not waiting.transport.disconnected
    producer = waiting.protocol._connection
    for _ in range(3):
        producer.pauseProducing()
        producer.resumeProducing()
    assert len(connections.shared.sending) == 1  # the client is in the queue only once
    while b"x=1999" not in waiting.transport.value():
        assert b"xxx" not in waiting.transport.value()
        clock_of(connections).advance(REST)
    assert sum(b"xxx" in frame for frame in waiting.received()) == 40  # in no further turns
    producer.pauseProducing()
    other.send(line * 2)
    assert waiting.transport.disconnected  # now the client counts as behind
