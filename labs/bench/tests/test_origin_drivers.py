"""Crowds and outages: the program against a server on loopback, and the drivers with a fake stack."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from bench.drivers import crowd, outage
from bench.lab_stack import LabStack, Problem
from bench.tests.programs import report
from support.origin import Origin, Request, response


def run(origin: Origin, clients: int) -> dict[str, Any]:
    settings = {"address": "127.0.0.1", "port": origin.port, "host": "a.example", "path": "/page?1"}
    return report("crowd", {**settings, "clients": clients})


def test_a_crowd_connects_before_the_first_request_is_answered(origin: Origin) -> None:
    """The server answers no client until all are there: one after another they would wait forever."""
    all_clients = threading.Barrier(40)

    def answer(request: Request) -> bytes:
        all_clients.wait(5)
        return response(b"x", connection="close")

    origin.answer = answer
    found = run(origin, 40)
    assert found["statuses"] == {"200": 40}
    assert 0 < found["first_milliseconds"] <= found["last_milliseconds"]
    assert {request.headers["host"] for request in origin.requests} == {"a.example"}


def test_a_crowd_counts_each_status_and_missing_responses(origin: Origin) -> None:
    kinds = iter([response(b"x"), response(b"", "503 Service Unavailable"), b""])

    def answer(request: Request) -> bytes:
        return next(kinds) if request.headers["connection"] == "close" else b""

    origin.answer = answer
    assert run(origin, 3)["statuses"] == {"200": 1, "503": 1, "no response": 1}


# --- The drivers

METRICS = """\
upstage_http_request_seconds_bucket{le="0.5",path="stage",status="200"} 700.0
upstage_http_request_seconds_count{path="stage",status="200"} NUMBER
upstage_http_request_seconds_count{path="stage",status="404"} 2.0
upstage_http_request_seconds_count{path="page",status="200"} 900.0
"""
SETTINGS: dict[str, Any] = {
    "url": "http://cache:8080",
    "host": "a.example",
    "path": "/stages/demo",
    "file": "/media/a.swf",
    "clients": 200,
    "copy": "expired",
    "lifetime": 0.0,
    "standstill": 0.05,
    "down": True,
}


class Stack:
    """An origin that can be paused and killed, and a cache before it that `status` describes."""

    def __init__(self, status: Callable[["Stack", str], str], each: int = 1) -> None:
        self.containers = {"backend": self}
        self.status, self.each = status, each  # the number of requests of each crowd that reach the origin
        self.running, self.paused, self.origin = True, False, 7.0
        self.asked: list[tuple[str, int, bool]] = []  # path, clients, whether the origin could answer

    def pause(self) -> None:
        self.paused = True

    def unpause(self) -> None:
        self.paused = False

    def kill(self) -> None:
        self.running = False

    def start(self) -> None:
        self.running = True

    def run(self, service: str, *command: str) -> str:
        assert service == "generator"
        if command[0] == "curl":
            return METRICS.replace("NUMBER", str(self.origin))
        settings: Mapping[str, Any] = json.loads(command[-1])
        assert (settings["address"], settings["port"]) == ("cache", 8080)
        self.asked.append((settings["path"], settings["clients"], self.running and not self.paused))
        while self.paused:
            time.sleep(0.01)
        self.origin += self.each
        status = self.status(self, settings["path"])
        return json.dumps(
            {"statuses": {status: settings["clients"]}, "first_milliseconds": 1.0, "last_milliseconds": 9.0}
        )

    @property
    def stack(self) -> LabStack:
        return cast(LabStack, self)


def test_the_requests_of_a_crowd_that_reach_the_origin_are_counted() -> None:
    stack = Stack(lambda stack, path: "200", each=3)
    assert crowd.measure(stack.stack, SETTINGS) == {
        "requests_to_origin": 3,  # not those of the first visitor
        "served": 200,
        "first_milliseconds": 1,
        "last_milliseconds": 9,
    }
    (first, one, answered), (path, all_of_them, paused) = stack.asked
    assert (first, one, answered) == (path, 1, True)
    assert (all_of_them, paused) == (200, False)
    assert path.startswith("/stages/demo?")


def test_a_crowd_with_lost_responses_is_rejected_and_the_origin_runs_again() -> None:
    stack = Stack(lambda stack, path: "no response")
    with pytest.raises(Problem, match="200 of 200 requests had no response"):
        crowd.measure(stack.stack, SETTINGS)
    assert not stack.paused


def test_an_outage_asks_for_a_fresh_an_expired_and_a_missing_copy() -> None:
    def cache(stack: Stack, path: str) -> str:
        known = [asked for asked, _, could_answer in stack.asked if could_answer]
        return "200" if stack.running or path in known else "503"

    stack = Stack(cache)
    found = outage.measure(stack.stack, SETTINGS)
    statuses = {name: value for name, value in found.items() if name.endswith("_status")}
    assert statuses == {"fresh_status": 200, "expired_status": 200, "missing_status": 503}
    assert stack.running


@pytest.mark.parametrize(("down", "expected"), [(True, 0), (False, 200)])
def test_no_response_is_status_0_and_a_warm_up_leaves_the_origin_running(down: bool, expected: int) -> None:
    stack = Stack(lambda stack, path: "200" if stack.running else "no response")
    assert outage.measure(stack.stack, {**SETTINGS, "down": down})["fresh_status"] == expected


def test_an_outage_without_a_copy_before_it_or_a_recovery_after_it_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(Problem, match=r"before the outage /media/a\.swf was answered by 502"):
        outage.measure(Stack(lambda stack, path: "502").stack, SETTINGS)
    monkeypatch.setattr(outage, "BACK_WITHIN", 0.5)
    stack = Stack(lambda stack, path: "200" if len(stack.asked) <= 3 else "503")
    with pytest.raises(Problem, match=r"no page 0\.5 s after the outage"):
        outage.measure(stack.stack, SETTINGS)
    assert stack.running
