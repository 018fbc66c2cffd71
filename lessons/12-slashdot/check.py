"""A comparison of the default host with a site without a cache, under the same load."""

from collections import Counter
from typing import Any

from checking import Attempt, Choice, Question, site

QUESTION = Question(
    right=Choice(
        "What is fresh for a second, and what is private or new.",
        "Pages are fetched once a second for all visitors; keys, webcam pictures and speech for each.",
    ),
    wrong=(
        Choice(
            "One request in a hundred, of each kind of path.",
            "Pictures have a hit ratio of 100 %, private pages of 0.",
        ),
        Choice("The health checks of Varnish, one every second.", "They do not count here."),
        Choice("Pictures that had to leave the cache for others.", "All of them fit into 128 MB many times."),
    ),
)

SEVERAL = 500  # requests: a comparison of 50 users has thousands


def check(attempt: Attempt) -> None:
    """The report of `make compare`, checked against Varnish and the backend: the report is only a file."""
    need = attempt.need

    report = attempt.report("compare")
    need(
        report,
        "No comparison has been run since the lesson began: make compare TOPOLOGIES=default,nginx USERS=50",
    )
    measured = {one["topology"]: one for one in report["measurements"]}
    need(
        {"default", "nginx"} <= measured.keys(),
        f"The comparison was of {', '.join(sorted(measured))}. It needs default and nginx.",
    )
    default, nginx = measured["default"], measured["nginx"]
    need(
        default["users"] == nginx["users"],
        f"{default['users']} users and {nginx['users']} cannot be compared: measure both with USERS=50.",
    )
    need(
        default["users"] >= 40,
        f"{default['users']} users are too few to show the difference. Use USERS=50.",
    )
    need(min(default["seconds"], nginx["seconds"]) >= 25, "Measure each for 30 seconds: SECONDS=30.")
    for one in (default, nginx):
        need(
            one["verdict"] != "INCONCLUSIVE",
            f"On {one['topology']}, Locust may have been the limit ({one['reason']}), so the figures say "
            "nothing about the site. Close whatever else uses the CPU, and measure again.",
        )

    through, seen = answers(default, "varnish"), attempt.growth("client_req")
    need(
        SEVERAL <= through <= 1.25 * seen,
        f"According to the report, {through} responses of the default host came through Varnish, which has "
        f"had {seen} requests since the lesson began.",
    )
    fetched, logged = answers(nginx, "backend"), fetched_for(attempt)
    need(
        SEVERAL <= fetched <= 1.25 * logged["nginx.localhost"],
        f"According to the report, the backend answered {fetched} requests of nginx.localhost, but its log "
        f"has {logged['nginx.localhost']} since the lesson began.",
    )
    need(
        logged["nginx.localhost"] > 5 * logged["localhost"],
        f"According to the backend's log, it had {logged['localhost']} requests of the default host and "
        f"{logged['nginx.localhost']} of nginx.localhost, which should be many times as many. Was the cache "
        "empty? Measure again.",
    )
    for fifth in fifths(attempt, nginx):
        need(
            fifth >= 0.05 * fetched,
            "The requests of nginx.localhost did not come evenly while it was measured: measure again.",
        )


def answers(measured: dict[str, Any], tier: str) -> int:
    """How many responses of a measurement came through a server, according to the report."""
    return sum(row["answers"] for row in measured["caches"] if row["tier"] == tier)


def fifths(attempt: Attempt, measured: dict[str, Any]) -> list[int]:
    """How many requests the backend's log has for each fifth of a measurement, as long as its report says."""
    began, length = measured.get("began", 0), measured["seconds"] / 5
    ended = [line.ended or 0 for line in attempt.stack.backend_lines()]
    return [sum(0 <= at - began - number * length < length for at in ended) for number in range(5)]


def fetched_for(attempt: Attempt) -> Counter[str]:
    """How many requests the backend has had for each site since the lesson began, according to both logs."""
    site_of = {line.id: site(line.host) for line in attempt.stack.nginx_lines("")}
    lines = attempt.stack.backend_lines()
    return Counter(
        site_of[line.id] for line in lines if line.id in site_of and (line.ended or 0) >= attempt.began
    )
