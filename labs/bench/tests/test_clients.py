"""The labs' own load generators, on loopback: what they count as a failure, and when they send a request.

Whether they can measure the stack is tested by labs/tests, which run each driver for a moment.
"""

import asyncio
import json
import os
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from labs.bench.clients import speakers, stage_sockets
from labs.bench.clients.browser import Browser
from labs.bench.clients.hold_connections import hold
from labs.bench.clients.link import INITIAL_WINDOW, Link
from labs.bench.clients.speakers import Speakers
from labs.bench.clients.stage_sockets import StageSockets
from tests.stack import REPO
from tests.support.checks import ran
from tests.support.origin import Origin, Request, response

FILES = ("/style/main.css", "/script/main.js", "/media/queen.svg", "/media/castle.svg", "/media/bell.mp3")
PAGE = '<a href="/stages/">Stages</a>' + "".join(f'<link href="{path}">' for path in FILES)


def report(client: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the report of a program; require that it succeeds."""
    command = (sys.executable, "-m", f"labs.bench.clients.{client}", json.dumps(settings))
    done = ran(*command, env={**os.environ, "PYTHONPATH": str(REPO)}, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.fixture
def origin() -> Iterator[Origin]:
    """Yield an HTTP server."""
    origin = Origin("origin")
    yield origin
    origin.close()


@pytest.fixture
def site(origin: Origin) -> Origin:
    """Return that server, with a stage's page."""
    origin.respond = lambda request: response(PAGE if request.target == "/stages/demo" else "body")
    return origin


def web(site: Origin) -> dict[str, Any]:
    """Return the setting `web` of a program."""
    return {"address": "127.0.0.1", "port": site.port, "host": "a.example", "page": "/stages/demo"}


def misses(site: Origin, path: str, bad: bytes) -> None:
    """Give this path a bad response from now on."""
    good = site.respond
    assert good
    site.respond = lambda request: bad if request.target == path else good(request)


# --- Page loads


def test_a_page_load_requests_the_page_and_each_file_once_over_six_connections(site: Origin) -> None:
    site.delay = 0.2
    found = report("page_loads", {**web(site), "page_loads_per_second": 1, "seconds": 1})
    # The page is requested twice: first the program reads the names of its files.
    assert Counter(site.targets) == Counter([*["/stages/demo"] * 2, "/admin/id", *FILES])
    assert site.connections == 1 + 6
    assert (len(found["milliseconds"]), found["requests_each"]) == (1, 2 + len(FILES))


def test_page_loads_on_schedule_do_not_wait_for_earlier_ones(site: Origin) -> None:
    all_pages = threading.Barrier(5)  # the server answers none before all have been requested

    def respond(request: Request) -> bytes:
        if request.target == "/stages/demo" and site.targets.count(request.target) > 1:
            all_pages.wait(60)
        return response(PAGE if request.target == "/stages/demo" else "body")

    site.respond = respond
    found = report("page_loads", {**web(site), "page_loads_per_second": 5, "seconds": 1})
    assert (len(found["milliseconds"]), found["failures"]) == (5, [])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (response(status="503 Service Unavailable"), "/media/castle.svg was answered with 503"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "/media/castle.svg was answered with no length"),
    ],
    ids=["status", "length"],
)
def test_a_page_load_that_misses_a_file_has_failed(site: Origin, bad: bytes, reason: str) -> None:
    misses(site, "/media/castle.svg", bad)
    found = report("page_loads", {**web(site), "page_loads_per_second": 3, "seconds": 1})
    assert (found["milliseconds"], found["failures"]) == ([], [reason] * 3)


def test_a_visitor_that_gives_up_and_a_bad_response_are_reported(site: Origin, stage: "Stage") -> None:
    settings = {"web": web(site), "stage": of(stage), "visitors": 3, "processes": 2, "round_trip": 50}
    settings |= {"megabits": 100, "timeout": 20, "speakers": 2, "lines_per_second": 50}
    misses(site, "/media/queen.svg", response("gone", "404 Not Found"))
    assert report("preload", settings)["failures"] == ["/media/queen.svg was answered with 404"] * 3
    misses(site, "/media/queen.svg", response(bytes(200_000)))
    slow = report("preload", {**settings, "visitors": 1, "processes": 1, "megabits": 0.5, "timeout": 1})
    assert (slow["milliseconds"], slow["failures"]) == ([None], ["the stage was not loaded within 1 s"])


def visit(origin: Origin) -> tuple[str, int]:
    """Load a page of twenty files; return why that failed, and the bytes received."""
    browser = Browser("127.0.0.1", origin.port, "localhost", "/stages/demo")
    browser.files = [f"/media/{number}.png" for number in range(20)]
    return asyncio.run(browser.visit(30)), browser.received


