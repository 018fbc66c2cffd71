"""The server against honest and hostile clients, over real sockets."""

import asyncio
import random
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hostile
from policyd.journal import Journal
from policyd.listeners import open_listeners
from policyd.policy import load
from policyd.server import Limits, PolicyServer
from policyd.wire import REQUEST, Outcome, judge
from running_daemon import QUICK, SHIPPED, Daemon

Start = Callable[..., Daemon]


def connect(daemon: Daemon) -> socket.socket:
    return socket.create_connection((daemon.host, daemon.port), 5)


def read_all(sock: socket.socket) -> bytes:
    with sock.makefile("rb") as file:
        return file.read()


def test_the_answer_is_the_file_and_one_nul(daemon: Daemon) -> None:
    with connect(daemon) as sock:
        sock.sendall(REQUEST)
        answer = read_all(sock)
    assert answer == daemon.policy.answer
    assert answer.count(b"\0") == 1
    assert answer.endswith(b"\0")


@pytest.mark.parametrize("client", hostile.CLIENTS, ids=lambda client: client.name)
def test_hostile_client_gets_what_it_deserves_and_the_next_is_served_at_once(
    daemon: Daemon, client: hostile.Hostile
) -> None:
    assert client.play(daemon.host, daemon.port, QUICK.deadline) == client.expected
    begin = time.monotonic()
    assert hostile.honest(daemon.host, daemon.port) == "answer"
    assert time.monotonic() - begin < QUICK.deadline / 2
    assert daemon.journal.counts["error"] == 0


@pytest.mark.parametrize(
    ("data", "outcome"),
    [
        (REQUEST, "served"),
        (REQUEST * 3, "served"),
        (REQUEST[:-1] + b"\r\n", "bad-request"),
        (b"GET / HTTP/1.0\r\n\r\n", "bad-request"),
        (b"x" * 64, "bad-request"),
        (b"x" * 65, "too-long"),
        (REQUEST[:-1] + b" " * 100, "too-long"),
        (REQUEST[:-1], "timeout"),
        (b"", "timeout"),
    ],
)
def test_outcome_is_counted_and_logged(daemon: Daemon, data: bytes, outcome: str) -> None:
    with connect(daemon) as sock:
        sock.sendall(data)
        own_port = sock.getsockname()[1]
        assert daemon.counted(outcome) == 1
    (line,) = daemon.log
    assert (line["event"], line["outcome"]) == ("connection", outcome)
    assert (line["address"], line["port"]) == ("127.0.0.1", own_port)
    assert line["received"] == min(len(data), 65)
    assert line.get("request", data[:64].decode()) == data[:64].decode()


def test_closed_early_and_reset_are_told_apart(daemon: Daemon) -> None:
    with connect(daemon) as sock:
        sock.sendall(REQUEST[:5])
    assert daemon.counted("closed-early") == 1
    with connect(daemon) as sock:
        sock.sendall(REQUEST[:5])
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert daemon.counted("reset") == 1


def test_no_well_behaved_client_ever_sees_a_reset(daemon: Daemon) -> None:
    for _ in range(300):
        with connect(daemon) as sock:
            sock.sendall(REQUEST)
            assert read_all(sock) == daemon.policy.answer  # raises ConnectionResetError


def test_bytes_sent_late_do_not_cost_the_answer(daemon: Daemon) -> None:
    # The answer lies unread in the client's buffer when the trailing bytes reach the server.
    for _ in range(20):
        with connect(daemon) as sock:
            sock.sendall(REQUEST)
            time.sleep(0.01)
            sock.sendall(b"trailing" * 500)
            time.sleep(0.01)
            assert read_all(sock) == daemon.policy.answer


def test_lingering_is_bounded_in_time(daemon: Daemon) -> None:
    with connect(daemon) as sock:
        sock.sendall(REQUEST)
        assert read_all(sock) == daemon.policy.answer
        until = time.monotonic() + QUICK.linger + hostile.SLACK
        with pytest.raises(ConnectionError):  # noqa: PT012 - the server goes on reading, but not for ever
            while time.monotonic() < until:
                sock.sendall(b"x")
                time.sleep(0.02)


def test_lingering_is_bounded_in_bytes(start: Start) -> None:
    daemon = start(Limits(deadline=30, linger=30, linger_bytes=65_536))
    with connect(daemon) as sock, pytest.raises(ConnectionError):
        sock.sendall(REQUEST + b"x" * 50_000_000)


def test_total_cap_refuses_at_once_and_recovers(start: Start) -> None:
    limits = Limits(deadline=0.8, linger=0.5, max_connections=5, max_per_address=100)
    daemon = start(limits)
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(connect(daemon))
        begin = time.monotonic()
        assert hostile.honest(daemon.host, daemon.port) == "nothing"
        assert time.monotonic() - begin < limits.deadline / 2
        assert daemon.counted("refused-total") == 1
    assert daemon.counted("closed-early", 5) == 5
    assert hostile.honest(daemon.host, daemon.port) == "answer"


