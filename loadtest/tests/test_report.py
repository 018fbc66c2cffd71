"""The end of a judged run: output, reports and exit code. (A whole run: test_processes.py.)"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import locustfile
from caches import counters
from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import create
from locustfile import Audience
from verdict.generator import load_of_locust

THRESHOLDS = """
[samples]
"GET /stages/*" = 3
"stage join" = 3

[error_ratio]
"*" = 0

[p95_ms]
"*" = 9000

[hit_ratio]
"*" = 0.9

[generator] # no process has measured itself
cpu_percent = 90
late_ms = 100
"""


@dataclass
class Verdict:
    code: int | None  # what we set; None leaves the exit code to Locust
    output: str
    report: dict[str, Any]
    page: str

    def why(self, what: str) -> str:
        """Return why that line of the verdict is not met; empty if it is met."""
        (line,) = (line for line in self.report["verdict"] if line["what"] == what)
        assert (line["verdict"] in ("ok", "not in this run")) == (line["why"] == "")
        assert re.search(f"^{line['verdict']} +{re.escape(what)} ", self.output, re.MULTILINE)
        return str(line["why"])


Judge = Callable[..., Verdict]


@pytest.fixture
def judged(
    site: FakeSite, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Judge:
    """Return a function that ends a run with four samples of each row; in rows of `fails` one has failed."""
    monkeypatch.setenv("LOADTEST_REPORTS", str(tmp_path / "reports"))

    def end(
        *rows: str,
        fails: tuple[str, ...] = (),
        arguments: tuple[str, ...] = (),
    ) -> Verdict:
        file = tmp_path / "thresholds.toml"
        file.write_text(THRESHOLDS)
        environment = create(site, Audience, arguments=(f"--thresholds={file}", *arguments))
        locustfile.set_up(environment)
        hit = SimpleNamespace(status_code=200, headers={"cache-status": "varnish; hit"})
        failing = set(fails)
        for row in rows * 4:
            kind, name = row.split(" ", 1)
            taken = 9999 if kind == "crawl" else 5
            sample = {"request_type": kind, "name": name, "response_time": taken, "response_length": 9}
            fault = ValueError("wrong") if row in failing else None
            failing.discard(row)
            response = hit if kind == "GET" else None
            environment.events.request.fire(**sample, response=response, exception=fault, context={})
        environment.events.quitting.fire(environment=environment, reverse=True)
        environment.events.quit.fire(exit_code=environment.process_exit_code)
        report, page = (tmp_path / "reports" / name for name in ("report.json", "report.html"))
        code, output = environment.process_exit_code, capsys.readouterr().out
        return Verdict(code, output, json.loads(report.read_text()), page.read_text())

    return end


def test_a_good_run_passes_and_its_reports_say_so(judged: Judge) -> None:
    load_of_locust.late = 40.0
    verdict = judged("GET /stages/demo", "stage join")
    assert verdict.code is None
    assert verdict.report["good"] is True
    assert verdict.report["generator_late_milliseconds"] == 40
    assert verdict.output.rstrip().endswith("GOOD: all 7 lines hold.")
    assert [(row["name"], row["num_requests"]) for row in verdict.report["rows"]] == [
        ("/stages/demo", 4),
        ("join", 4),
    ]
    counted = {
        (line["row"], line["tier"], line["outcome"]): line["answers"] for line in verdict.report["caches"]
    }
    assert counted["/stages/demo", "varnish", "hit"] == 4
    ours, locusts = verdict.page.split('<div id="root">')
    assert "<h1>GOOD</h1>" in ours
    assert ours.index("<td>samples of GET /stages/*</td>") < ours.index("<td>/stages/demo</td>")
    assert "templateArgs" in locusts


def test_a_run_that_lacks_samples_fails_and_says_why(judged: Judge) -> None:
    verdict = judged("GET /stages/demo")
    assert verdict.code == 1
    assert verdict.why("samples of stage join") == "too few samples"
    assert verdict.report["backend"] == {"absent": "no run yet"}


BOTH = ("GET /stages/demo", "stage join", "crawl /")


@pytest.mark.parametrize(
    ("rows", "fails", "asked", "expected", "why"),
    [
        (BOTH[:1], BOTH[:1], "0", 1, "1 of 4 failed, most of them GET /stages/demo"),
        (BOTH[:1], BOTH[:1], "3", 3, "1 of 4 failed, most of them GET /stages/demo"),
        (BOTH, BOTH[1:], "3", 3, "1 of 8 failed, most of them stage join"),  # crawlers have failed, too
    ],
)
def test_the_exit_code_is_raised_never_lowered(
    judged: Judge, rows: tuple[str, ...], fails: tuple[str, ...], asked: str, expected: int, why: str
) -> None:
    verdict = judged(*rows, fails=fails, arguments=("--exit-code-on-error", asked))
    assert verdict.code == expected
    assert verdict.why("errors of *") == why


def test_what_becomes_of_crawlers_changes_neither_verdict_nor_exit_code(judged: Judge) -> None:
    """Their failures, times and misses do not count, whatever a threshold's pattern."""
    counters.counts["(crawlers) page", "client", "miss"] = 99
    verdict = judged(*BOTH, fails=("crawl /",))
    assert (verdict.code, verdict.report["good"]) == (0, True)
    assert verdict.output.rstrip().endswith("GOOD: all 7 lines hold.")
    failed = {(row["method"], row["name"]): row["num_failures"] for row in verdict.report["rows"]}
    assert failed == {("crawl", "/"): 1, ("GET", "/stages/demo"): 0, ("stage", "join"): 0}


def test_the_report_escapes_what_the_site_says(judged: Judge) -> None:
    page = judged("GET /<script>alert(1)</script>").page
    ours = page.split('<section class="proscenium">')[1].split("</section>")[0]
    assert "&lt;script&gt;alert(1)" in ours
    assert "<script>" not in ours