def test_a_kept_connection_that_was_closed_is_replaced(origin: Origin) -> None:
    origin.respond = lambda request: response("body", connection="close")
    assert visit(origin) == ("", 22 * len("body"))  # the page, the visitor's key, the files
    assert origin.connections >= 22


def test_a_new_connection_that_is_closed_is_a_failure(origin: Origin) -> None:
    origin.behave = lambda connection: None
    failure, _ = visit(origin)
    assert failure


@pytest.mark.parametrize("end", [b"\r\n", b"\r\n\r\nbo"], ids=["in the head", "in the body"])
def test_a_kept_connection_that_breaks_is_a_failure(origin: Origin, end: bytes) -> None:
    bad = response("body", connection="close").partition(b"\r\n\r\n")[0] + end

    def respond(request: Request) -> bytes:
        first = [one.connection for one in origin.requests].count(request.connection) == 1
        return response("body") if first else bad

    origin.respond = respond
    failure, _ = visit(origin)
    assert failure


# --- The link of a distant visitor


async def download(link: Link, size: int, connections: int = 1) -> float:
    """Return the seconds for so many bytes over each connection, all at once; check the received bytes."""
    content = bytes(number % 251 for number in range(size))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(content)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)

    async def receive() -> None:
        reader, writer = await link.connect("127.0.0.1", server.sockets[0].getsockname()[1])
        writer.write(b"\n")
        assert await reader.read(-1) == content
        writer.close()

    begin = time.perf_counter()
    await asyncio.gather(*(receive() for _ in range(connections)))
    seconds = time.perf_counter() - begin
    server.close()
    return seconds


@pytest.mark.parametrize(
    ("size", "round_trips"),
    [
        (INITIAL_WINDOW - 100, 2),  # the handshake, and the request with its response
        (3 * INITIAL_WINDOW + 100, 4),  # 1 + 2 windows are not enough
    ],
)
def test_a_response_takes_at_least_the_round_trips_of_the_handshake_and_of_slow_start(
    size: int, round_trips: int
) -> None:
    assert asyncio.run(download(Link(200), size)) + 0.001 >= 0.2 * round_trips


def test_all_connections_of_a_visitor_share_its_bandwidth() -> None:
    assert asyncio.run(download(Link(0, megabits=8), 100_000, connections=6)) + 0.01 >= 0.6


# --- A stage


