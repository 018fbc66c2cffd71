"""Slow clients. The limits are those of nginx/limits/timeouts.conf.template, ten times shorter or more."""

import contextlib
import http.client
import select
import socket
import time
from collections.abc import Iterator

import pytest

from nginx.tests.nginx_server import NginxServer
from tests.support.http import receive
from tests.support.origin import response
from tests.support.wait import wait_until


@pytest.fixture(scope="module")
def server() -> Iterator[NginxServer]:
    """Yield an nginx with short limits. The first text of each pair is deployed, and must exist."""
    with NginxServer() as running:
        for deployed, short in [
            ("client_header_timeout 10s", "client_header_timeout 1s"),
            ("client_body_timeout 20s", "client_body_timeout 1s"),
            ("send_timeout 30s", "send_timeout 1s"),
            ("keepalive_timeout 60s", "keepalive_timeout 1s"),
        ]:
            running.edit("limits/timeouts.conf.template", deployed, short)
        running.start()
        yield running


def ended(connection: socket.socket) -> bool:
    """Return whether nginx has closed or reset the connection."""
    if not select.select([connection], [], [], 0)[0]:
        return False
    try:
        return connection.recv(65536) == b""
    except OSError:
        return True


def test_dribbled_headers_are_cut_while_other_clients_are_served(server: NginxServer) -> None:
    began = time.monotonic()
    slow = [server.connect() for _ in range(100)]
    for connection in slow:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
    took: list[float] = []
    while time.monotonic() < began + 10 and not all(map(ended, slow)):
        for connection in slow:
            with contextlib.suppress(OSError):
                connection.send(b"x")  # never silent for long: only the whole request is too slow
        asked = time.monotonic()
        assert server.request("/honest").status == 200
        took.append(time.monotonic() - asked)
        time.sleep(0.05)
    assert all(map(ended, slow))
    assert 0.9 < time.monotonic() - began < 10
    assert sorted(took)[len(took) // 2] < 0.9  # no honest client waits for slow ones
    for connection in slow:
        connection.close()


def test_a_body_that_stops_is_cut(server: NginxServer) -> None:
    with server.connect() as connection:
        connection.sendall(b"POST /stopped HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc")
        began = time.monotonic()
        assert receive(connection).status in (0, 408)
        assert time.monotonic() - began > 0.9
    assert "/stopped" not in server.varnish.targets


def test_a_body_that_is_slow_but_steady_arrives(server: NginxServer) -> None:
    with server.connect() as connection:
        connection.sendall(b"POST /steady HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n")
        for byte in b"steps":
            time.sleep(0.3)
            connection.sendall(bytes([byte]))
        assert receive(connection).status == 200
    assert server.varnish.requests[-1].body == b"steps"


def test_a_reader_that_stops_is_cut_with_a_reset(server: NginxServer) -> None:
    server.varnish.respond = lambda _: response(b"x" * 20_000_000)
    with server.connect() as connection:
        connection.sendall(b"GET /unread HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: server.log_lines("/unread"))
        with pytest.raises(ConnectionResetError):
            connection.makefile("rb").read()


def test_an_idle_connection_is_closed(server: NginxServer) -> None:
    with server.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        receive(connection)
        time.sleep(0.3)
        assert not ended(connection)
        assert connection.recv(1) == b""


def test_a_connection_serves_more_requests_than_nginx_allows_by_itself(server: NginxServer) -> None:
    client = http.client.HTTPConnection(server.address, server.load, timeout=60)
    client.connect()
    connection = client.sock
    for _ in range(1500):
        client.request("GET", "/.nginx/health")
        client.getresponse().read()
        assert client.sock is connection
    client.close()
