"""The client alone, against real sockets: frames cut and glued, and everything that can end a line."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import gevent
import pytest

from tiny_stage import Server, Stage, serve_web_socket
from visitors import line
from visitors.line import LineError, SocketLine, WebLine

Behave = Callable[[socket.socket], None]


@pytest.fixture
def serve() -> Iterator[Callable[[Behave], int]]:
    """Start a server that does this with each connection, then closes it; answers with its port."""
    servers: list[ThreadingTCPServer] = []

    def start(behave: Behave) -> int:
        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                behave(self.request)

        servers.append(Server(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, kwargs={"poll_interval": 0.02}).start()
        return int(servers[-1].server_address[1])

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def soon(seconds: float = 60) -> float:
    return time.monotonic() + seconds


def test_frames_come_however_tcp_cuts_them(serve: Callable[[Behave], int]) -> None:
    def behave(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in (b"a=1", b"&mode=A\0b=2&mode=B\0\0c", b"=3", b"\0"):
            connection.sendall(piece)
            time.sleep(0.05)

    seat = SocketLine("127.0.0.1", serve(behave))
    assert [seat.receive(soon()) for _ in range(4)] == [b"a=1&mode=A", b"b=2&mode=B", b"", b"c=3"]
    with pytest.raises(LineError, match=r"^closed by the server$"):
        seat.receive(soon())
    seat.close()


def test_a_frame_goes_out_with_its_nul(serve: Callable[[Behave], int]) -> None:
    def behave(connection: socket.socket) -> None:
        connection.sendall(connection.recv(100).replace(b"\0", b"!") + b"\0")

    seat = SocketLine("localhost", serve(behave))
    seat.send(b"mode=LOADED")
    assert seat.receive(soon()) == b"mode=LOADED!"
    seat.close()


def test_nothing_in_time_is_no_fault_and_half_a_frame_is_kept(serve: Callable[[Behave], int]) -> None:
    go_on = threading.Event()

    def behave(connection: socket.socket) -> None:
        connection.sendall(b"mode=")
        go_on.wait(60)
        connection.sendall(b"A\0")

    seat = SocketLine("127.0.0.1", serve(behave))
    begin = time.monotonic()
    assert seat.receive(begin + 0.2) is None
    assert 0.2 <= time.monotonic() - begin < 30
    assert list(seat.waiting()) == []
    go_on.set()
    assert seat.receive(soon()) == b"mode=A"
    seat.close()


def test_waiting_gives_what_is_here_without_waiting(serve: Callable[[Behave], int]) -> None:
    over = threading.Event()

    def behave(connection: socket.socket) -> None:
        connection.sendall(b"a\0b\0c")
        over.wait(60)

    seat = SocketLine("127.0.0.1", serve(behave))
    begin = time.monotonic()
    frames: list[bytes] = []
    while len(frames) < 2:
        frames += seat.waiting()
    assert frames == [b"a", b"b"]
    assert time.monotonic() - begin < 30
    over.set()
    seat.close()


@pytest.mark.parametrize(
    ("last", "reason"),
    [(b"", "closed by the server"), (b"half a fra", "closed by the server in mid-frame")],
)
def test_a_close_says_whether_it_came_in_mid_frame(
    serve: Callable[[Behave], int], last: bytes, reason: str
) -> None:
    seat = SocketLine("127.0.0.1", serve(lambda connection: connection.sendall(b"a\0" + last)))
    assert seat.receive(soon()) == b"a"
    with pytest.raises(LineError, match=f"^{reason}$"):
        seat.receive(soon())
    seat.close()


def test_a_reset_has_a_reason(serve: Callable[[Behave], int]) -> None:
    def behave(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()

    port = serve(behave)
    with pytest.raises(LineError, match=r"^connection reset by peer$"):
        SocketLine("127.0.0.1", port).receive(soon())


@pytest.mark.parametrize("end", [b"", b"\0"])
def test_memory_has_a_bound(serve: Callable[[Behave], int], end: bytes) -> None:
    def behave(connection: socket.socket) -> None:
        try:
            connection.sendall(b"x" * (line.MAX_FRAME + 1) + end)
            while not end:
                connection.sendall(b"x" * 65536)
        except OSError:
            pass

    seat = SocketLine("127.0.0.1", serve(behave))
    with pytest.raises(LineError, match="a frame longer than 1048576 bytes"):
        seat.receive(soon())
    seat.close()


def test_the_longest_frame_comes_through(serve: Callable[[Behave], int]) -> None:
    port = serve(lambda connection: connection.sendall(b"x" * line.MAX_FRAME + b"\0"))
    seat = SocketLine("127.0.0.1", port)
    assert seat.receive(soon()) == b"x" * line.MAX_FRAME
    seat.close()


def test_a_refused_connection_has_a_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(LineError, match=r"^connection refused$"):
        SocketLine("127.0.0.1", port)


def test_a_server_that_does_not_answer_costs_no_more_than_the_patience() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as busy:
        held = []
        begin = time.monotonic()

        def dial_on() -> None:
            while True:  # until the kernel takes no more
                held.append(SocketLine("127.0.0.1", busy.getsockname()[1], patience=0.3))

        with pytest.raises(LineError, match=r"^no connection within 0\.3 s$"):
            dial_on()
        assert time.monotonic() - begin < 30
        for seat in held:
            seat.close()


def test_a_server_that_does_not_read_does_not_hold_us(serve: Callable[[Behave], int]) -> None:
    seat = SocketLine("127.0.0.1", serve(lambda connection: time.sleep(30)), patience=0.3)
    with pytest.raises(LineError, match=r"^nothing could be sent for 0\.3 s$"):
        seat.send(b"x" * (64 << 20))
    seat.close()


def test_others_go_on_while_one_waits(serve: Callable[[Behave], int]) -> None:
    seats = [SocketLine("127.0.0.1", serve(lambda connection: time.sleep(30))) for _ in range(2)]
    begin = time.monotonic()
    long, short = (
        gevent.spawn(seat.receive, begin + wait) for seat, wait in zip(seats, (25, 0.4), strict=True)
    )
    short.join()
    assert short.successful()
    assert not long.ready()
    long.kill()
    for seat in seats:
        seat.close()


def request(connection: socket.socket) -> tuple[str, list[tuple[str, str]]]:
    """Read the request of a WebSocket: its path and headers."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(65536)
    first, *lines = head.decode().split("\r\n\r\n")[0].split("\r\n")
    return first.split()[1], [(name, value.strip()) for name, _, value in (x.partition(":") for x in lines)]


