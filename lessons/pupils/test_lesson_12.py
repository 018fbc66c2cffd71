"""Lesson 12: the same crowd with a cache and without."""

import json
from pathlib import Path
from typing import Any

from school import Pupil


def measurement(topology: str, tier: str, answers: int, **figures: object) -> dict[str, Any]:
    """A line of a report, as `make compare` writes it."""
    caches = [{"row": "/", "tier": tier, "outcome": "hit", "answers": answers}]
    run = {"users": 50, "seconds": 30.0, "verdict": "PASS", "reason": "", "backend_requests_per_second": 1.0}
    return {"topology": topology, **run, "caches": caches, **figures}


def write(pupil: Pupil, **nginx: object) -> None:
    """An invented report."""
    report(pupil, [measurement("default", "varnish", 600), measurement("nginx", "backend", 600, **nginx)])


def report_file(pupil: Pupil) -> Path:
    """Where `make compare` writes its report."""
    return pupil.folder / ".run" / pupil.stack.project / "compare" / "report.json"


def report(pupil: Pupil, measurements: list[dict[str, Any]]) -> None:
    """Write one with these measurements."""
    file = report_file(pupil)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"measurements": measurements}))


def excuse_a_busy_machine(pupil: Pupil) -> None:
    """On a busy machine Locust is the limit, and the check says so; all other evidence is the same."""
    measured = json.loads(report_file(pupil).read_text())["measurements"]
    if "INCONCLUSIVE" in [one["verdict"] for one in measured]:
        pupil.refused("Locust may have been the limit")
        report(pupil, [{**one, "verdict": "PASS"} for one in measured])


def test_reports_that_are_not_enough(pupil: Pupil) -> None:
    pupil.refused("No comparison has been run since the lesson began")
    write(pupil)
    pupil.wait(1)
    pupil.begin(12)  # that report is of an earlier attempt
    pupil.refused("No comparison has been run since the lesson began")

    report(pupil, [measurement("default", "varnish", 600)])
    pupil.refused(r"The comparison was of default\. It needs default and nginx")

    write(pupil, users=40)
    pupil.refused("50 users and 40 cannot be compared")

    report(pupil, [{**measurement(name, "varnish", 600), "users": 20} for name in ("default", "nginx")])
    pupil.refused("20 users are too few to show the difference")

    write(pupil, seconds=10.0)
    pupil.refused("Measure each for 30 seconds")

    write(pupil, verdict="INCONCLUSIVE", reason="timers were late")
    pupil.refused(r"On nginx, Locust may have been the limit \(timers were late\)")


def test_an_invented_report(pupil: Pupil) -> None:
    """The check counts in the servers' logs; the requests below are as many, but not from a crowd."""
    report(pupil, [{**measurement(name, "none", 0), "caches": []} for name in ("default", "nginx")])
    pupil.refused("0 responses of the default host came through Varnish")

    write(pupil, backend_requests_per_second=40.0)
    pupil.refused("600 responses of the default host came through Varnish, which has had")

    for _ in range(12):
        pupil.herd("/media/fox.svg?WORD", 50, "classic.localhost")
    pupil.refused(r"the backend answered 600 requests of nginx\.localhost, but its log has 0")

    for number in range(200):
        pupil.get(f"/media/fox.svg?WORD-{number}")
    for _ in range(12):
        pupil.herd("/media/fox.svg?WORD", 50, "nginx.localhost")
    pupil.refused(r"it had 2\d\d requests of the default host and 600 of nginx\.localhost")
    for _ in range(14):
        pupil.herd("/media/fox.svg?WORD", 50, "nginx.localhost")
    pupil.refused("did not come evenly while it was measured")
