"""Chat under load: the programs against a site and a stage on loopback, and the driver's figures."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from bench.clients import speakers
from bench.clients.speakers import Speakers
from bench.drivers import chat
from bench.experiment import load
from bench.lab_stack import LabStack, Problem
from stack import REPO
from support.origin import Origin, Request, response

FILES = ("/style/main.css", "/script/main.js", "/media/queen.svg", "/media/castle.svg", "/media/bell.mp3")
PAGE = '<a href="/stages/">Stages</a>' + "".join(f'<link href="{path}">' for path in FILES)
EVERYTHING = {"/stages/demo", "/admin/id", *FILES}


class Site(Origin):
    """The stage's page and files; `responses` replaces them by path."""

    def __init__(self) -> None:
        self.responses: dict[str, bytes] = {}
        super().__init__("site")
        self.answer = self.respond

    def respond(self, request: Request) -> bytes:
        body = PAGE if request.target == "/stages/demo" else "body"
        return self.responses.get(request.target, response(body))


class Stage(Origin):
    """A stage that repeats each line to every client; `lost` lines are not repeated."""

    def __init__(self) -> None:
        self.clients: set[socket.socket] = set()
        self.received: Counter[str] = Counter()
        self.frames: list[str] = []
        self.lock = threading.Lock()
        self.lost = False
        super().__init__("stage")

    def serve(self, connection: socket.socket, number: int) -> None:
        rest = b""
        while data := connection.recv(65536):
            *frames, rest = (rest + data).split(b"\0")
            for frame in frames:
                self.handle(connection, frame.decode())

    def handle(self, connection: socket.socket, frame: str) -> None:
        mode = frame.rpartition("mode=")[2]
        with self.lock:
            self.received[mode] += 1
            self.frames.append(frame)
            if mode == "JOIN":
                self.clients.add(connection)
            elif mode == "LOADED":
                connection.sendall(b"mode=CONFIRM_LOADED\0")
            elif mode == "TEXT" and not self.lost:
                time.sleep(self.delay)
                line = frame.removeprefix("msg=").partition("&")[0]
                for client in self.clients:
                    client.sendall(f"text={line}&mode=ANONTEXT\0".encode())


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.close()


def program(name: str, settings: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"bench.clients.{name}", json.dumps(settings)],
        env={**os.environ, "PYTHONPATH": str(REPO / "labs")},
        capture_output=True,
        text=True,
        timeout=120,
    )


def web(site: Site) -> dict[str, Any]:
    return {"address": "127.0.0.1", "port": site.port, "host": "upstage.localhost", "page": "/stages/demo"}


def page_loads(site: Site, **settings: Any) -> dict[str, Any]:
    done = program("page_loads", {**web(site), **settings})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def talk(site: Site, stage: Stage, proxied: bool = True, **settings: Any) -> subprocess.CompletedProcess[str]:
    address = {"address": "127.0.0.1", "port": stage.port, "proxied": proxied, "stage": "demo"}
    usual = {"speakers": 3, "lines_per_second": 20, "seconds": 1, "page_loads_per_second": 0}
    return program("chat", {"web": web(site), "stage": address, **usual, **settings})


def test_a_page_load_requests_the_page_and_each_file_once_over_six_connections(site: Site) -> None:
    site.delay = 0.2
    report = page_loads(site, page_loads_per_second=1, seconds=1)
    # The page twice: before the start the program reads which files it refers to.
    assert Counter(site.targets) == Counter([*EVERYTHING, "/stages/demo"])
    assert {request.headers["host"] for request in site.requests} == {"upstage.localhost"}
    assert site.connections == 1 + 6
    assert (len(report["milliseconds"]), report["requests_each"]) == (1, len(EVERYTHING))
    assert report["failures"] == []
    assert report["cpu_percent"] > 0


def test_page_loads_on_schedule_do_not_wait_for_earlier_ones(site: Site) -> None:
    site.delay = 1.0
    report = page_loads(site, page_loads_per_second=5, seconds=1)
    # Two requests one after another: none had finished when the last one started, one second after the
    # first.
    assert len(report["milliseconds"]) == 5
    assert min(report["milliseconds"]) >= 2000
    assert report["served_per_second"] > 5 / 5.5


def test_page_loads_at_once_are_so_many(site: Site) -> None:
    site.delay = 0.3
    report = page_loads(site, at_once=2, seconds=1)
    assert len(report["milliseconds"]) in (2, 4), "two at a time, each 0.6 s long"
    assert site.connections == 1 + 6 * len(report["milliseconds"])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (response(status="503 Service Unavailable"), "/media/castle.svg was answered with 503"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "/media/castle.svg was answered with no length"),
    ],
    ids=["status", "length"],
)
def test_a_page_load_that_misses_a_file_has_failed(site: Site, bad: bytes, reason: str) -> None:
    site.responses["/media/castle.svg"] = bad
    report = page_loads(site, page_loads_per_second=3, seconds=1)
    assert report["milliseconds"] == []
    assert report["failures"] == [reason] * 3


