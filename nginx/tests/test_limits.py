"""Limits for one client, on the public ports. Each test is a client with its own address."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from nginx.tests.nginx_server import UPGRADED, NginxServer
from tests.support.http import message
from tests.support.origin import response
from tests.support.wait import wait_until

SETTINGS = {
    "CLIENT_CONNECTIONS": "20",
    "CLIENT_REQUESTS": "5",
    "LOGIN_REQUESTS": "3",
    "CLIENT_STAGE_CONNECTIONS": "25",
}


def test_a_burst_goes_through_and_what_follows_is_rejected(server: NginxServer) -> None:
    started = time.monotonic()
    responses = [  # a forged address does not evade the limit
        server.request(f"/{number}", source="127.0.0.10", x_forwarded_for=f"192.0.2.{number}")
        for number in range(100)
    ]
    statuses = Counter(each.status for each in responses)
    # The burst of ten times the rate, one more request, and those that the rate has allowed since.
    assert 51 <= statuses[200] <= 51 + 5 * (time.monotonic() - started)
    assert {each.status for each in responses[:51]} == {200}
    rejected = next(each for each in responses if each.status == 429)
    assert rejected.headers["retry-after"] == "5"
    assert rejected.headers["cache-control"] == "no-store"
    assert rejected.headers["cache-status"] == "nginx; detail=synth"
    assert "There is a queue at the door" in rejected.text
    assert rejected.headers["x-request-id"] in rejected.text
    # Other clients, and the load port, are not affected.
    assert server.request("/", source="127.0.0.11").status == 200
    load = [server.request("/", port=server.load, source="127.0.0.10").status for _ in range(100)]
    assert load == [200] * 100
    # A flood would fill the error log.
    wait_until(lambda: server.log_lines('" localhost 429 '))
    assert not server.log_lines("limiting (requests|connections)")


def test_each_address_of_the_proxy_protocol_has_limits_of_its_own(server: NginxServer) -> None:
    started = time.monotonic()
    statuses = Counter(server.crawl(f"/crawled/{number}", "198.18.0.1").status for number in range(100))
    assert 51 <= statuses[200] <= 51 + 5 * (time.monotonic() - started)
    assert statuses[429] == 100 - statuses[200]
    assert server.crawl("/crawled/other", "198.18.0.2").status == 200
    lines = wait_until(lambda: [x for x in [server.log_lines("/crawled/")] if len(x) == 101])[0]
    addresses = Counter(line.split()[0] for line in lines)
    assert addresses == {"198.18.0.1": 100, "198.18.0.2": 1}
    # Locations for Locust alone stay on the load port.
    assert server.crawl("/.nginx/backend", "198.18.0.2").status == 404


@pytest.mark.parametrize("port", ["public", "load"])
def test_only_the_crawlers_port_believes_a_client_what_its_address_is(server: NginxServer, port: str) -> None:
    claims = ("x-forwarded-for", "x-real-ip", "forwarded", "proxy-protocol", "true-client-ip")
    listener, source = getattr(server, port), "127.0.0.14"
    forged = "".join(f"{claim}: 198.18.0.3\r\n" for claim in claims).encode()
    asked = message("/claimed").replace(b"\r\n\r\n", b"\r\n" + forged + b"\r\n")
    got = server.exchange(asked, listener, source=source)
    assert got.status == 200
    (line,) = wait_until(lambda: server.log_lines(got.headers["x-request-id"]))
    assert line.startswith(f"{source} ")
    assert server.requests[-1].headers["x-real-ip"] == source
    # A client that begins with the line of the PROXY protocol is rejected.
    begun = b"PROXY TCP4 198.18.0.3 127.0.0.1 40000 8001\r\n" + message("/claimed")
    assert server.exchange(begun, listener, source=source).status == 400
    # A client on the crawlers' port without that line is disconnected.
    assert server.request("/claimed", port=server.load_proxy).status == 0


@pytest.fixture
def release(server: NginxServer) -> Iterator[threading.Event]:
    """Let no origin answer until the event is set."""
    event = threading.Event()
    server.respond_all(lambda _: response("x") if event.wait(30) else b"")
    yield event
    event.set()


def crowd(
    server: NginxServer, release: threading.Event, count: int, served: int, host: str, source: str, port: int
) -> Counter[int]:
    """Send requests at once, release the responses when `served` have arrived; return the statuses."""
    with ThreadPoolExecutor(count) as pool:
        asked = [pool.submit(server.request, "/crowd", host, port=port, source=source) for _ in range(count)]
        wait_until(lambda: len(server.requests) == served)
        wait_until(lambda: sum(each.done() for each in asked) == count - served)
        release.set()
        return Counter(each.result().status for each in asked)


@pytest.mark.parametrize(
    ("host", "port", "count", "served"),
    [
        ("localhost", "public", 30, 20),
        ("nginx.localhost", "public", 30, 20),
        ("localhost", "load", 60, 60),
        ("classic.localhost", "load", 110, 110),
    ],
)
def test_requests_of_one_client_in_progress_are_limited(
    server: NginxServer, release: threading.Event, host: str, port: str, count: int, served: int
) -> None:
    source = f"127.0.1.{count + len(host)}"
    ended = crowd(server, release, count, served, host, source, getattr(server, port))
    assert ended == Counter({200: served, 429: count - served})


def test_classic_has_the_hundred_connections_of_the_article(release: threading.Event) -> None:
    with NginxServer() as server:
        server.start()
        server.varnish_tcp.respond = lambda _: response("x") if release.wait(60) else b""
        ended = crowd(server, release, 110, 100, "classic.localhost", "127.0.0.1", server.public)
    assert ended == Counter({200: 100, 429: 10})


@pytest.mark.parametrize(
    ("number", "path"),
    list(enumerate(["/admin/login", "/admin//login", "/admin/%6cogin", "/admin/login?x=1", "/signup"])),
)
def test_guessing_passwords_is_slow(server: NginxServer, number: int, path: str) -> None:
    source = f"127.0.2.{number + 1}"
    guesses = [server.request(path, "nginx.localhost", "POST", source=source) for _ in range(8)]
    assert [guess.status for guess in guesses] == [200] * 4 + [429] * 4
    assert "There is a queue at the door" in guesses[-1].text
    assert server.request(path, source=source).status == 200
    assert server.request("/admin/", method="POST", source=source).status == 200
    free = [server.request(path, method="POST", port=server.load, source=source).status for _ in range(8)]
    assert free == [200] * 8


def test_websockets_are_counted_apart_from_requests(server: NginxServer) -> None:
    server.backend.respond = lambda _: UPGRADED
    source, opened, statuses = "127.0.0.13", [], []
    for _ in range(30):
        connection = server.connect(source=source)
        connection.sendall(message("/ws", upgrade="websocket", connection="Upgrade"))
        statuses.append(int(connection.recv(4096).split()[1]))
        opened.append(connection)
    assert statuses == [101] * 25 + [429] * 5
    assert server.request("/page", source=source).status == 200
    for connection in opened:
        connection.close()
