"""Lesson 17's judgement of what Prometheus answers, and that its questions are about the page and its alerts.

prometheus.json has the answers of a real one, with the shipped rules: a backend stopped without load, under
load, with a page open, and came back. Another attempt began while it was stopped (`on before`).
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from lessons.checking.attempt import Attempt
from lessons.checking.errors import Missing, StartAgain
from lessons.checking.evidence import Evidence
from lessons.checking.laboratory import Laboratory
from lessons.checking.lesson import lessons
from tests.stack import REPO
from tests.support.origin import Origin, Request, response

OBSERVE = REPO / "extras" / "observe"
FILE = json.loads((Path(__file__).parent / "prometheus.json").read_text())
RECORDED: dict[str, dict[str, Any]] = {
    name: dict(zip(FILE["queries"], found, strict=True)) for name, found in FILE["answers"].items()
}
(LESSON,) = (lesson for lesson in lessons() if lesson.number == 17)


class Watched(Evidence):
    """A stack whose Prometheus gives recorded answers."""

    def __init__(self) -> None:
        super().__init__()
        self.services = dict.fromkeys(("nginx", "varnish", "backend", "prometheus"), "12:00")
        self.answers: dict[str, Any] = {}

    def started(self) -> dict[str, str]:
        return self.services.copy()

    def answer(self, request: Request) -> bytes:
        """The API's answer to a query, whose times are those of this lab."""
        (query,) = parse_qs(urlsplit(request.target).query)["query"]
        recorded = re.sub(r"\[\d+s:", "[SPANs:", re.sub(r"@ \d+\.\d+", "@ BEGAN", query))
        return response(json.dumps({"status": "success", "data": {"result": self.answers[recorded]}}))


@pytest.fixture
def prometheus() -> Iterator[Origin]:
    origin = Origin("prometheus")
    yield origin
    origin.close()


@pytest.fixture
def evidence(monkeypatch: pytest.MonkeyPatch, settings: None, prometheus: Origin) -> Watched:
    monkeypatch.setenv("OBSERVE_PORT", str(prometheus.port))
    monkeypatch.setattr(Laboratory, "as_shipped", lambda *_: True)
    evidence = Watched()
    prometheus.answer = evidence.answer
    return evidence


@pytest.fixture
def lab(evidence: Watched) -> Laboratory:
    return Laboratory(Attempt("k1", 1795616100.25, evidence.started()), evidence)


@pytest.mark.parametrize(
    ("answers", "stopped", "sentence"),
    [
        ("nothing", "", r"^No alert has begun to fire since the lesson began"),
        ("on before", "", r"^No alert has begun to fire since the lesson began"),
        ("without load", "", r"^BackendDown has fired, but the stack had fewer than five requests a second"),
        ("without a page", "", r"^BackendDown has fired, but no page was open to show it"),
        ("still on", "", r"^Now mend it, .*: BackendDown is still on"),
        ("mended", "varnish", r"^Now mend it: varnish does not run\."),
        ("mended", "prometheus", r"Type: make up EXTRAS=observe$"),
    ],
)
def test_what_is_missing_is_said(
    evidence: Watched, lab: Laboratory, answers: str, stopped: str, sentence: str
) -> None:
    evidence.answers = RECORDED[answers]
    evidence.services.pop(stopped, None)
    with pytest.raises(Missing, match=sentence):
        LESSON.check(lab)


def test_a_fault_that_was_watched_and_mended_leaves_the_question_for_its_panel(
    evidence: Watched, lab: Laboratory
) -> None:
    evidence.answers = RECORDED["mended"]
    LESSON.check(lab)
    assert LESSON.question(lab).right == "BackendDown: Healthy backends, on nginx and Varnish"


def test_of_two_faults_the_restart_of_varnish_is_the_means(evidence: Watched, lab: Laboratory) -> None:
    def row(alert: str, at: int) -> Any:
        return {"metric": {"alertname": alert}, "value": [1795616200, str(at)]}

    found = [row("VarnishDown", 1795616150), row("CacheIsFull", 1795616190), row("MyOwn", 1795616100)]
    evidence.answers = {query: found if "firing" in query else [] for query in RECORDED["mended"]}
    assert LESSON.question(lab).right == "CacheIsFull: Objects that left, on nginx and Varnish"


def test_changed_rules(evidence: Watched, lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Laboratory, "as_shipped", lambda _, folder: folder != "extras/observe/prometheus")
    with pytest.raises(Missing, match="break the stack, not its alerts"):
        LESSON.check(lab)


@pytest.mark.parametrize(
    "answer",
    [
        response("Prometheus does not answer.\n", "503 Service Unavailable"),
        response('{"status": "error", "error": "query timed out"}', "422 Unprocessable Entity"),
        b"SSH-2.0\r\nconnection: close\r\n\r\n",
    ],
    ids=["nginx alone", "an error", "another server"],
)
def test_a_prometheus_that_does_not_answer(lab: Laboratory, prometheus: Origin, answer: bytes) -> None:
    prometheus.answer = lambda _: answer
    with pytest.raises(StartAgain, match=rf"^Prometheus does not answer on port {prometheus.port} "):
        LESSON.check(lab)


def test_each_alert_has_a_question_about_panels_that_exist() -> None:
    (group,) = yaml.safe_load((OBSERVE / "prometheus" / "rules.yml").read_text())["groups"]
    # Without a collector of traces, which a class has not, there is no alert about one.
    alerts = [
        rule["alert"]
        for rule in group["rules"]
        if rule.get("alert", "CollectorRefuses") != "CollectorRefuses"
    ]
    files = (OBSERVE / "page" / "dashboards").glob("*.json")
    dashboards = [json.loads(file.read_text()) for file in files]
    panels = {f"{panel['title']}, on {one['title']}" for one in dashboards for panel in one["panels"]}
    asked = []
    for question in LESSON.questions:
        choices = [choice.partition(": ") for choice in question.reasons]
        assert {panel for _, _, panel in choices} <= panels
        (alert,) = {alert for alert, _, _ in choices}
        asked.append(alert)
    assert sorted(asked) == sorted(alerts)
