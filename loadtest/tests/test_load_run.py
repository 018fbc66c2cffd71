"""`make load` as a judge: real Locust processes against tiny servers, healthy and ill."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from test_locust import environment, locust
from tiny_front import ASSETS, Answer, Front

THRESHOLDS = """
[samples]
"GET /stages/*" = 3
"GET /media/*" = 6
"stage join" = 3
"stage chat" = 5
"stage heard" = 10

[error_ratio]
"*" = 0

[p95_ms]
"GET /*" = 9000
"stage *" = 9000

[p99_ms]
"stage heard" = 9000

[hit_ratio]
"/media/*" = 0.6

[generator] # tests run on busy machines
cpu_percent = 100
late_ms = 9000
"""
ENOUGH = {"/stages/demo": 6, "/media/*.svg": 12, "stage join": 6, "stage chat": 12, "stage heard": 30}
# Half a second of work for each task, as a machine does that has more users than it can play.
BUSY = """
import time
from locust import User, constant, task
import report

class Busy(User):
    wait_time = constant(0.01)

    @task
    def work(self):
        end = time.perf_counter() + 0.5
        while time.perf_counter() < end:
            pass
        self.environment.events.request.fire(
            request_type="GET", name="/", response_time=500, response_length=0, exception=None, context={}
        )
"""


@dataclass
class Result:
    code: int
    output: str
    report: dict[str, Any]

    def why(self, what: str) -> str:
        """Why that line of the verdict does not hold; nothing if it does."""
        (line,) = (line for line in self.report["verdict"] if line["what"] == what)
        assert (line["verdict"] == "ok") == (line["why"] == "")
        assert re.search(f"^{line['verdict']} +{re.escape(what)} ", self.output, re.MULTILINE)
        return str(line["why"])


@dataclass
class House:
    front: Front
    folder: Path

    def load(
        self,
        *options: str,
        until: dict[str, int],
        thresholds: str = THRESHOLDS,
        linger: float = 0,
        code: str = "from locustfile import *",
    ) -> Result:
        """Play Locust, judged; `code`: a locustfile in place of ours."""
        (self.folder / "thresholds.toml").write_text(thresholds)
        reports = self.folder / "reports"
        path = self.folder / "other.py"
        path.write_text(code)
        returned, output = locust(
            "-u6",
            "-r6",
            f"--thresholds={self.folder / 'thresholds.toml'}",
            *options,
            until=until,
            linger=linger,
            code=str(path),
            LOADTEST_CHAT_RATE="120",
            LOADTEST_REPORTS=str(reports),
            **environment(self.front),
        )
        report = reports / "report.json"
        return Result(returned, output, json.loads(report.read_text()) if report.exists() else {})


@pytest.fixture
def house(front: Front, tmp_path: Path) -> House:
    # As on a house that has been open for a while.
    front.answered.update(list(ASSETS))
    return House(front, tmp_path)


@pytest.mark.parametrize("processes", [[], ["--processes", "2"]])
def test_healthy_house_passes(house: House, processes: list[str]) -> None:
    house.front.answers["/.nginx/backend"] = Answer(
        body=b"upstage_http_request_seconds_count 5\nprocess_cpu_seconds_total 1\nupstage_clients 3\n"
    )
    result = house.load("Audience", *processes, until=ENOUGH, linger=5)  # so that the backend is asked twice
    assert result.code == 0, result.output
    assert result.report["good"] is True
    assert result.output.count("\nVerdict\n") == 1  # workers do not judge
    assert result.output.rstrip().endswith("GOOD: all 12 lines hold.")
    assert "<html" in (house.folder / "reports" / "report.html").read_text()
    assert result.report["backend"] == {"requests_per_second": 0.0, "cpu_percent": 0.0, "clients": 3.0}
    # Every answer was counted once, in whichever process it came.
    answers = {line["row"]: 0 for line in result.report["caches"]}
    for line in result.report["caches"]:
        answers[line["row"]] += line["answers"] * (line["tier"] == "house")
    assert answers == {
        row["name"]: row["num_requests"] for row in result.report["rows"] if row["method"] == "GET"
    }


def test_backend_gone_fails(house: House) -> None:
    for path in house.front.answers:
        house.front.answers[path] = Answer(503, b"later")
    result = house.load("Audience", until={"/stages/demo": 6})
    assert result.code == 1
    assert "most of them GET /stages/demo" in result.why("errors of *")
    assert result.why("samples of stage join") == "too few were made"
    assert result.why("p95 of GET /*") == "more than 5% of GET /stages/demo failed"
    assert result.why("hits of /media/*") == "no such answer came"
    assert result.report["backend"] == {"absent": "status 404"}


def test_varnish_that_passes_everything_fails(house: House) -> None:
    house.front.hit = house.front.miss = "varnish; fwd=bypass; detail=pass"
    result = house.load("Audience", until=ENOUGH)
    assert result.code == 1
    assert "of " in result.why("hits of /media/*")
    assert " answers: pass " in result.why("hits of /media/*")
    assert result.why("p99 of stage heard") == ""


def test_every_tenth_frame_dropped_fails(house: House) -> None:
    house.front.stage.drop_every = 10
    result = house.load("Audience", until={"stage heard": 200})
    assert result.code == 1
    assert "most of them stage heard" in result.why("errors of *")
    assert result.why("hits of /media/*") == ""
    assert "a line before this one was lost" in result.output


def test_a_run_without_what_it_should_have_fails_though_nothing_failed(house: House) -> None:
    result = house.load("Reader", until={"/stages/demo": 6, "/media/*.svg": 6})
    assert result.code == 1
    assert result.report["failures"] == []
    assert result.why("errors of *") == ""
    assert result.why("samples of stage heard") == "too few were made"
    assert result.why("p99 of stage heard") == "no such sample was made"


def test_a_generator_at_its_limit_has_measured_nothing(house: House) -> None:
    thresholds = '[samples]\n"GET /" = 1'
    result = house.load("-u1", until={"/": 1}, linger=5, thresholds=thresholds, code=BUSY)
    assert result.code == 1
    assert result.why("samples of GET /") == ""
    # On an idle machine its CPU tells, too.
    assert result.why("lateness of Locust").startswith("Locust's timers were late")
    assert "NOT MEASURED: " in result.output.rstrip().splitlines()[-1]


@pytest.mark.parametrize(("asked", "expected"), [("0", 1), ("3", 3)])
def test_the_exit_code_is_only_raised(house: House, asked: str, expected: int) -> None:
    house.front.answers["/stages/demo"] = Answer(503, b"later")
    result = house.load("Audience", "--exit-code-on-error", asked, until={"/stages/demo": 1})
    assert result.code == expected


def test_good_figures_forgive_no_failed_sample(house: House) -> None:
    del house.front.answers["/media/castle.svg"]
    thresholds = '[samples]\n"GET /media/*" = 1\n[generator]\ncpu_percent = 100\nlate_ms = 9000'
    result = house.load("Audience", until={"/media/*.svg": 12}, thresholds=thresholds)
    assert result.report["good"] is True
    assert result.code == 1


def test_a_slip_in_the_thresholds_shows_before_the_run(house: House) -> None:
    result = house.load("Audience", until={}, thresholds="[sample]\n'GET /' = 1")
    assert result.code == 2
    assert "there is no table [sample]" in result.output
    assert not house.front.asked
