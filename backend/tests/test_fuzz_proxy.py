"""Random bytes where a proxy's header is expected, before the stage socket: no error, no client left."""

import struct

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.protocols.haproxy._wrapper import HAProxyWrappingFactory
from twisted.python.failure import Failure

from demo_stage import with_demo
from fake_clients import JOIN, turn
from many_examples import EXAMPLES, holds
from upstage.net.connection import Connections
from upstage.net.sockets import StageSocketFactory
from upstage.stage.stages import Stages

WORDS = [
    b"PROXY",
    b" ",
    b"TCP4",
    b"TCP6",
    b"UNKNOWN",
    b"192.0.2.1",
    b"2001:db8::1",
    b"4711",
    b"65536",
    b"-1",
    b"\r\n",
    b"\n",
]
LINES = st.lists(st.sampled_from(WORDS) | st.binary(max_size=5), max_size=14).map(b"".join)
GOOD = st.sampled_from(
    [
        b"PROXY TCP4 192.0.2.1 192.0.2.2 4711 7230\r\n",
        b"PROXY TCP6 2001:db8::1 ::1 1 2\r\n",
        b"PROXY UNKNOWN\r\n",
    ]
)
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
BINARY = st.builds(
    lambda version, family, length, body: SIGNATURE + struct.pack("!BBH", version, family, length) + body,
    st.sampled_from([0x21, 0x20, 0x22, 0x11, 0x2F]),
    st.sampled_from([0x11, 0x21, 0x31, 0x12, 0x00, 0x41]),
    st.sampled_from([0, 12, 36, 216, 1, 65535]),
    st.binary(max_size=230),
)
HEADERS = GOOD | LINES | BINARY | st.binary(max_size=120)


@EXAMPLES
def test_any_bytes_in_place_of_a_header_do_no_harm(examples: int) -> None:
    @given(
        HEADERS,
        st.lists(st.just(JOIN) | st.binary(max_size=40), max_size=4),
        st.lists(st.integers(0, 300), max_size=4),
    )
    def prove(header: bytes, frames: list[bytes], cuts: list[int]) -> None:
        connections = Connections(with_demo(Stages()), Clock(), max_unread=100_000)
        protocol = HAProxyWrappingFactory(StageSocketFactory(connections)).buildProtocol(None)
        transport = StringTransport()
        protocol.makeConnection(transport)
        stream = header + b"".join(frames)
        ends = sorted({min(cut, len(stream)) for cut in cuts} | {len(stream)})
        for start, end in zip([0, *ends], ends, strict=False):
            if not transport.disconnecting and not transport.disconnected:
                protocol.dataReceived(stream[start:end])
                turn(connections)
        protocol.connectionLost(Failure(ConnectionDone()))
        turn(connections)
        assert len(connections.stages.by_id["demo"].members) == 0

    holds(prove, examples)
