"""What one client may ask for: on the public port only. Each test is a client with an address of its own."""

import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from nginx_server import NginxServer
from support.http import Response
from support.origin import Request, response
from support.wait import wait_until

SETTINGS = {
    "CLIENT_CONNECTIONS": "20",
    "CLIENT_REQUESTS": "5",
    "LOGIN_REQUESTS": "3",
    "CLIENT_STAGE_CONNECTIONS": "25",
}


def test_a_burst_is_let_through_and_then_there_is_a_queue(server: NginxServer) -> None:
    answers = [server.request(f"/{number}", source="127.0.0.10") for number in range(70)]
    statuses = [answer.status for answer in answers]
    assert statuses[:51] == [200] * 51  # ten times the rate, and the one that fills it
    assert statuses[-10:] == [429] * 10
    refused = answers[-1]
    assert refused.headers["retry-after"] == "5"
    assert refused.headers["cache-control"] == "no-store"
    assert refused.headers["cache-status"] == "nginx; detail=synth"
    assert "There is a queue at the door" in refused.text
    assert refused.headers["x-request-id"] in refused.text
    # Not for others, and not on the load port.
    assert server.request("/", source="127.0.0.11").status == 200
    load = [server.request("/", port=server.load, source="127.0.0.10").status for _ in range(100)]
    assert load == [200] * 100


def test_a_forged_address_is_no_way_around(server: NginxServer) -> None:
    statuses = Counter(
        server.request("/", source="127.0.0.12", x_forwarded_for=f"192.0.2.{number}").status
        for number in range(70)
    )
    assert statuses[429] >= 10


@pytest.fixture
def held(server: NginxServer) -> Iterator[threading.Event]:
    """Until the event is set, no tier answers."""
    go = threading.Event()

    def answer(_: Request) -> bytes:
        go.wait(10)
        return response("x")

    for mock in server.origins:
        mock.answer = answer
    yield go
    go.set()


def crowd(
    server: NginxServer, go: threading.Event, count: int, served: int, host: str, source: str, port: int
) -> Counter[int]:
    """Ask at once; let the answers go when as many as will be served have arrived. How they ended."""
    answers: list[Response] = []

    def ask() -> None:
        answers.append(server.request("/crowd", host, port=port, source=source))

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    wait_until(lambda: sum(len(mock.requests) for mock in server.origins) == served)
    wait_until(lambda: len(answers) == count - served)
    go.set()
    for thread in threads:
        thread.join()
    return Counter(answer.status for answer in answers)


@pytest.mark.parametrize(
    ("host", "port", "count", "served"),
    [
        ("localhost", "public", 30, 20),
        ("nginx.localhost", "public", 30, 20),
        ("localhost", "load", 60, 60),
        ("classic.localhost", "load", 110, 110),
    ],
)
def test_connections(
    server: NginxServer, held: threading.Event, host: str, port: str, count: int, served: int
) -> None:
    source = f"127.0.1.{count + len(host)}"
    ended = crowd(server, held, count, served, host, source, getattr(server, port))
    assert ended == Counter({200: served, 429: count - served})


def test_classic_has_the_articles_hundred(held: threading.Event) -> None:
    with NginxServer() as server:
        server.start()
        server.varnish_tcp.answer = lambda _: response("x") if held.wait(10) else b""
        ended = crowd(server, held, 110, 100, "classic.localhost", "127.0.0.1", server.public)
    assert ended == Counter({200: 100, 429: 10})


@pytest.mark.parametrize(
    ("number", "path"),
    list(enumerate(["/admin/login", "/admin//login", "/admin/%6cogin", "/admin/login?x=1", "/signup"])),
)
def test_guessing_passwords_is_slow(server: NginxServer, number: int, path: str) -> None:
    source = f"127.0.2.{number + 1}"
    guesses = [server.request(path, "nginx.localhost", "POST", source=source).status for _ in range(8)]
    assert guesses == [200] * 4 + [429] * 4
    assert server.request(path, source=source).status == 200
    assert server.request("/admin/", method="POST", source=source).status == 200
    free = [server.request(path, method="POST", port=server.load, source=source).status for _ in range(8)]
    assert free == [200] * 8


def test_an_open_websocket_is_audience_and_takes_no_other_place(server: NginxServer) -> None:
    server.backend.answer = lambda _: (
        b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    )
    source, opened, statuses = "127.0.0.13", [], []
    for _ in range(30):
        connection = server.connect(source=source)
        connection.sendall(
            b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        )
        statuses.append(int(connection.recv(4096).split()[1]))
        opened.append(connection)
    assert statuses == [101] * 25 + [429] * 5
    assert server.request("/page", source=source).status == 200
    for connection in opened:
        connection.close()
