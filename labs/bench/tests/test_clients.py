"""The labs' own load generators, on loopback: what they count as a failure, and when they send a request.

Whether they can measure the stack is tested by labs/tests, which run each driver for a moment.
"""

import asyncio
import threading
import time
from collections import Counter
from typing import Any

import pytest

from labs.bench.clients.browser import Browser
from labs.bench.clients.link import INITIAL_WINDOW, Link
from labs.bench.tests.fake_stage import Stage, of
from labs.bench.tests.programs import report
from tests.support.origin import Origin, Request, response

FILES = ("/style/main.css", "/script/main.js", "/media/queen.svg", "/media/castle.svg", "/media/bell.mp3")
PAGE = '<a href="/stages/">Stages</a>' + "".join(f'<link href="{path}">' for path in FILES)


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


def test_a_visitor_that_gives_up_and_a_bad_response_are_reported(site: Origin, stage: Stage) -> None:
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
