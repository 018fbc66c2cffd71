"""Clients that take their time. The limits are those of clients.conf, ten times shorter."""

import contextlib
import re
import select
import socket
import time
from collections.abc import Iterator

import pytest

from front import Front, eventually, receive
from tiers import response


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    """Time runs ten times faster in here."""
    with Front() as running:
        clients = running.conf / "clients.conf"
        text, changed = re.subn(r"(\d+)0s;", r"\1s;", clients.read_text())
        assert changed == 4
        clients.write_text(text)
        running.start()
        yield running


def ended(connection: socket.socket) -> bool:
    """Tell whether nginx has closed it, in whichever way."""
    if not select.select([connection], [], [], 0)[0]:
        return False
    try:
        return connection.recv(65536) == b""
    except OSError:
        return True


def test_dribbled_headers_are_cut_and_an_honest_client_is_served(front: Front) -> None:
    began = time.monotonic()
    slow = [front.connect() for _ in range(100)]
    for connection in slow:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
    took: list[float] = []
    while time.monotonic() < began + 3 and not all(map(ended, slow)):
        for connection in slow:
            with contextlib.suppress(OSError):
                connection.send(b"x")  # never quiet for long: it is the whole that is too slow
        asked = time.monotonic()
        assert front.ask("/honest").status == 200
        took.append(time.monotonic() - asked)
        time.sleep(0.05)
    assert all(map(ended, slow))
    assert 0.9 < time.monotonic() - began < 2
    assert sorted(took)[len(took) // 2] < 0.1
    for connection in slow:
        connection.close()


def test_a_body_that_stops_is_cut(front: Front) -> None:
    with front.connect() as connection:
        connection.sendall(b"POST /stopped HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc")
        began = time.monotonic()
        assert receive(connection).status in (0, 408)
        assert 1.5 < time.monotonic() - began < 4
    assert not any(seen.target == "/stopped" for seen in front.varnish.seen)


def test_a_body_that_is_slow_but_steady_arrives(front: Front) -> None:
    with front.connect() as connection:
        connection.sendall(b"POST /steady HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n")
        for byte in b"steps":
            time.sleep(0.6)
            connection.sendall(bytes([byte]))
        assert receive(connection).status == 200
    assert front.varnish.seen[-1].body == b"steps"


def test_a_reader_that_stops_is_cut_with_a_reset(front: Front) -> None:
    front.varnish.answer = lambda _: response(b"x" * 20_000_000)
    with front.connect() as connection:
        connection.sendall(b"GET /unread HTTP/1.1\r\nHost: localhost\r\n\r\n")
        eventually(lambda: front.lines("/unread"), within=8)
        with pytest.raises(ConnectionResetError):
            connection.makefile("rb").read()
    front.varnish.answer = None


def test_a_connection_without_a_request_is_closed(front: Front) -> None:
    with front.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        receive(connection)
        time.sleep(0.3)
        assert not ended(connection)
        began = time.monotonic()
        assert connection.recv(1) == b""
        assert time.monotonic() - began < 8
