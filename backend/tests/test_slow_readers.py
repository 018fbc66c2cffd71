"""Clients that read slowly or not at all, on a transport without a network."""

from twisted.internet.testing import StringTransport

from fake_clients import JOIN, SocketClient, beat, clock_of, joined, turn
from upstage.net.connection import REST, Connections
from upstage.net.sockets import StageSocket


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


def test_the_reply_to_a_join_does_not_count(connections: Connections) -> None:
    """No client reads a whole stage at once, so only the frames after it count."""
    [talker] = joined(connections)
    for _ in range(20):
        talker.send(b"msg=" + b"x" * 100 + b"&mode=TEXT\0")  # the chat log is a part of the reply
    slow = SocketClient(connections)
    connection = slow.protocol._connection
    write = connection._write

    def write_to_a_full_buffer(data: bytes) -> None:
        write(data)
        connection.pauseProducing()  # as the transport does within the call

    connection._write = write_to_a_full_buffer
    reply = slow.send(JOIN)
    assert sum(map(len, reply)) > connections.max_unread
    assert not slow.transport.disconnected
    for _ in range(20):
        talker.send(b"msg=" + b"x" * 100 + b"&mode=TEXT\0")
    assert slow.transport.disconnected


def test_a_client_that_catches_up_is_no_longer_behind(connections: Connections) -> None:
    slow, quick = joined(connections, 2)
    for _ in range(10):
        slow.protocol._connection.pauseProducing()
        quick.send(b"msg=" + b"x" * 500 + b"&mode=TEXT\0")
        slow.protocol._connection.resumeProducing()
    assert not slow.transport.disconnected
    assert slow.transport.producerState == "producing"


def test_a_closing_connection_of_a_slow_client_is_unregistered(connections: Connections) -> None:
    """A WebSocket's close frame right after a JOIN with a long replay; found by test_fuzz.py."""
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


def test_a_drawn_stage_is_sent_in_pieces_between_which_others_have_their_turn(
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
    assert client.received() == heard  # in its order: after the drawing
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
    assert len(connections.shared.sending) == 1  # it waits once
    while b"x=1999" not in waiting.transport.value():
        assert b"xxx" not in waiting.transport.value()
        clock_of(connections).advance(REST)
    assert sum(b"xxx" in frame for frame in waiting.received()) == 40  # in no further turns
    producer.pauseProducing()
    other.send(line * 2)
    assert waiting.transport.disconnected  # now it is
