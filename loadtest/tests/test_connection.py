"""Connections to the stage against real sockets: frames in pieces, and everything that ends a connection."""

import socket
import threading
import time
from collections.abc import Callable

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection

from loadtest.tests.fake_site import FakeSite
from tests.support.origin import Origin
from users.connection import MAX_FRAME, SocketConnection, StageError, WebSocketConnection

Behave = Callable[[socket.socket], None]


def serve(behave: Behave) -> int:
    """Start a server that does this with each connection, then closes it; return its port."""
    return Origin("behaving", behave=behave).port


def soon(seconds: float = 60) -> float:
    return time.monotonic() + seconds


def test_frames_do_not_depend_on_tcp_segments() -> None:
    def behave(connection: socket.socket) -> None:
        for piece in (b"a=1", b"&mode=A\0b=2&mode=B\0\0c", b"=3", b"\0"):
            connection.sendall(piece)
            time.sleep(0.05)

    client = SocketConnection("127.0.0.1", serve(behave))
    assert [client.receive(soon()) for _ in range(4)] == [b"a=1&mode=A", b"b=2&mode=B", b"", b"c=3"]
    client.close()


def test_a_frame_goes_out_with_its_nul() -> None:
    def behave(connection: socket.socket) -> None:
        connection.sendall(connection.recv(100).replace(b"\0", b"!") + b"\0")

    client = SocketConnection("localhost", serve(behave))
    client.send(b"mode=LOADED")
    assert client.receive(soon()) == b"mode=LOADED!"
    client.close()


def test_a_timeout_is_no_error_and_keeps_half_a_frame() -> None:
    go_on = threading.Event()

    def behave(connection: socket.socket) -> None:
        connection.sendall(b"mode=")
        go_on.wait(60)
        connection.sendall(b"A\0")

    client = SocketConnection("127.0.0.1", serve(behave))
    begin = time.monotonic()
    assert client.receive(begin + 0.2) is None
    assert 0.2 <= time.monotonic() - begin < 30
    assert list(client.waiting()) == []
    go_on.set()
    assert client.receive(soon()) == b"mode=A"
    client.close()


def sends(data: bytes) -> Behave:
    return lambda connection: connection.sendall(data)


def endless(connection: socket.socket) -> None:
    """Send one frame without an end, until the client closes."""
    while True:
        connection.sendall(b"x" * 65536)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


TOO_LONG = "a frame longer than 1048576 bytes"


@pytest.mark.parametrize(
    ("behave", "frames", "reason"),
    [
        (sends(b"a\0"), [b"a"], "closed by the server"),
        (sends(b"a\0half a fra"), [b"a"], "closed by the server in mid-frame"),
        (reset, [], "connection reset by peer"),
        (sends(b"x" * (MAX_FRAME + 1) + b"\0"), [], TOO_LONG),
        (endless, [], TOO_LONG),
    ],
)
def test_the_end_of_a_connection_has_a_reason(behave: Behave, frames: list[bytes], reason: str) -> None:
    port = serve(behave)
    with pytest.raises(StageError, match=f"^{reason}$"):  # noqa: PT012
        client = SocketConnection("127.0.0.1", port)
        assert [client.receive(soon()) for _ in frames] == frames
        client.receive(soon())


def test_a_refused_connection_has_a_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(StageError, match=r"^connection refused$"):
        SocketConnection("127.0.0.1", port)


def test_sending_ends_after_the_patience() -> None:
    client = SocketConnection("127.0.0.1", serve(lambda connection: time.sleep(30)), patience=0.3)
    with pytest.raises(StageError, match=r"^nothing could be sent for 0\.3 s$"):
        client.send(b"x" * (64 << 20))
    client.close()


def test_a_websocket_carries_frames_and_answers_pings(site: FakeSite) -> None:
    client = WebSocketConnection("127.0.0.1", site.port, "classic.localhost")
    [asked] = site.requests
    assert (asked.target, asked.headers["host"]) == ("/ws", "classic.localhost")
    assert asked.headers["origin"] == "http://classic.localhost"
    assert client.receive(soon()) == b"ID=sock_1&mode=SET"
    client.send(b"stage_ID=demo&mode=JOIN")
    client.send("msg=Grüße&mode=TEXT".encode())
    frames = [client.receive(soon()) for _ in range(4)]
    assert frames[-1] == b"text=Gr%C3%BC%C3%9Fe&mode=ANONTEXT"
    assert site.stage.modes["pong"] == 1
    client.close()


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "no WebSocket: status 403"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "no WebSocket: status 200"),
        (b"SET\r\n\r\n", "the server does not speak WebSocket"),
        (b"", "closed by the server"),
    ],
)
def test_a_failed_handshake_has_a_reason(response: bytes, reason: str) -> None:
    def behave(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(response)

    with pytest.raises(StageError, match=f"^{reason}$"):
        WebSocketConnection("127.0.0.1", serve(behave), "localhost")


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (b"\x83\x00", "the server does not speak WebSocket"),
        (b"\x01\x03hel", "closed by the server in mid-frame"),
        (b"\x88\x02\x03\xe8", "closed by the server"),
        (b"\x01\x7f" + (2 << 20).to_bytes(8) + b"x" * (2 << 20), TOO_LONG),
    ],
)
def test_the_end_of_a_websocket_has_a_reason(tail: bytes, reason: str) -> None:
    def behave(connection: socket.socket) -> None:
        web = WSConnection(ConnectionType.SERVER)
        web.receive_data(connection.recv(65536))
        connection.sendall(web.send(AcceptConnection()) + tail)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):  # a close with unread bytes would be a reset
            pass

    with pytest.raises(StageError, match=f"^{reason}$"):
        WebSocketConnection("127.0.0.1", serve(behave), "localhost").receive(soon())
