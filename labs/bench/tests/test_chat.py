"""The rush: the programs of labs/show against the tiny house, and what the tool makes of what they say."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bench.experiment import load
from bench.house import House, Problem
from bench.tools import rush
from tiny_front import ASSETS, STAGE_PAGE, Answer, Front

LAB = Path(__file__).resolve().parents[2] / "labs" / "show"
EVERYTHING = {"/stages/demo", "/admin/id", *ASSETS}


def program(name: str, settings: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, LAB / f"{name}.py", json.dumps(settings)],
        capture_output=True,
        text=True,
        timeout=120,
    )


def crowd(front: Front, **settings: Any) -> dict[str, Any]:
    done = program("crowd", {**web(front), **settings})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def web(front: Front) -> dict[str, Any]:
    port = int(front.address.rpartition(":")[2])
    return {"address": "127.0.0.1", "port": port, "host": "upstage.localhost", "page": "/stages/demo"}


def evening(front: Front, **settings: Any) -> dict[str, Any]:
    stage = {"address": "127.0.0.1", "port": front.stage.port, "proxied": True, "stage": "demo"}
    usual = {"cast": 3, "lines_per_second": 20, "seconds": 1, "arrivals_per_second": 0}
    return {"web": web(front), "stage": stage, **usual, **settings}


# --- The crowd


def test_each_arrival_fetches_everything_once(front: Front) -> None:
    report = crowd(front, arrivals_per_second=10, seconds=1)
    assert front.asked.keys() == EVERYTHING
    # One look more at the page, to read what it names.
    assert front.asked.pop("/stages/demo") == 11
    assert set(front.asked.values()) == {10}
    assert front.hosts == {"upstage.localhost"}
    assert len(report["milliseconds"]) == 10
    assert report["failures"] == []
    assert report["requests_each"] == len(EVERYTHING)
    assert report["cpu_percent"] > 0


def test_a_browser_has_six_connections(front: Front) -> None:
    front.delay = 0.2
    crowd(front, arrivals_per_second=1, seconds=1)
    assert front.most_in_flight == 6


def test_arrivals_do_not_wait_for_those_before(front: Front) -> None:
    front.delay = 1.0  # three requests one after another: nobody is done when the last one comes
    report = crowd(front, arrivals_per_second=5, seconds=1)
    assert front.most_in_flight > 2 * 6
    assert len(report["milliseconds"]) == 5
    assert min(report["milliseconds"]) >= 2000


def test_a_throng_has_a_size(front: Front) -> None:
    front.delay = 0.05
    report = crowd(front, at_once=2, seconds=1)
    assert 6 < front.most_in_flight <= 2 * 6
    assert report["served_per_second"] > 0


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(503, b"no"), "/media/castle.svg was answered with 503"),
        (Answer(200, b"half", content_length=9), "4 bytes read on a total of 9 expected bytes"),
    ],
)
def test_an_arrival_that_misses_a_file_has_failed(front: Front, answer: Answer, reason: str) -> None:
    front.answers["/media/castle.svg"] = answer
    report = crowd(front, arrivals_per_second=3, seconds=1)
    assert report["milliseconds"] == []
    assert report["failures"] == [reason] * 3


def test_no_page_is_no_rush(front: Front) -> None:
    front.answers["/stages/demo"] = Answer(404)
    done = program("crowd", {**web(front), "arrivals_per_second": 1, "seconds": 1})
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].endswith("/stages/demo was answered with 404")


@pytest.fixture
def chunking() -> Iterator[int]:
    """A server that says no length; its port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            page = STAGE_PAGE.encode()
            for chunk in (page[:10], page[10:], b""):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))

        def log_message(self, *_: object) -> None:
            """Keep the tests' output to what matters."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


def test_chunks_are_put_together(chunking: int) -> None:
    settings = {"address": "127.0.0.1", "port": chunking, "host": "x", "page": "/stages/demo"}
    done = program("crowd", {**settings, "arrivals_per_second": 2, "seconds": 1})
    report = json.loads(done.stdout)
    assert report["requests_each"] == len(EVERYTHING)
    assert len(report["milliseconds"]) == 2


# --- The cast


def test_the_cast_talks_by_the_clock_while_the_crowd_comes(front: Front) -> None:
    done = program("rush", evening(front, arrivals_per_second=4))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert len(report["milliseconds"]) == len(report["late_milliseconds"]) == 20
    assert min(report["milliseconds"]) > 0
    assert front.stage.heard["TEXT"] == 20
    assert front.stage.heard["JOIN"] == front.stage.heard["LOADED"] == 3
    # Two seconds before, one of talk, half a second after.
    assert len(report["crowd"]["milliseconds"]) == 14
    assert not any("PROXY" in name for _, fields in front.stage.said for name in fields)


def test_without_a_rush_there_is_no_crowd(front: Front) -> None:
    report = json.loads(program("rush", evening(front)).stdout)
    assert report["crowd"] is None
    assert not front.asked


def test_a_delay_of_the_stage_is_measured(front: Front) -> None:
    front.stage.delay = 0.05
    report = json.loads(program("rush", evening(front)).stdout)
    assert min(report["milliseconds"]) >= 50


def test_who_comes_without_a_proxy_says_who_is_there(front: Front) -> None:
    settings = evening(front)
    settings["stage"]["proxied"] = False
    program("rush", settings)
    joins = [fields for mode, fields in front.stage.said if mode == "JOIN"]
    assert all(name.startswith("PROXY TCP4 ") for fields in joins for name in fields)


def test_a_line_that_nobody_hears_is_an_error(front: Front) -> None:
    front.stage.forgets = "ANONTEXT"
    done = program("rush", evening(front))
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == "EOFError: 60 of 60 lines were not heard"


def test_a_crowd_that_cannot_come_is_an_error(front: Front) -> None:
    front.answers["/stages/demo"] = Answer(500)
    done = program("rush", evening(front, arrivals_per_second=1))
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].endswith("/stages/demo was answered with 500")


# --- The tool


@pytest.mark.parametrize(
    ("percent", "expected"), [(0, 1), (1, 1), (50, 50), (95, 95), (99, 99), (99.5, 100), (100, 100)]
)
def test_percentiles_are_values_that_were_measured(percent: float, expected: float) -> None:
    assert rush.percentile([float(value) for value in range(100, 0, -1)], percent) == expected


def test_the_percentile_of_one_value_is_that_value() -> None:
    assert rush.percentile([7.0], 1) == rush.percentile([7.0], 99) == 7.0


def crowd_report(**changes: Any) -> dict[str, Any]:
    usual = {
        "milliseconds": [30.0, 40.0, 80.0],
        "failures": [],
        "late_milliseconds": 3.0,
        "served_per_second": 6.0,
        "cpu_percent": 20.0,
    }
    return {**usual, **changes}


def rush_report(crowd: dict[str, Any] | None) -> dict[str, Any]:
    return {"milliseconds": [1.0, 2.0, 9.0], "late_milliseconds": [0.5], "cpu_percent": 5.0, "crowd": crowd}


def test_what_a_run_amounts_to() -> None:
    assert rush.metrics(rush_report(crowd_report())) == {
        "p50_milliseconds": 2.0,
        "p95_milliseconds": 9.0,
        "p99_milliseconds": 9.0,
        "lines": 3.0,
        "cast_late_p99_milliseconds": 0.5,
        "arrivals_per_second": 6.0,
        "preload_milliseconds": 40.0,
        "generator_cpu_percent": 25.0,
    }


def test_an_idle_stage_has_no_preload() -> None:
    figures = rush.metrics(rush_report(None))
    assert figures["arrivals_per_second"] == 0
    assert "preload_milliseconds" not in figures


@pytest.mark.parametrize(
    ("crowd", "reason"),
    [
        (crowd_report(failures=["x", "y"]), "2 of 5 arrivals failed: x"),
        (crowd_report(cpu_percent=86.0), "the generator was the limit: it used 91 % of a core"),
        (crowd_report(late_milliseconds=251.0), "the generator was the limit: it was 251 ms late"),
    ],
)
def test_a_run_that_measured_the_generator_is_refused(crowd: dict[str, Any], reason: str) -> None:
    with pytest.raises(Problem, match=f"^{reason}$"):
        rush.metrics(rush_report(crowd))


class SpokenHouse(House):
    """A house whose generator says what it is told to say."""

    def __init__(self, say: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
        self.say = say
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def run(self, service: str, *command: str) -> str:
        assert service == "generator"
        name, settings = Path(command[1]).stem, json.loads(command[2])
        self.asked.append((name, settings))
        return json.dumps(self.say(name, settings))


def test_the_rush_is_a_share_of_what_upstage_alone_can_serve() -> None:
    capacities = iter([9.0, 10.0, 7.0])

    def say(name: str, settings: dict[str, Any]) -> dict[str, Any]:
        if name == "crowd":
            return crowd_report(served_per_second=next(capacities))
        return rush_report(crowd_report() if settings["arrivals_per_second"] else None)

    house = SpokenHouse(say)
    for cell in load(LAB, "quick").cells:
        rush.measure(house, cell.settings)
    # Measured once for all cells, at the door of UpStage alone.
    asked = [settings for name, settings in house.asked if name == "crowd"]
    assert {(settings["address"], settings["port"]) for settings in asked} == {("backend", 8081)}
    assert len(asked) == 3
    rates = {
        (settings["web"]["address"], round(settings["arrivals_per_second"], 6))
        for name, settings in house.asked
        if name == "rush"
    }
    assert rates >= {("backend", 0), ("nginx", 0), ("backend", 6), ("nginx", 6)}
    assert {rate for _, rate in rates} <= {0, 3, 6, 9}
