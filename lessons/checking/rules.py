"""Replays docs/caching-rules.toml: a change that a lesson asks for must break no other rule."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from proscenium.running import REPO
from proscenium.settings import COMPARISON, TOPOLOGIES

from .attempt import new_word
from .evidence import Ask
from .laboratory import Laboratory

# The sites with Varnish: a case without a host is checked on each.
CACHED = [name for name in COMPARISON if "varnish" in TOPOLOGIES[name]["stations"]]
HOSTS = ["localhost", *(f"{name}.localhost" for name in CACHED)]


@dataclass(frozen=True)
class Case:
    """One case, for one host."""

    rule: str
    ask: Ask  # NEW in its URL is replaced by a new word
    status: int
    outcomes: tuple[str, str]  # of the first request and of the second

    def __str__(self) -> str:
        return f"{self.rule}, {self.ask.host}"


def cases(hosts: Sequence[str]) -> Iterator[Case]:
    """Yield each case; a case that names no host appears once for each of `hosts`."""
    for case in tomllib.loads((REPO / "docs" / "caching-rules.toml").read_text())["case"]:
        method, url = case["request"].split()
        headers = dict([case["header"].split(": ")]) if "header" in case else {}
        for name in [case["host"]] if "host" in case else hosts:
            outcomes = case["first"], case["then"]
            yield Case(case["rule"], Ask(url, name, method, headers), case["status"], outcomes)


def broken_rules(lab: Laboratory, but: frozenset[str]) -> list[str]:
    """Return sentences about the cases that differ from the table; rules named in `but` may differ."""
    evidence = lab.evidence
    wanted = [case for case in cases(HOSTS) if case.rule not in but and case.ask.host != "direct.localhost"]
    asks = []
    for case in wanted:
        url = case.ask.url
        if case.outcomes == ("pass", "pass"):
            url = url.removesuffix("?NEW")  # a pass needs no new URL; so it is sent as a client sends it
        elif "NEW" not in url:
            url += "?NEW"
        asks.append(replace(case.ask, url=url.replace("NEW", new_word())))
    first = evidence.ask_at_once(asks, 8)
    lab.wait()
    second = evidence.ask_at_once(asks, 8)
    seen = evidence.requests_by_id(response.id for response in (*first, *second) if response.id)
    broken = []
    for number, case in enumerate(wanted):
        responses = first[number], second[number]
        outcomes = tuple(
            seen[response.id].outcome.replace("hit-for-miss", "miss") if response.id in seen else "none"
            for response in responses
        )
        statuses = tuple(response.status for response in responses)
        if outcomes != case.outcomes or statuses != (case.status, case.status):
            broken.append(
                f"{case.rule} ({case.ask.method} {case.ask.url.split('?')[0]} on {case.ask.host}): should be "
                f"{' then '.join(case.outcomes)} with {case.status}, is {' then '.join(outcomes)} with "
                f"{statuses[0]} and {statuses[1]}"
            )
    return broken
