"""Held connections: the program against a server on loopback, and the driver's figures."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

from bench.clients import hold_connections
from bench.clients.hold_connections import hold
from bench.drivers import open_connections as driver
from bench.lab_stack import LabStack, Problem, Usage
from bench.memory import Memory
from support.origin import Origin, response
from support.wait import wait_until

GOOD = response(b"x" * 5000)
FILM = response(b"x" * 9000)


class Server(Origin):
    """Sends the parts of the next response one by one; an empty part closes the connection."""

    def __init__(self) -> None:
        self.responses: list[list[bytes]] = []  # of the next requests; further ones get GOOD
        self.lock = threading.Lock()
        self.requested = self.films = 0
        self.thinking = 0.0  # seconds for each response after the twentieth request, one at a time
        self.idle_timeout: float | None = None
        super().__init__("held")

    def serve(self, connection: socket.socket, number: int) -> None:
        connection.settimeout(self.idle_timeout)
        while request := connection.recv(4096):
            film = re.fullmatch(rb"GET /([1-3]).flv HTTP/1.1\r\nHost: video.example.com\r\n\r\n", request)
            assert film or request == b"GET /file HTTP/1.1\r\nHost: www.example.com\r\n\r\n"
            with self.lock:
                self.requested += 1
                if film:
                    self.films += 1
                    connection.sendall(FILM)
                    continue
                parts = self.responses.pop(0) if self.responses else [GOOD]
                time.sleep(self.thinking if self.requested > 20 else 0)
            for part in parts:
                if not part:
                    return
                connection.sendall(part)
                time.sleep(0.01)  # so that parts arrive as parts


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def settings(server: Server, **changes: Any) -> dict[str, Any]:
    return {
        "host": "127.0.0.1",
        "vhost": "www.example.com",
        "port": server.port,
        "path": "/file",
        "bytes": 5000,
        "connections": 20,
        "every": 0.2,
        "rounds": 2,
        "pause": 0.1,
        "response_timeout": 30,
        **changes,
    }


def test_every_connection_is_held_and_carries_its_requests_on_schedule(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hold_connections, "OPENING", 3)  # fewer at a time than in all
    begin = time.time()
    report = hold(settings(server))
    assert report["failures"] == {}
    assert (report["held"], report["replies"]) == (20, 40)
    assert (server.connections, server.requested) == (20, 60), "one request each when opened, then two"
    assert begin <= report["held_from"] <= report["held_until"] - 0.45, "at rest, and during the requests"
    assert report["requesting_seconds"] >= 2 * 0.2 - 0.02, "on schedule, the last one at its end"
    assert 0 < report["milliseconds"] < report["p99_milliseconds"] + report["deviation_milliseconds"]
    assert 0 < report["lowest_milliseconds"] < report["milliseconds"] < report["highest_milliseconds"]


def test_one_in_so_many_requests_is_for_a_film(server: Server) -> None:
    film = {"vhost": "video.example.com", "path": "/{}.flv", "bytes": 9000, "of": 3}
    report = hold(settings(server, film_in=4, film=film))
    assert report["failures"] == {}
    assert (report["replies"], report["films"], server.films) == (40, 10, 10)
    assert report["film_p95_milliseconds"] > 0
    assert hold(settings(server, film_in=4, film={**film, "bytes": 9001}))["failures"] == {
        "9000 bytes instead of 9001": 5
    }


def test_the_time_of_a_response_counts_from_when_its_request_was_due(server: Server) -> None:
    # Two requests over one connection, due 20 ms apart, sent one after another: 300 and 580 ms.
    server.requested = 19
    server.thinking = 0.3
    report = hold(settings(server, connections=1, rounds=2, every=0.02))
    assert report["failures"] == {}
    assert report["milliseconds"] >= (300 + 580) / 2


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([GOOD[:2000], b""], "closed before the response was complete"),
        ([response(b"x" * 4999)], "4999 bytes instead of 5000"),
        ([GOOD, b"HTTP/1.1 408 Request Timeout\r\n\r\n"], "data without a request"),
        ([response(status="503 Service Unavailable")], "status 503"),
    ],
)
def test_a_wrong_response_ends_the_opening(server: Server, parts: list[bytes], why: str) -> None:
    server.responses = [[GOOD]] * 3 + [parts] + [[GOOD[:100]]] * 16
    report = hold(settings(server, pause=1))
    assert report["failures"] == {why: 1}
    assert report["held"] <= 3, "a connection that waits for its first response is not held"
    assert "replies" not in report


@pytest.mark.parametrize(
    ("parts", "timeout", "why"),
    [
        ([GOOD[:2000], b""], 30, "closed before the response was complete"),
        ([GOOD[:100]], 5, "no response within 5 s"),
    ],
)
def test_a_held_connection_that_fails_does_not_stop_the_others(
    server: Server, parts: list[bytes], timeout: float, why: str
) -> None:
    server.responses = [[GOOD]] * 20 + [parts]
    report = hold(settings(server, response_timeout=timeout))
    assert report["failures"] == {why: 1}
    assert report["replies"] == 38
    assert "milliseconds" not in report


def test_a_server_that_closes_idle_connections(server: Server) -> None:
    server.idle_timeout = 0.2
    report = hold(settings(server, pause=1))
    assert report["failures"] == {"closed while idle": 20}
    assert report["held"] == 0


# --- The driver

REPORT: dict[str, Any] = {
    **{"held": 100, "open_seconds": 0.5, "held_from": 1000.0, "held_until": 1001.0, "seconds": 6.5},
    **{"replies": 200, "requesting_seconds": 5.0, "generator_cpu_percent": 3.0, "failures": {}},
    **dict.fromkeys(driver.PASSED_ON, 1.5),
}


def usage(memory_bytes: int, process_bytes: int = 0, tasks: int = 1) -> Usage:
    return Usage(0.0, memory_bytes, 10**9, process_bytes, tasks)


def test_memory_per_connection_is_the_median_held_minus_that_before() -> None:
    held = [usage(1_050_000, 520_000, 8), usage(1_060_000, 530_000, 9), usage(9_000_000, 8_000_000, 99)]
    found = driver.metrics(REPORT, 100, before=usage(1_000_000, 500_000), held=held)
    assert found["bytes_per_connection"] == 600
    assert found["process_bytes_per_connection"] == 300
    assert (found["memory_bytes"], found["process_bytes"]) == (1_060_000, 530_000)
    assert found["tasks"] == 9
    assert found["requests_per_second"] == 40


def test_failed_connections_reject_the_measurement() -> None:
    with pytest.raises(Problem, match=r"^3 of 100 held connections failed: reset \(2\); status 503 \(1\)$"):
        driver.metrics({**REPORT, "failures": {"reset": 2, "status 503": 1}}, 100, usage(0), [usage(1)])
    opening = {"held": 33, "failures": {"no response within 5 s": 67}}
    with pytest.raises(Problem, match=r"^33 of 100 connections held, then: no response within 5 s \(67\)$"):
        driver.metrics(opening, 100, usage(0), [usage(1)])
    with pytest.raises(Problem, match="reported no memory"):
        driver.metrics(REPORT, 100, usage(0), [])


class Growing:
    """A stack whose memory grows by 1 MB at each sample up to 10 MB."""

    bytes = 0

    def usage(self, services: list[str]) -> dict[str, Usage]:
        self.bytes = min(self.bytes + 1_000_000, 10_000_000)
        return dict.fromkeys(services, usage(self.bytes))


def growing() -> LabStack:
    return cast(LabStack, Growing())


def test_the_memory_before_is_read_once_it_is_stable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "PAUSE", 0.0)
    assert driver.settled(growing(), "nginx").memory_bytes == 10_000_000
    monkeypatch.setattr(driver, "SETTLED", 0.0)
    with pytest.raises(Problem, match="does not become stable"):
        driver.settled(growing(), "nginx")


def test_memory_is_sampled_while_a_load_runs() -> None:
    begin = time.time()
    with Memory(growing(), "nginx") as memory:
        wait_until(lambda: len(memory.samples) >= 4, within=60)
    sizes = [usage.memory_bytes for _, usage in memory.samples]
    assert sizes[:4] == [1_000_000, 2_000_000, 3_000_000, 4_000_000]
    assert memory.highest() == max(sizes)
    first, second, third = (moment for moment, _ in memory.samples[:3])
    assert begin <= first
    assert [usage.memory_bytes for usage in memory.between(second, third)] == [2_000_000, 3_000_000]
    assert memory.between(first - 2, first - 1) == []
