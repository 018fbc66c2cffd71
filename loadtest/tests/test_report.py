"""The verdict on runs against a healthy or faulty site; Locust runs in this process."""

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from locust import User, constant, task

from caches import counters
from fake_site import ASSETS, METRICS, FakeSite
from locust_library import run
from locustfile import Audience, Reader
from results import page
from support.origin import response
from verdict import generator

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
cpu_percent = 1000
late_ms = 9000
"""
ENOUGH = {"/stages/demo": 6, "/media/*.svg": 12, "stage join": 6, "stage chat": 12, "stage heard": 30}


@dataclass
class Verdict:
    code: int | None  # what we set; None leaves the exit code to Locust
    output: str
    report: dict[str, Any]

    def why(self, what: str) -> str:
        """Why that line of the verdict is not met; empty if it is."""
        (line,) = (line for line in self.report["verdict"] if line["what"] == what)
        assert (line["verdict"] in ("ok", "not in this run")) == (line["why"] == "")
        assert re.search(f"^{line['verdict']} +{re.escape(what)} ", self.output, re.MULTILINE)
        return str(line["why"])


@dataclass
class Judged:
    """Starts judged runs."""

    site: FakeSite
    folder: Path
    capsys: pytest.CaptureFixture[str]

    def run(
        self,
        *classes: type[User],
        until_rows: dict[str, int],
        thresholds: str = THRESHOLDS,
        users: int = 6,
        linger: float = 0,
        arguments: tuple[str, ...] = (),
    ) -> Verdict:
        """Run until each row has that many samples, then let Locust quit."""
        file = self.folder / "thresholds.toml"
        file.write_text(thresholds)
        arguments = (f"--thresholds={file}", "--audience=stays", "--chat-rate=120", *arguments)
        result = run(
            self.site, *classes, users=users, arguments=arguments, until_rows=until_rows, linger=linger
        )
        environment = result.environment
        environment.events.quitting.fire(environment=environment, reverse=True)
        environment.events.quit.fire(exit_code=environment.process_exit_code)
        report = json.loads((self.folder / "reports" / "report.json").read_text())
        return Verdict(environment.process_exit_code, self.capsys.readouterr().out, report)


@pytest.fixture
def judged(
    site: FakeSite, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Judged:
    site.cached.update(ASSETS)  # as on a server that has run for a while
    monkeypatch.setenv("LOADTEST_REPORTS", str(tmp_path / "reports"))
    return Judged(site, tmp_path, capsys)


def test_a_healthy_site_passes(judged: Judged) -> None:
    judged.site.instead["/.nginx/backend"] = response(METRICS)
    verdict = judged.run(Audience, until_rows=ENOUGH, linger=2)  # for a second report of the backend
    assert verdict.code is None
    assert verdict.report["good"] is True
    assert verdict.output.rstrip().endswith("GOOD: all 12 lines hold.")
    assert verdict.report["backend"] == {"requests_per_second": 0.0, "cpu_percent": 0.0, "clients": 3.0}
    report = (judged.folder / "reports" / "report.html").read_text()
    ours, locusts = report.split('<div id="root">')
    assert "<h1>GOOD</h1>" in ours
    assert ours.index("<td>samples of GET /stages/*</td>") < ours.index("<td>/media/*.svg</td>")
    assert "templateArgs" in locusts


def test_the_report_escapes_what_the_site_says(judged: Judged) -> None:
    row = "/<script>alert(1)</script>"
    result = run(judged.site, Reader, until_rows={"/stages/demo": 1}, users=1)
    counters.count(row, "")
    ours = page.of_run(result.environment).split('<section class="proscenium">')[1].split("</section>")[0]
    assert "&lt;script&gt;alert(1)" in ours
    assert "<script>" not in ours


def test_a_site_without_a_backend_fails(judged: Judged) -> None:
    for path in judged.site.pages:
        judged.site.instead[path] = response("later", "503 Service Unavailable")
    verdict = judged.run(Audience, until_rows={"/stages/demo": 6})
    assert verdict.code == 1
    assert "most of them GET /stages/demo" in verdict.why("errors of *")
    assert verdict.why("samples of stage join") == "too few samples"
    assert verdict.why("p95 of GET /*") == "more than 5% of GET /stages/demo failed"
    assert verdict.why("hits of /media/*") == "no such response"
    assert verdict.report["backend"] == {"absent": "status 404"}


class Busy(User):
    """Computes in each task, as on a machine with more users than it can run."""

    wait_time = constant(0.01)

    @task
    def compute(self) -> None:
        end = time.perf_counter() + 0.3
        while time.perf_counter() < end:
            pass
        self.environment.events.request.fire(
            request_type="GET", name="/", response_time=300, response_length=0, exception=None, context={}
        )


def test_a_generator_at_its_limit_has_measured_nothing(
    judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generator, "INTERVAL", 0.5)
    thresholds = '[samples]\n"GET /" = 1\n[generator]\ncpu_percent = 1000\nlate_ms = 50'
    verdict = judged.run(Busy, users=1, until_rows={"/": 4}, thresholds=thresholds)
    assert verdict.code == 1
    assert verdict.why("samples of GET /") == ""
    assert verdict.why("timer delay of Locust").startswith("Locust's timers were late")
    assert verdict.output.rstrip().splitlines()[-1].startswith("INCONCLUSIVE: ")
    assert verdict.report["generator_cpu_percent"] > 10


@pytest.mark.parametrize(("asked", "expected"), [("0", 1), ("3", 3)])
def test_the_exit_code_is_raised_never_lowered(judged: Judged, asked: str, expected: int) -> None:
    judged.site.instead["/stages/demo"] = response("later", "503 Service Unavailable")
    arguments = ("--exit-code-on-error", asked)
    assert judged.run(Audience, until_rows={"/stages/demo": 1}, arguments=arguments).code == expected