def test_the_speakers_talk_on_schedule_while_pages_load(site: Site, stage: Stage) -> None:
    done = talk(site, stage, page_loads_per_second=4)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert len(report["milliseconds"]) == len(report["late_milliseconds"]) == 20
    assert min(report["milliseconds"]) > 0
    assert stage.received == {"JOIN": 3, "LOADED": 3, "TEXT": 20}
    assert len(report["page_loads"]["milliseconds"]) == 14, "2 s before, 1 s of talk, half a second after"
    assert not any("PROXY" in frame for frame in stage.frames)


def test_without_a_proxy_the_speakers_announce_their_address(site: Site, stage: Stage) -> None:
    stage.delay = 0.05
    report = json.loads(talk(site, stage, proxied=False).stdout)
    assert min(report["milliseconds"]) >= 50, "the stage's delay is measured"
    assert report["page_loads"] is None
    assert not site.requests
    joins = [frame for frame in stage.frames if frame.endswith("mode=JOIN")]
    assert len(joins) == 3
    assert all(frame.startswith("PROXY TCP4 ") for frame in joins)


def test_a_lost_line_is_an_error(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def lose() -> None:
        async with Speakers("127.0.0.1", stage.port, True, "demo", number=3) as clients:
            await clients.talk(lines_per_second=20, seconds=0.5)

    stage.lost = True
    monkeypatch.setattr(speakers, "TIMEOUT", 1.0)
    with pytest.raises(EOFError, match=r"^30 of 30 lines were not received$"):
        asyncio.run(lose())


# --- The driver


def loads_report(**changes: Any) -> dict[str, Any]:
    usual = {
        "milliseconds": [30.0, 40.0, 80.0],
        "failures": [],
        "late_milliseconds": 3.0,
        "served_per_second": 6.0,
        "cpu_percent": 20.0,
    }
    return {**usual, **changes}


def chat_report(loads: dict[str, Any] | None) -> dict[str, Any]:
    lines = [float(number) for number in range(101)]
    return {"milliseconds": lines, "late_milliseconds": [0.5], "cpu_percent": 5.0, "page_loads": loads}


def test_the_figures_of_a_run() -> None:
    idle = {
        "p50_milliseconds": 50.0,
        "p95_milliseconds": 95.0,
        "p99_milliseconds": 99.0,
        "lines": 101.0,
        "speakers_late_p99_milliseconds": 0.5,
        "page_loads_per_second": 0.0,
        "generator_cpu_percent": 5.0,
    }
    assert chat.metrics(chat_report(None)) == idle
    assert chat.metrics(chat_report(loads_report())) == {
        **idle,
        "page_loads_per_second": 6.0,
        "page_load_milliseconds": 40.0,
        "generator_cpu_percent": 25.0,
    }


@pytest.mark.parametrize(
    ("loads", "reason"),
    [
        (loads_report(failures=["x", "y"]), "2 of 5 page loads failed: x"),
        (loads_report(cpu_percent=86.0), "the generator was the bottleneck: it used 91 % of a core"),
        (loads_report(late_milliseconds=251.0), "the generator was the bottleneck: it was 251 ms late"),
    ],
)
def test_a_run_that_measured_the_generator_is_rejected(loads: dict[str, Any], reason: str) -> None:
    with pytest.raises(Problem, match=f"^{reason}$"):
        chat.metrics(chat_report(loads))


class Generator:
    """A stack whose generator answers as `report` says, and keeps what it was asked."""

    def __init__(self, report: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
        self.report = report
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def run(self, service: str, *command: str) -> str:
        assert (service, *command[:2]) == ("generator", "python3", "-m")
        name, settings = command[2].removeprefix("bench.clients."), json.loads(command[3])
        self.asked.append((name, settings))
        return json.dumps(self.report(name, settings))


def test_the_load_is_a_share_of_what_upstage_alone_can_serve() -> None:
    capacities = iter([9.0, 10.0, 7.0])

    def report(name: str, settings: dict[str, Any]) -> dict[str, Any]:
        if name == "page_loads":
            return loads_report(served_per_second=next(capacities))
        return chat_report(loads_report() if settings["page_loads_per_second"] else None)

    generator = Generator(report)
    for cell in load(REPO / "labs" / "chat-under-load", "full").cells:
        chat.measure(cast(LabStack, generator), cell.settings)
    # Measured once for all cells, at the backend's own port.
    asked = [settings for name, settings in generator.asked if name == "page_loads"]
    assert [(settings["address"], settings["port"]) for settings in asked] == [("backend", 8081)] * 3
    rates = {
        (settings["web"]["address"], round(settings["page_loads_per_second"], 6))
        for name, settings in generator.asked
        if name == "chat"
    }
    assert rates == {(address, rate) for address in ("backend", "nginx") for rate in (0, 3, 6, 9)}