def test_per_address_cap_leaves_room_for_other_addresses(start: Start) -> None:
    daemon = start(Limits(deadline=5, max_connections=10, max_per_address=3))
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(connect(daemon))
        assert hostile.honest(daemon.host, daemon.port) == "nothing"
        assert daemon.counted("refused-per-address") == 1
        elsewhere = ("127.0.0.9", 0)
        with socket.create_connection((daemon.host, daemon.port), 5, elsewhere) as sock:
            sock.sendall(REQUEST)
            assert read_all(sock) == daemon.policy.answer
    assert daemon.counted("closed-early", 3) == 3
    assert hostile.honest(daemon.host, daemon.port) == "answer"


def test_log_is_bounded_under_attack_and_counts_everything(start: Start) -> None:
    daemon = start(lines_per_second=10)
    for _ in range(200):
        hostile.connect_and_close(daemon.host, daemon.port, 1)
    assert daemon.counted("closed-early", 200) == 200
    assert len(daemon.log) == 10
    daemon.journal.tick()
    assert daemon.log[-1]["event"] == "summary"
    assert daemon.log[-1]["outcomes"] == {"closed-early": 190}
    assert hostile.honest(daemon.host, daemon.port) == "answer"
    assert daemon.counted("served") == 1
    assert daemon.log[-1]["outcome"] == "served"


def test_stop_finishes_the_honest_and_ends_the_silent(start: Start) -> None:
    daemon = start(Limits(deadline=30))
    with connect(daemon) as slow, connect(daemon) as silent:
        slow.sendall(REQUEST[:10])
        time.sleep(0.1)
        begin = time.monotonic()
        stopping = threading.Thread(target=daemon.close)
        stopping.start()
        time.sleep(0.2)
        slow.sendall(REQUEST[10:])
        assert read_all(slow) == daemon.policy.answer
        assert read_all(silent) == b""
        stopping.join(10)
        assert time.monotonic() - begin < 5
    assert daemon.journal.counts == {"served": 1, "stopped": 1}


def test_a_full_backlog_is_served_in_turn_not_refused() -> None:
    async def serve(listener: socket.socket) -> Journal:
        journal = Journal(lambda line: None)
        server = PolicyServer(load(SHIPPED), Limits(max_connections=5), journal)
        server.start([listener])
        async with asyncio.timeout(10):
            while journal.counts.total() < 40:
                await asyncio.sleep(0.01)
        await server.stop()
        return journal

    (listener,) = open_listeners(["127.0.0.1"], 0)
    with ExitStack() as stack:
        for _ in range(40):
            client = stack.enter_context(socket.create_connection(listener.getsockname(), 5))
            client.sendall(REQUEST)
            client.shutdown(socket.SHUT_WR)
        assert asyncio.run(serve(listener)).counts == {"served": 40}


def test_ipv6(start: Start) -> None:
    try:
        daemon = start(host="::1")
    except OSError:
        pytest.skip("no IPv6 on this machine")
    assert hostile.honest("::1", daemon.port) == "answer"
    assert daemon.log[0]["address"] == "::1"


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in pairwise(edges)]


NEAR_MISSES = st.builds(
    lambda place, byte: REQUEST[:place] + bytes([byte]) + REQUEST[place + 1 :],
    st.integers(0, 22),
    st.integers(0, 255),
)
ANYTHING = st.one_of(st.binary(max_size=200), NEAR_MISSES, st.binary(max_size=80).map(REQUEST.__add__))


@given(ANYTHING, st.lists(st.integers(0, 300), max_size=6))
def test_the_verdict_does_not_depend_on_how_a_request_is_cut(data: bytes, places: list[int]) -> None:
    received = b""
    verdict = None
    for packet in cut(data, places):
        received += packet
        verdict = judge(received)
        if verdict is not None:
            break
    if data.startswith(REQUEST):
        assert verdict is Outcome.SERVED
    elif REQUEST.startswith(data):
        assert verdict is None
    else:
        assert verdict in (Outcome.BAD_REQUEST, Outcome.TOO_LONG)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ANYTHING, st.lists(st.integers(0, 300), max_size=6))
def test_arbitrary_bytes_cut_arbitrarily(daemon: Daemon, data: bytes, places: list[int]) -> None:
    with connect(daemon) as sock:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for packet in cut(data, places):
                sock.sendall(packet)
            sock.shutdown(socket.SHUT_WR)
            answer = read_all(sock)
        except OSError:  # a reset, deserved unless the request was right
            answer = b""
    assert answer == (daemon.policy.answer if data.startswith(REQUEST) else b"")
    assert daemon.journal.counts["error"] == 0


def test_a_mixed_crowd_leaves_nothing_behind(daemon: Daemon) -> None:
    quick = [client for client in hostile.CLIENTS if client.expected == "left"]
    rng = random.Random(2011)
    for _ in range(10):
        rng.choice(quick).play(daemon.host, daemon.port, QUICK.deadline)
    assert hostile.honest(daemon.host, daemon.port) == "answer"
    until = time.monotonic() + 5
    while daemon._server._open and time.monotonic() < until:
        time.sleep(0.02)
    assert not daemon._server._open
    assert not daemon._server._per_address
