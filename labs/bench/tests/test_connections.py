"""Crowds and held connections: what counts as a failure, and from when a response is timed."""

import threading
from typing import Any

import pytest

from labs.bench.clients.hold_connections import hold
from labs.bench.tests.programs import report
from tests.support.origin import Origin, Request, response

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