def test_web_socket_carries_frames_and_answers_pings(serve: Callable[[Behave], int]) -> None:
    stage = Stage()
    asked: dict[str, Any] = {}

    def behave(connection: socket.socket) -> None:
        path, headers = request(connection)
        asked.update(headers, path=path)
        serve_web_socket(stage, connection, path, headers)

    seat = WebLine("127.0.0.1", serve(behave), "classic.localhost")
    assert (asked["path"], asked["Host"], asked["Origin"]) == (
        "/ws",
        "classic.localhost",
        "http://classic.localhost",
    )
    assert seat.receive(soon()) == b"ID=sock_1&mode=SET"
    seat.send(b"stage_ID=demo&mode=JOIN")
    seat.send("msg=Grüße&mode=TEXT".encode())
    frames = [seat.receive(soon()) for _ in range(4)]
    assert frames[-1] == b"text=Gr%C3%BC%C3%9Fe&mode=ANONTEXT"
    assert stage.heard["pong"] == 1
    seat.close()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "no WebSocket: status 403"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "no WebSocket: status 200"),
        (b"SET\r\n\r\n", "what came is no WebSocket"),
        (b"", "closed by the server"),
    ],
)
def test_what_is_no_web_socket_has_a_reason(
    serve: Callable[[Behave], int], answer: bytes, reason: str
) -> None:
    def behave(connection: socket.socket) -> None:
        request(connection)
        connection.sendall(answer)

    with pytest.raises(LineError, match=f"^{reason}$"):
        WebLine("127.0.0.1", serve(behave), "localhost")


def test_a_web_socket_that_never_opens_costs_no_more_than_the_patience(
    serve: Callable[[Behave], int],
) -> None:
    with pytest.raises(LineError, match=r"^no WebSocket within 0\.3 s$"):
        WebLine("127.0.0.1", serve(lambda connection: time.sleep(30)), "localhost", patience=0.3)


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (b"\x83\x00", "what came is no WebSocket"),
        (b"\x01\x03hel", "closed by the server in mid-frame"),
        (b"\x88\x02\x03\xe8", "closed by the server"),
        (b"\x01\x7f" + (2 << 20).to_bytes(8) + b"x" * (2 << 20), "a frame longer than 1048576 bytes"),
    ],
)
def test_the_end_of_a_web_socket_has_a_reason(
    serve: Callable[[Behave], int], tail: bytes, reason: str
) -> None:
    over = threading.Event()

    def behave(connection: socket.socket) -> None:
        path, headers = request(connection)
        quiet = Stage()
        quiet.drop_every = 1
        threading.Thread(target=serve_web_socket, args=(quiet, connection, path, headers)).start()
        while not quiet.heard["pong"]:
            time.sleep(0.01)
        try:
            connection.sendall(tail)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        over.wait(60)

    seat = WebLine("127.0.0.1", serve(behave), "localhost")
    with pytest.raises(LineError, match=f"^{reason}$"):
        seat.receive(soon())
    over.set()
    seat.close()
