"""What clients see while the backend is down, and what malformed or forged requests achieve."""

import re
import socket
import time
import uuid

import pytest

from stack import Stack
from support.http import exchange

CACHED = ("localhost", "classic.localhost")
HEADER_TIMEOUT = 10  # seconds that nginx gives a client for its headers


def test_cached_media_are_served_while_the_backend_is_down(stack: Stack) -> None:
    known = "/media/bench/tiny.html"
    copies = {host: stack.get(known, host) for host in CACHED}
    assert [copy.status_code for copy in copies.values()] == [200, 200]
    stack.control("stop", "backend")
    try:
        for host in CACHED:
            copy = stack.get(known, host)
            assert (copy.status_code, copy.content) == (200, copies[host].content)

            missing = stack.get(f"/stages/{uuid.uuid4().hex}", host)
            assert missing.status_code == 503
            assert missing.headers["Retry-After"] == "5"
            assert missing.headers["Cache-Control"] == "no-store"
            assert "curtain" in missing.text
            assert not re.search("nginx/|varnish|twisted", missing.text, re.I)
        assert stack.get(known, "static.localhost").status_code == 200  # nginx reads it from the disk
        assert stack.get(known, "nginx.localhost").status_code == 503
    finally:
        stack.control("start", "backend")
        stack.wait_until_ready()


@pytest.mark.slow
def test_five_hundred_clients_that_dribble_their_headers_are_cut(stack: Stack) -> None:
    """The limit itself is tested in nginx/tests/test_timeouts.py; here others are served meanwhile."""
    address = ("127.0.0.1", stack.ports["HTTP_PORT"])
    clients = [socket.create_connection(address) for _ in range(500)]
    opened = time.monotonic()
    try:
        for client in clients:
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        while any(still_open(client) for client in clients):
            assert time.monotonic() < opened + HEADER_TIMEOUT + 5
            for client in clients:
                try:
                    client.sendall(b"a")
                except OSError:
                    continue
            assert stack.get("/media/bench/tiny.html").status_code == 200
            assert stack.get("/admin/id").status_code == 200
            time.sleep(1)
    finally:
        for client in clients:
            client.close()


def still_open(client: socket.socket) -> bool:
    """Whether the server has not closed the connection."""
    client.settimeout(0.05)
    try:
        while client.recv(4096):
            pass
    except TimeoutError:
        return True
    except OSError:
        return False
    return False


@pytest.mark.parametrize(
    ("message", "statuses"),
    [
        (
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"0\r\n\r\nGET /admin/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n",
            {400},
        ),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", {400, 421}),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 40_000 + b"\r\n\r\n", {400, 431}),
    ],
    ids=["two body lengths", "another host in the URL", "long header"],
)
def test_ambiguous_requests_are_rejected(stack: Stack, message: bytes, statuses: set[int]) -> None:
    """nginx rejects them on every site (nginx/tests/test_sites.py has all kinds)."""
    response = exchange(("127.0.0.1", stack.ports["HTTP_PORT"]), message)
    assert response.status in statuses
    assert response.headers["connection"] == "close"  # so no second request is read from those bytes


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Request-Id", "deadbeef"),
        ("X-Request-Id", 'a"b c'),
        ("Cache-Status", "varnish; hit; ttl=99"),
        ("X-Cache-Tags", "forged"),
        ("X-Accel-Redirect", "/etc/passwd"),
        ("Server-Timing", "forged;dur=1"),
        ("X-Outcome", "hit"),
        ("Proxy", "evil.example"),
    ],
)
def test_a_forged_header_changes_nothing(stack: Stack, name: str, value: str) -> None:
    path = f"/stages/?{uuid.uuid4().hex}"
    response = stack.get(path, headers={name: value})
    assert response.status_code == 200
    assert value not in str(response.headers)
    assert "fwd=uri-miss" in response.headers["Cache-Status"]
    assert re.fullmatch(r"[0-9a-f]{32}", response.headers["X-Request-Id"])
    assert not {"X-Cache-Tags", "X-Accel-Expires", "X-Path", "X-Varnish", "Via"} & set(response.headers)
