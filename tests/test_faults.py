"""What the audience sees while something behind the front of stack is broken, changed or under attack."""

import re
import socket
import time
import uuid

import pytest

from stack import Stack
from support.wait import wait_until

CACHED = ("localhost", "classic.localhost")
ALL = (*CACHED, "nginx.localhost", "static.localhost")
DEADLINE = 10  # seconds that nginx gives a client for its headers


def test_the_programme_goes_on_while_the_backend_is_away(stack: Stack) -> None:
    known = "/media/bench/tiny.html"
    bodies = {host: stack.get(known, host).content for host in CACHED}
    stack.control("stop", "backend")
    try:
        for host in CACHED:
            copy = stack.get(known, host)
            assert (copy.status_code, copy.content) == (200, bodies[host])

            missing = stack.get(f"/stages/{uuid.uuid4().hex}", host)
            assert missing.status_code == 503
            assert missing.headers["Retry-After"] == "5"
            assert missing.headers["Cache-Control"] == "no-store"
            assert "curtain" in missing.text
            assert not re.search("nginx/|varnish|twisted", missing.text, re.I)
        assert stack.get(known, "static.localhost").status_code == 200  # nginx needs nobody for it
        assert stack.get(known, "nginx.localhost").status_code == 503
    finally:
        stack.control("start", "backend")
        wait_until(lambda: stack.get("/admin/id", "nginx.localhost").status_code == 200, within=30)
    wait_until(lambda: stack.get(f"/stages/?{uuid.uuid4().hex}").status_code == 200, within=10)


def test_five_hundred_who_dribble_their_headers_are_cut(stack: Stack) -> None:
    address = ("127.0.0.1", stack.ports["HTTP_PORT"])
    dribblers = [socket.create_connection(address) for _ in range(500)]
    opened = time.monotonic()
    try:
        for dribbler in dribblers:
            dribbler.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        while any(still_open(dribbler) for dribbler in dribblers):
            assert time.monotonic() < opened + DEADLINE + 5
            for dribbler in dribblers:
                try:
                    dribbler.sendall(b"a")
                except OSError:
                    continue
            assert stack.get("/media/bench/tiny.html").status_code == 200
            assert stack.get("/admin/id").status_code == 200
            time.sleep(1)
    finally:
        for dribbler in dribblers:
            dribbler.close()


def still_open(client: socket.socket) -> bool:
    """Whether the other end has not closed."""
    client.settimeout(0.05)
    try:
        while client.recv(4096):
            pass
    except TimeoutError:
        return True
    except OSError:
        return False
    return False


def raw(stack: Stack, request: bytes) -> bytes:
    """Send bytes as they are to the public port; all that comes back within 3 seconds."""
    with socket.create_connection(("127.0.0.1", stack.ports["HTTP_PORT"]), timeout=3) as client:
        client.sendall(request)
        answer = b""
        try:
            while more := client.recv(65536):
                answer += more
        except TimeoutError:
            pass
    return answer


@pytest.mark.parametrize("host", ALL)
@pytest.mark.parametrize(
    ("request_", "statuses"),
    [
        # Whoever reads Content-Length and whoever reads Transfer-Encoding would see different requests.
        (
            b"POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"0\r\n\r\nGET /admin/smuggled HTTP/1.1\r\nHost: %s\r\n\r\n",
            {400},
        ),
        (b"POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", {400}),
        (b"POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: +3\r\n\r\nabc", {400}),
        (b"POST / HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", {400, 501}),
        (b"GET / HTTP/1.1\r\nHost: %s\r\nHost: evil.example\r\n\r\n", {400}),
        (b"GET / HTTP/1.1\r\n\r\n", {400}),
        (b"GET / HTTP/1.1\r\nHost: %s\r\nX : y\r\n\r\n", {400}),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", {421, 400}),
        (b"GET / HTTP/1.1\r\nHost: %s\r\nX-Long: " + b"x" * 40_000 + b"\r\n\r\n", {400, 431}),
        (b"GET /" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: %s\r\n\r\n", {414}),
        (b"GARBAGE\r\n\r\n", {400}),
    ],
    ids=[
        "cl-and-te",
        "two-lengths",
        "odd-length",
        "odd-encoding",
        "two-hosts",
        "no-host",
        "space-before-colon",
        "another-stack-by-url",
        "long-header",
        "long-url",
        "no-http",
    ],
)
def test_what_is_no_proper_request_goes_no_further(
    stack: Stack, host: str, request_: bytes, statuses: set[int]
) -> None:
    answer = raw(stack, request_.replace(b"%s", host.encode()))
    found = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", answer)]
    assert len(found) == 1, answer
    assert found[0] in statuses, answer


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
    answer = stack.get(path, headers={name: value})
    assert answer.status_code == 200
    assert value not in str(answer.headers)
    assert "fwd=uri-miss" in answer.headers["Cache-Status"]
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["X-Request-Id"])
    assert not {"X-Cache-Tags", "X-Accel-Expires", "X-Path", "X-Varnish", "Via"} & set(answer.headers)