class Stage(Origin):
    """A stage that sends a new member its reply in two parts, and sends each line to all members.

    `refused` and `deaf` are clients, numbered in the order in which they connected: the first is disconnected
    when it joins, the second does not get the lines, nor does any client of a `silent` stage.
    """

    def __init__(self) -> None:
        self.members: dict[int, socket.socket] = {}
        self.lock = threading.Lock()
        self.refused = self.deaf = 0
        self.silent = False
        super().__init__("stage")

    def serve(self, connection: socket.socket, number: int) -> None:
        rest = b""
        while data := connection.recv(65536):
            *frames, rest = (rest + data).split(b"\0")
            for frame in frames:
                with self.lock:
                    self.handle(connection, number, frame.decode())

    def handle(self, connection: socket.socket, number: int, frame: str) -> None:
        if frame.endswith("mode=JOIN"):
            self.members[number] = connection
            if number == self.refused:
                connection.shutdown(socket.SHUT_RDWR)
                return
            connection.sendall(b"stageName=x&mode=STAGE_NAME\0pCount=0&aCount=1&mode=JO")
            time.sleep(0.01)  # so that the parts arrive separately
            connection.sendall(b"INED\0")
        elif frame.endswith("mode=LOADED"):
            connection.sendall(b"mode=CONFIRM_LOADED\0")
        elif not self.silent:
            time.sleep(self.delay)
            line = frame.removeprefix("msg=").partition("&")[0].replace("@", "%40")
            for other, member in self.members.items():
                if other != self.deaf:
                    with suppress(OSError):  # the client has left
                        member.sendall(f"text={line}&mode=ANONTEXT\0".encode())


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Yield a stage socket."""
    stage = Stage()
    yield stage
    stage.close()


def of(stage: Stage) -> dict[str, Any]:
    """Return the setting `stage` of a program."""
    return {"address": "127.0.0.1", "port": stage.port, "proxied": True, "stage": "demo"}


@pytest.fixture
def sockets(stage: Stage) -> Iterator[StageSockets]:
    sockets = StageSockets(**of(stage))
    yield sockets
    sockets.close()


def test_a_line_of_a_speaker_that_is_lost_is_an_error(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def lose() -> None:
        async with Speakers(**of(stage), number=3) as clients:
            monkeypatch.setattr(speakers, "TIMEOUT", 0.2)
            await clients.talk(lines_per_second=20, seconds=0.5)

    stage.silent = True
    with pytest.raises(EOFError, match=r"^30 of 30 lines were not received$"):
        asyncio.run(lose())


def test_the_delay_of_a_line_counts_from_when_it_was_said(sockets: StageSockets, stage: Stage) -> None:
    stage.delay = 0.05
    took = sockets.join(6)
    assert min(took) >= 10, "until the second part of the reply"
    sockets.watch(3)
    delays, _ = sockets.say(lines=4, every=0.1)
    assert [len(line) for line in delays] == [3] * 4
    assert min(min(line) for line in delays) >= 50


def test_a_client_that_is_not_watched_must_receive_each_line_too(
    sockets: StageSockets, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.deaf = 4
    sockets.join(4)
    monkeypatch.setattr(stage_sockets, "TIMEOUT", 1.0)
    sockets.watch(1)
    with pytest.raises(ConnectionError, match="1 of 4 clients did not receive each of 2 lines once"):
        sockets.say(lines=2, every=0.01)


def test_a_client_that_is_disconnected_is_an_error(sockets: StageSockets, stage: Stage) -> None:
    stage.refused = 3
    with pytest.raises(ConnectionError, match="the server has closed one of 5 connections"):
        sockets.join(5)


# --- A crowd


def crowd(origin: Origin, clients: int) -> dict[str, Any]:
    settings = {"address": "127.0.0.1", "port": origin.port, "host": "a.example", "path": "/page?1"}
    return report("crowd", {**settings, "clients": clients})


def test_a_crowd_connects_before_the_first_request_is_answered(origin: Origin) -> None:
    """The server answers no client until all have connected; clients that took turns would wait forever."""
    all_clients = threading.Barrier(40)

    def respond(request: Request) -> bytes:
        all_clients.wait(60)
        return response(b"x", connection="close")

    origin.respond = respond
    assert crowd(origin, 40)["statuses"] == {"200": 40}


def test_a_crowd_counts_each_status_and_missing_responses(origin: Origin) -> None:
    kinds = iter([response(b"x"), response(b"", "503 Service Unavailable"), b""])
    origin.respond = lambda request: next(kinds)
    assert crowd(origin, 3)["statuses"] == {"200": 1, "503": 1, "no response": 1}


# --- Held connections

GOOD = response(b"x" * 5000)
CUT = response(b"x" * 5000, connection="close")[:2000]


def held(origin: Origin, *responses: bytes, **changes: Any) -> dict[str, Any]:
    """Return the report of twenty connections to a server that answers the first requests in this way."""
    first = iter(responses)
    origin.respond = lambda request: next(first, GOOD)
    settings = {"host": "127.0.0.1", "port": origin.port, "path": "/file", "bytes": 5000, "connections": 20}
    settings |= {"every": 0.2, "rounds": 2, "pause": 0.1, "response_timeout": 30}
    return hold(settings | changes)


def test_the_time_of_a_response_counts_from_when_its_request_was_due(origin: Origin) -> None:
    # Two requests over one connection, due 20 ms apart but sent one after another: 300 and 580 ms.
    origin.delay = 0.3
    found = held(origin, connections=1, every=0.02)
    assert (found["failures"], found["replies"]) == ({}, 2)
    assert found["milliseconds"] >= (300 + 580) / 2


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (CUT, "closed before the response was complete"),
        (response(b"x" * 4999), "4999 bytes instead of 5000"),
        (GOOD + b"HTTP/1.1 408 Request Timeout\r\n\r\n", "data without a request"),
        (response(status="503 Service Unavailable"), "status 503"),
    ],
    ids=["cut", "short", "more", "503"],
)
def test_a_wrong_response_ends_the_opening(origin: Origin, bad: bytes, why: str) -> None:
    found = held(origin, *[GOOD] * 3, bad, *[GOOD[:100]] * 16, pause=1)
    assert found["failures"] == {why: 1}
    assert found["held"] <= 3, "a connection that waits for its first response is not held"
    assert "replies" not in found


@pytest.mark.parametrize(
    ("bad", "timeout", "why"),
    [(CUT, 30, "closed before the response was complete"), (GOOD[:100], 15, "no response within 15 s")],
    ids=["cut", "late"],
)
def test_a_held_connection_that_fails_does_not_stop_the_others(
    origin: Origin, bad: bytes, timeout: float, why: str
) -> None:
    found = held(origin, *[GOOD] * 20, bad, response_timeout=timeout)
    assert found["failures"] == {why: 1}
    assert found["replies"] == 38
    assert "milliseconds" not in found


def test_a_server_that_closes_idle_connections(origin: Origin) -> None:
    found = held(origin, *[response(b"x" * 5000, connection="close")] * 20)
    assert found["failures"].keys() == {"closed while idle"}
    assert "replies" not in found
