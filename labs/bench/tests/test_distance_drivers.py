"""The drivers of labs/distance: the link of a visitor, the preload, the client ports and the 18 steps."""

import asyncio
import errno
import time
from collections.abc import Callable
from typing import Any

import pytest

from bench.clients import connections, conversation
from bench.clients.link import INITIAL_WINDOW, Link
from bench.drivers import connections as connections_driver
from bench.drivers import preload
from bench.lab_stack import Problem
from bench.tests.programs import EVERYTHING, Generator, Site, Stage, report
from support.origin import Origin, response

LATE = 0.15  # seconds that a busy machine may add

# --- The link


async def download(link: Link, sizes: list[int]) -> float:
    """Seconds for parallel downloads over one link, one of each size in bytes; checks what arrives."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wanted = int(await reader.readline())
        writer.write(bytes(number % 251 for number in range(wanted)))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def receive(size: int) -> None:
        reader, writer = await link.connect("127.0.0.1", port)
        writer.write(f"{size}\n".encode())
        received = await reader.read(-1)
        assert received == bytes(number % 251 for number in range(size))
        writer.close()

    begin = time.perf_counter()
    await asyncio.gather(*map(receive, sizes))
    seconds = time.perf_counter() - begin
    server.close()
    return seconds


def undisturbed(measure: Callable[[], float], limit: float) -> float:
    """The first of twenty measurements below the limit, or the last: other programs only add to a time."""
    for _ in range(20):
        if (found := measure()) < limit:
            break
    return found


@pytest.mark.parametrize(
    ("size", "round_trips"),
    [
        (INITIAL_WINDOW - 100, 2),  # the handshake, and the request with its response
        (3 * INITIAL_WINDOW + 100, 4),  # 1 + 2 windows were not enough
    ],
)
def test_a_response_takes_the_round_trips_of_the_handshake_and_of_slow_start(
    size: int, round_trips: int
) -> None:
    limit = 0.2 * round_trips + LATE
    seconds = undisturbed(lambda: asyncio.run(download(Link(200), [size])), limit)
    assert 0.2 * round_trips <= seconds + 0.001
    assert seconds < limit


def test_all_connections_of_a_visitor_share_its_bandwidth() -> None:
    alone = 0.6
    link, sizes = Link(0, megabits=8), [100_000] * 6
    seconds = undisturbed(lambda: asyncio.run(download(link, sizes)), alone + LATE - 0.01)
    assert alone <= seconds + 0.01 < alone + LATE


# --- The preload


def visits(site: Site, **settings: Any) -> dict[str, Any]:
    """The report of the program, with its own stage."""
    stage = Stage()
    usual = {"visitors": 3, "processes": 2, "round_trip": 50, "megabits": 100, "timeout": 20}
    usual |= {"speakers": 2, "lines_per_second": 50}
    talkers = {"address": "127.0.0.1", "port": stage.port, "proxied": True, "stage": "demo"}
    found = report("preload", {"web": site.web, "stage": talkers, **usual, **settings})
    stage.close()
    return found


def test_every_visitor_loads_the_page_and_all_its_files_while_the_speakers_talk(site: Site) -> None:
    site.responses["/media/queen.svg"] = response(bytes(100_000))
    found = visits(site)
    for path in EVERYTHING - {"/stages/demo"}:
        assert site.targets.count(path) == 3
    assert site.connections == 2 + 3 * 6  # each process reads once what the page refers to
    assert (found["failures"], found["requests_each"]) == ([], len(EVERYTHING))
    assert len(set(found["bytes"])) == 1
    assert found["bytes"][0] > 100_000
    # Two handshakes, the page and a file; slow start adds two round trips for the large one.
    assert all(6 * 50 <= one < 6 * 50 + 1000 for one in found["milliseconds"])
    assert len(found["chat_milliseconds"]) >= 10
    assert found["seconds"] * 1000 >= max(found["milliseconds"])


def test_a_visitor_that_gives_up_and_a_bad_response_are_reported(site: Site) -> None:
    site.responses["/media/queen.svg"] = response(bytes(200_000))
    slow = visits(site, visitors=1, processes=1, megabits=0.5, timeout=1)
    assert slow["milliseconds"] == [None]
    assert slow["failures"] == ["the stage was not loaded within 1 s"]
    assert slow["seconds"] < 5
    site.responses["/media/queen.svg"] = response("gone", "404 Not Found")
    assert visits(site)["failures"] == ["/media/queen.svg was answered with 404"] * 3


REPORT = {
    "requests_each": 109,
    "milliseconds": [1000.0, 3000.0, None],
    "bytes": [20_000_000, 20_000_000, 5_000_000],
    "failures": ["the stage was not loaded within 10 s"],
    "seconds": 10.0,
    "chat_milliseconds": [4.0] * 99 + [104.0],
    "late_milliseconds": [1.0] * 100,
    "cpu_seconds": 5.0,
}


def test_a_visitor_that_gave_up_counts_with_the_time_it_waited() -> None:
    figures = preload.metrics(REPORT, 10)
    assert figures["requests"] == 218
    assert figures["p50_milliseconds"] == 3000
    assert figures["p99_milliseconds"] == pytest.approx(9860)
    assert figures["bytes_per_second"] == 4_500_000
    assert figures["loaded_percent"] == pytest.approx(66.7, abs=0.1)
    assert (figures["chat_p50_milliseconds"], figures["generator_cpu_percent"]) == (4, 50)
    assert 4 < figures["chat_p99_milliseconds"] < 104


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"milliseconds": [None], "failures": ["/a: 503"]}, "no visitor received the whole stage: /a: 503"),
        ({"cpu_seconds": 9.6}, "the generator was the bottleneck: it used 96 % of a core"),
    ],
)
def test_a_run_that_measured_no_visitor_or_the_generator_is_rejected(
    changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Problem, match=reason):
        preload.metrics({**REPORT, **changes}, 10)


# --- Client ports


def ports(origin: Origin, closes: str, seconds: float = 0.2) -> dict[str, Any]:
    settings = {"address": "127.0.0.1", "port": origin.port, "host": "a.example", "path": "/"}
    return connections.main({**settings, "closes": closes, "seconds": seconds})


def test_each_request_has_a_connection_of_its_own(origin: Origin) -> None:
    origin.answer = lambda _: response()  # to HEAD
    found = ports(origin, "client")
    assert found["connections"] == origin.connections == len(origin.requests) > 1
    assert found["without_port"] == 0
    assert ports(origin, "client", 0)["connections"] == 1
    assert {request.headers.get("connection") for request in origin.requests} == {None}


def test_attempts_without_a_free_port_are_counted(monkeypatch: pytest.MonkeyPatch, origin: Origin) -> None:
    def none_free(_: Any) -> None:
        raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    monkeypatch.setattr(connections, "request", none_free)
    found = ports(origin, "client")
    assert (found["connections"], found["without_port"] > 1) == (0, True)
    origin.close()
    monkeypatch.undo()
    with pytest.raises(ConnectionRefusedError):
        ports(origin, "client")


def test_the_figures_of_connections() -> None:
    generator = Generator({"connections": 1000, "without_port": 300, "seconds": 4.0})
    settings = {"client": "generator", "url": "http://nginx:8000", "host": "a.example", "path": "/"}
    assert connections_driver.measure(generator.stack, settings) == {
        "requests": 1000,
        "seconds": 4,
        "connections_per_second": 250,
        "attempts_without_a_port": 300,
    }
    assert (generator.settings(0)["address"], generator.settings(0)["port"]) == ("nginx", 8000)


# --- The 18 steps


@pytest.mark.slow  # ten seconds in Chromium
def test_the_steps_of_a_conversation_are_timed_in_a_browser(origin: Origin) -> None:
    """Near, far, and far again, when the browser has kept the file."""
    page = '<html><body>A stage<script src="/large.js"></script></body></html>'
    timing = 'varnish;desc="hit", nginx;desc="hit";dur=7'

    def answer(request: Any) -> bytes:
        if request.target == "/large.js":
            return response("//" + "x" * 5000, content_type="text/javascript", cache_control="max-age=600")
        return response(page, content_type="text/html", server_timing=timing)

    origin.answer = answer
    rows: list[list[str]] = []

    def to_first_byte(column: int) -> float:
        return float(rows[7][column].split()[0])

    def excess() -> float:
        """Milliseconds by which the first byte, near or far, was later than allowed; negative if in time."""
        printed = asyncio.run(conversation.main(f"http://upstage.localhost:{origin.port}/"))
        rows[:] = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.splitlines()[2:]]
        return max(to_first_byte(3) - 140, to_first_byte(4) - (200 + 1000 * LATE))

    # Two round trips, the handshake and the request; the handshake begins shortly before `requestStart`.
    assert undisturbed(excess, 0) < 0
    assert to_first_byte(4) > 140
    assert [row[0] for row in rows] == [str(number) for number in range(1, 19)]
    assert all(len(row) == 6 and all(row) for row in rows)
    assert rows[9][3] == "varnish: hit; nginx: hit, 7 ms"
    assert "5,302 of 5,002" in rows[2][4]
    assert "0 of 5,002" in rows[2][5]
    assert rows[12][3:] == ["200"] * 3
