"""A comparison of the default host with a site without a cache, under the same load."""

from collections import Counter
from typing import Any

from lessons.checking import Attempt, Need, site

SEVERAL = 500  # requests: a comparison of 50 users has thousands


def check(attempt: Attempt, need: Need) -> None:
    """The report of `make compare`, checked against Varnish and the backend: the report is only a file."""
    report = attempt.report("compare")
    need(report, "not-compared")
    measured = {one["topology"]: one for one in report["measurements"]}
    need({"default", "nginx"} <= measured.keys(), "topologies", ", ".join(sorted(measured)))
    default, nginx = measured["default"], measured["nginx"]
    need(default["users"] == nginx["users"], "different-users", default["users"], nginx["users"])
    need(default["users"] >= 40, "few-users", default["users"])
    need(min(default["seconds"], nginx["seconds"]) >= 25, "short")
    for one in (default, nginx):
        need(one["verdict"] != "INCONCLUSIVE", "locust", one["topology"], one["reason"])

    through = answers(default, "varnish")
    seen = attempt.evidence.counters()["MAIN.client_req"] - attempt.counters["MAIN.client_req"]
    need(SEVERAL <= through <= 1.25 * seen, "varnish", through, seen)
    fetched, logged = answers(nginx, "backend"), fetched_for(attempt)
    few, many = logged["localhost"], logged["nginx.localhost"]
    need(SEVERAL <= fetched <= 1.25 * many, "backend", fetched, many)
    need(many > 5 * few, "not-many", few, many)
    for fifth in fifths(attempt, nginx):
        need(fifth >= 0.05 * fetched, "not-even")


def answers(measured: dict[str, Any], tier: str) -> int:
    """How many responses of a measurement came through a server, according to the report."""
    return sum(row["answers"] for row in measured["caches"] if row["tier"] == tier)


def fifths(attempt: Attempt, measured: dict[str, Any]) -> list[int]:
    """How many requests the backend's log has for each fifth of a measurement, as long as its report says."""
    began, length = measured.get("began", 0), measured["seconds"] / 5
    ended = [line.ended or 0 for line in attempt.evidence.backend_lines()]
    return [sum(0 <= at - began - number * length < length for at in ended) for number in range(5)]


def fetched_for(attempt: Attempt) -> Counter[str]:
    """How many requests the backend has had for each site since the lesson began, according to both logs."""
    site_of = {line.id: site(line.host) for line in attempt.evidence.nginx_lines("")}
    lines = [line for line in attempt.evidence.backend_lines() if (line.ended or 0) >= attempt.began]
    return Counter(site_of[line.id] for line in lines if line.id in site_of)
