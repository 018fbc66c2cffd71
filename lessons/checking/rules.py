"""Replays docs/caching-rules.md: a change that a lesson asks for must break no other rule."""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from logs.inside import REPO

from .attempt import SECOND, Attempt, new_word
from .stack import Ask

HOSTS = ("localhost", "classic.localhost")  # a line without a host is checked on both


@dataclass(frozen=True)
class Case:
    """One line of the table, for one host."""

    rule: str
    ask: Ask  # NEW in its URL stands for a new word
    status: int
    outcomes: tuple[str, str]  # of the first request and the second

    def __str__(self) -> str:
        return f"{self.rule}, {self.ask.host}"


def cases(hosts: Sequence[str]) -> Iterator[Case]:
    """Each line of the table of cases; a line that names no host appears once for each of these."""
    table = (REPO / "docs" / "caching-rules.md").read_text().split("## The cases")[1]
    for line in re.findall(r"^\| (?!rule |---)(.*) \|$", table, re.M):
        rule, host, request, header, status, first, then = (cell.strip() for cell in line.split("|"))
        method, url = request.split()
        headers = dict([header.split(": ")]) if header else {}
        for name in [host] if host else hosts:
            yield Case(rule, Ask(url, name, method, headers), int(status), (first, then))


def broken_rules(attempt: Attempt, but: frozenset[str]) -> list[str]:
    """Sentences on the cases that differ from the table; the rules named in `but` may differ."""
    stack, word = attempt.stack, new_word()
    wanted = [case for case in cases(HOSTS) if case.rule not in but and case.ask.host != "direct.localhost"]
    asks = []
    for number, case in enumerate(wanted):
        ask, mark = case.ask, f"{word}x{number}x"
        url = ask.url.replace("NEW", mark) if "NEW" in ask.url else f"{ask.url}?{mark}"
        asks.append(Ask(url, ask.host, ask.method, ask.headers))
    with ThreadPoolExecutor(8) as pool:
        first = list(pool.map(stack.ask, asks))
        attempt.wait(SECOND)
        second = list(pool.map(stack.ask, asks))
    # By X-Request-Id: nginx asks once more for a large file that its workers may not read themselves.
    seen: dict[int, dict[str, str]] = {}
    for request in stack.requests(word):
        if found := re.search(rf"{word}x(\d+)x", request.url):
            seen.setdefault(int(found[1]), {}).setdefault(request.id, request.outcome)
    broken = []
    for number, case in enumerate(wanted):
        outcomes = (*seen.get(number, {}).values(), "none", "none")[:2]
        statuses = (first[number].status, second[number].status)
        if outcomes != case.outcomes or statuses != (case.status, case.status):
            broken.append(
                f"{case.rule} ({case.ask.method} {case.ask.url.split('?')[0]} on {case.ask.host}): should be "
                f"{' then '.join(case.outcomes)} with {case.status}, is {' then '.join(outcomes)} with "
                f"{statuses[0]} and {statuses[1]}"
            )
    return broken
