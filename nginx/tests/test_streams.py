"""The ports that do not speak HTTP."""

import contextlib
import re
import socket
from functools import partial

import pytest

from nginx.tests.nginx_server import NginxServer
from tests.support.ports import free_ports
from tests.support.wait import wait_until

SETTINGS = {"CLIENT_STAGE_CONNECTIONS": "350"}


def test_the_stage_gets_the_clients_address_and_then_every_byte(server: NginxServer) -> None:
    with server.connect(server.stage) as connection, connection.makefile("rb") as stream:
        own = connection.getsockname()[1]
        assert stream.readline() == f"PROXY TCP4 127.0.0.1 {server.address} {own} {server.stage}\r\n".encode()
        connection.sendall(b"mode=join\0\xff\0")
        assert stream.read(12) == b"MODE=JOIN\0\xff\0"
    (line,) = wait_until(lambda: server.log_lines(f"stream:{server.stage} 200 "))
    assert re.match(r"127\.0\.0\.1 .*in=12 ", line)


def test_little_is_kept_for_a_client_of_the_stage_that_does_not_read(server: NginxServer) -> None:
    """If nginx kept more, the backend, which disconnects such clients, would notice them minutes later."""
    for port in (server.stage, server.load_stage):
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.connect((server.address, port))
            client.settimeout(0.5)
            with contextlib.suppress(TimeoutError):  # the origin, which echoes, can write no more
                while True:
                    client.send(b"x" * 65536)
        (line,) = wait_until(partial(server.log_lines, f"stream:{port} 200 .* in=[1-9]\\d{{5}}"))
        written = re.search(r"out=(\d+)", line)
        assert written
        assert 10_000 < int(written[1]) < 400_000


def test_direct_is_bytes_after_the_clients_address(server: NginxServer) -> None:
    """nginx passes on any bytes: it neither reads nor adds a header, and does not look at the Host."""
    sent = b"GET /%61dmin HTTP/1.1\r\nhost: nobody.example\r\nx-real-ip: 192.0.2.66\r\n\r\n"
    with server.connect(server.direct) as connection, connection.makefile("rb") as stream:
        own = connection.getsockname()[1]
        header = f"PROXY TCP4 127.0.0.1 {server.address} {own} {server.direct}\r\n"
        assert stream.readline() == header.encode()
        connection.sendall(sent)
        assert stream.read(len(sent)) == sent.upper()
    assert wait_until(lambda: server.log_lines(f"stream:{server.direct} 200 "))


def test_direct_on_two_ports_and_never_with_all_of_nginxs_connections(fresh: NginxServer) -> None:
    [other] = free_ports(1, fresh.address)
    fresh.settings["LISTEN_DIRECT"] += f" {fresh.address}:{other}"
    fresh.edit("streams/direct.conf.template", "limit_conn direct 2000;", "limit_conn direct 20;")
    fresh.start()
    assert hold(fresh, other, 15) == 15
    assert wait_until(lambda: hold(fresh, fresh.direct, 30) == 20)


def test_direct_is_no_site_of_the_other_ports(server: NginxServer) -> None:
    response = server.request("/", "direct.localhost")
    assert response.status == 421
    assert "make up EXTRAS=direct" in response.text
    assert not server.requests


def test_the_policy_answers_a_half_closed_connection(server: NginxServer) -> None:
    with server.connect(server.policy) as connection:
        connection.sendall(b"<policy-file-request/>\0")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b"<POLICY-FILE-REQUEST/>\0"


def hold(server: NginxServer, port: int, count: int) -> int:
    """Open `count` connections at once; return how many of them are served."""
    opened = [server.connect(port) for _ in range(count)]
    try:
        served = 0
        for connection in opened:
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"bravo")
                served += bool(connection.recv(100))
        return served
    finally:
        for connection in opened:
            connection.close()


def test_each_port_has_room_for_a_class_and_a_limit(server: NginxServer) -> None:
    assert hold(server, server.stage, 300) == 300
    assert wait_until(lambda: hold(server, server.stage, 360) == 350)
    assert wait_until(lambda: hold(server, server.policy, 110) == 100)
    assert wait_until(lambda: hold(server, server.locust_page, 60) == 50)


def test_the_load_ports_have_no_limit_for_one_client(server: NginxServer) -> None:
    assert hold(server, server.load_stage, 410) == 410
    assert hold(server, server.load_policy, 410) == 410


@pytest.mark.parametrize(
    ("file", "before", "most", "port"),
    [
        ("scripts/table.sh", "BACKEND_CONNECTIONS=", 6500, "load_stage"),
        ("streams/policy.conf.template", "policy_total ", 1500, "load_policy"),
        ("streams/locust.conf.template", "locust_total ", 500, "locust_page"),
    ],
)
def test_all_clients_of_a_port_leave_connections_to_the_others(
    fresh: NginxServer, file: str, before: str, most: int, port: str
) -> None:
    fresh.edit(file, f"{before}{most}", f"{before}20")
    fresh.start()
    assert hold(fresh, getattr(fresh, port), 30) == 20
