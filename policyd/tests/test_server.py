"""The server against well-behaved and hostile clients, over real sockets."""

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hostile
from policyd.log import Log
from policyd.policy import REQUEST, load
from policyd.server import Limits, PolicyServer, open_listeners
from running_daemon import QUICK, SHIPPED, Daemon
from support.wait import wait_until

Start = Callable[..., Daemon]


def connect(daemon: Daemon, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection((daemon.host, daemon.port), 5, (source, 0))


def read_all(sock: socket.socket) -> bytes:
    with sock.makefile("rb") as file:
        return file.read()


@pytest.mark.parametrize("client", hostile.CLIENTS, ids=lambda client: client.name)
def test_a_hostile_client_delays_no_other(daemon: Daemon, client: hostile.Hostile) -> None:
    assert client.play(daemon.host, daemon.port, QUICK.deadline) == client.expected
    begin = time.monotonic()
    with connect(daemon) as sock:
        sock.sendall(REQUEST)
        assert read_all(sock) == daemon.policy.answer
    assert time.monotonic() - begin < QUICK.deadline / 2
    assert daemon.log.counts["error"] == 0
    wait_until(lambda: not daemon.server._open and not daemon.server._per_address)


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
def test_an_outcome_is_counted_and_logged(daemon: Daemon, data: bytes, outcome: str) -> None:
    with connect(daemon) as sock:
        sock.sendall(data)
        own_port = sock.getsockname()[1]
        assert daemon.has_counted(**{outcome: 1})
    (line,) = daemon.lines
    assert (line["event"], line["outcome"]) == ("connection", outcome)
    assert (line["address"], line["port"]) == ("127.0.0.1", own_port)
    assert line["received"] == min(len(data), 65)
    assert line.get("request", data[:64].decode()) == data[:64].decode()


def test_an_early_close_is_told_from_a_reset(daemon: Daemon) -> None:
    with connect(daemon) as sock:
        sock.sendall(REQUEST[:5])
    assert daemon.has_counted(closed_early=1)
    with connect(daemon) as sock:
        sock.sendall(REQUEST[:5])
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert daemon.has_counted(reset=1)


def test_late_bytes_do_not_destroy_the_answer(daemon: Daemon) -> None:
    # The answer is unread in the client's buffer when the trailing bytes reach the server.
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
        with pytest.raises(ConnectionError):  # noqa: PT012
            while time.monotonic() < until:
                sock.sendall(b"x")
                time.sleep(0.02)


def test_lingering_is_bounded_in_bytes(start: Start) -> None:
    daemon = start(limits=Limits(deadline=30, linger=30, linger_bytes=65_536))
    with connect(daemon) as sock, pytest.raises(ConnectionError):
        sock.sendall(REQUEST + b"x" * 50_000_000)


@pytest.mark.parametrize(
    ("limits", "outcome"),
    [
        (Limits(max_connections=3, max_per_address=100), "refused-total"),
        (Limits(max_connections=10, max_per_address=3), "refused-per-address"),
    ],
)
def test_a_connection_over_a_cap_is_closed_at_once(start: Start, limits: Limits, outcome: str) -> None:
    daemon, answer = start(limits=limits), b""
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(connect(daemon))
        begin = time.monotonic()
        assert hostile.honest(daemon.host, daemon.port) == "nothing"
        assert time.monotonic() - begin < limits.deadline / 2
        assert daemon.has_counted(**{outcome: 1})
        with connect(daemon, "127.0.0.9") as sock, suppress(ConnectionError):
            sock.sendall(REQUEST)
            answer = read_all(sock)
        # The cap of one address leaves room for others.
        assert answer == (daemon.policy.answer if outcome == "refused-per-address" else b"")
    assert daemon.has_counted(closed_early=3)
    assert hostile.honest(daemon.host, daemon.port) == "answer"


def test_the_log_is_bounded_and_counts_everything(start: Start) -> None:
    daemon = start(lines_per_second=10)
    for _ in range(200):
        hostile.connect_and_close(daemon.host, daemon.port, 1)
    assert daemon.has_counted(closed_early=200)
    assert len(daemon.lines) == 10
    daemon.log.tick()
    assert daemon.lines[-1]["event"] == "summary"
    assert daemon.lines[-1]["outcomes"] == {"closed-early": 190}
    daemon.log.tick()
    assert len(daemon.lines) == 11  # summed up once
    assert hostile.honest(daemon.host, daemon.port) == "answer"
    assert daemon.has_counted(served=1)
    assert daemon.lines[-1]["outcome"] == "served"


def test_a_stop_lets_a_client_finish_and_ends_a_silent_one(start: Start) -> None:
    daemon = start(limits=Limits(deadline=30))
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
    assert daemon.log.counts == {"served": 1, "stopped": 1}


def test_connections_in_the_backlog_are_served_in_turn() -> None:
    async def serve(listener: socket.socket) -> Log:
        log = Log(lambda line: None)
        server = PolicyServer(load(SHIPPED), Limits(max_connections=5), log)
        server.start([listener])
        async with asyncio.timeout(10):
            while log.counts.total() < 40:
                await asyncio.sleep(0.01)
        await server.stop()
        return log

    (listener,) = open_listeners(["127.0.0.1"], 0)
    with ExitStack() as stack:
        for _ in range(40):
            client = stack.enter_context(socket.create_connection(listener.getsockname(), 5))
            client.sendall(REQUEST)
            client.shutdown(socket.SHUT_WR)
        assert asyncio.run(serve(listener)).counts == {"served": 40}


def test_an_ipv6_client_is_served(start: Start) -> None:
    try:
        daemon = start(host="::1")
    except OSError:
        pytest.skip("no IPv6 on this machine")
    assert hostile.honest("::1", daemon.port) == "answer"
    assert daemon.lines[0]["address"] == "::1"


ANYTHING = st.one_of(
    st.binary(max_size=200),
    st.builds(
        lambda place, byte: REQUEST[:place] + bytes([byte]) + REQUEST[place + 1 :],
        st.integers(0, 22),
        st.integers(0, 255),
    ),
    st.binary(max_size=80).map(REQUEST.__add__),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ANYTHING, st.lists(st.integers(0, 300), max_size=6))
def test_only_the_request_is_answered_however_it_is_cut(
    daemon: Daemon, data: bytes, places: list[int]
) -> None:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    with connect(daemon) as sock:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for begin, end in pairwise(edges):
                sock.sendall(data[begin:end])
            sock.shutdown(socket.SHUT_WR)
            answer = read_all(sock)
        except OSError:  # a reset, which only a wrong request gets
            answer = b""
    assert answer == (daemon.policy.answer if data.startswith(REQUEST) else b"")
    assert daemon.log.counts["error"] == 0
