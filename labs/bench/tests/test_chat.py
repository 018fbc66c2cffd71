"""Chat under load: the programs against a site and a stage on loopback, and the driver's figures."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from bench.clients import speakers
from bench.clients.speakers import Speakers
from bench.drivers import chat
from bench.experiment import load
from bench.lab_stack import Problem
from bench.tests.programs import EVERYTHING, Generator, Site, Stage, report
from stack import REPO
from support.origin import response


def page_loads(site: Site, **settings: Any) -> dict[str, Any]:
    return report("page_loads", {**site.web, **settings})


def talk(site: Site, stage: Stage, proxied: bool = True, **settings: Any) -> dict[str, Any]:
    address = {"address": "127.0.0.1", "port": stage.port, "proxied": proxied, "stage": "demo"}
    usual = {"speakers": 3, "lines_per_second": 20, "seconds": 1, "page_loads_per_second": 0}
    return report("chat", {"web": site.web, "stage": address, **usual, **settings})


def test_a_page_load_requests_the_page_and_each_file_once_over_six_connections(site: Site) -> None:
    site.delay = 0.2
    found = page_loads(site, page_loads_per_second=1, seconds=1)
    # The page twice: before the start the program reads which files it refers to.
    assert Counter(site.targets) == Counter([*EVERYTHING, "/stages/demo"])
    assert {request.headers["host"] for request in site.requests} == {"upstage.localhost"}
    assert site.connections == 1 + 6
    assert (len(found["milliseconds"]), found["requests_each"]) == (1, len(EVERYTHING))
    assert found["failures"] == []
    assert found["cpu_percent"] > 0


def test_page_loads_on_schedule_do_not_wait_for_earlier_ones(site: Site) -> None:
    site.delay = 1.0
    found = page_loads(site, page_loads_per_second=5, seconds=1)
    # Two requests one after another: none had finished when the last one started, one second after the
    # first.
    assert len(found["milliseconds"]) == 5
    assert min(found["milliseconds"]) >= 2000
    assert found["served_per_second"] > 5 / 5.5


def test_page_loads_at_once_are_so_many(site: Site) -> None:
    site.delay = 0.3
    found = page_loads(site, at_once=2, seconds=1)
    assert len(found["milliseconds"]) in (2, 4), "two at a time, each 0.6 s long"
    assert site.connections == 1 + 6 * len(found["milliseconds"])


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
    found = page_loads(site, page_loads_per_second=3, seconds=1)
    assert (found["milliseconds"], found["failures"]) == ([], [reason] * 3)


def test_the_speakers_talk_on_schedule_while_pages_load(site: Site, stage: Stage) -> None:
    found = talk(site, stage, page_loads_per_second=4)
    assert len(found["milliseconds"]) == len(found["late_milliseconds"]) == 20
    assert min(found["milliseconds"]) > 0
    assert stage.received == {"JOIN": 3, "LOADED": 3, "TEXT": 20}
    assert len(found["page_loads"]["milliseconds"]) == 14, "2 s before, 1 s of talk, half a second after"
    assert not any("PROXY" in frame for frame in stage.frames)


def test_without_a_proxy_the_speakers_announce_their_address(site: Site, stage: Stage) -> None:
    stage.delay = 0.05
    found = talk(site, stage, proxied=False)
    assert min(found["milliseconds"]) >= 50, "the stage's delay is measured"
    assert found["page_loads"] is None
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


def test_the_load_is_a_share_of_what_upstage_alone_can_serve() -> None:
    capacities = [loads_report(served_per_second=rate) for rate in (9.0, 10.0, 7.0)]
    generator = Generator(*capacities, *[chat_report(None)] * 8)
    cells = load(REPO / "labs" / "chat-under-load", "full").cells
    for cell in sorted(cells, key=lambda cell: cell.key["load"] == 0):
        chat.measure(generator.stack, cell.settings)
    # Measured once for all cells, at the backend's own port.
    asked = [json.loads(command[-1]) for command in generator.commands]
    assert [(one["address"], one["port"]) for one in asked[:3]] == [("backend", 8081)] * 3
    rates = {(one["web"]["address"], round(one["page_loads_per_second"], 6)) for one in asked[3:]}
    assert rates == {(address, rate) for address in ("backend", "nginx") for rate in (0, 3, 6, 9)}
