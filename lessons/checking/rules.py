"""Replays docs/caching-rules.md: a change that a lesson asks for must break no other rule."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from .attempt import SECOND, Attempt, new_word
from .stack import REPO, Ask

CACHED = ("localhost", "classic.localhost")  # a line without a host is checked on both


def cases() -> Iterator[tuple[str, Ask, int, str, str]]:
    """Each line of the table of cases: rule, request, status, outcome of the first request and the second."""
    table = (REPO / "docs" / "caching-rules.md").read_text().split("## The cases")[1]
    for line in re.findall(r"^\| (?!rule |---)(.*) \|$", table, re.M):
        rule, host, request, header, status, first, then = (cell.strip() for cell in line.split("|"))
        method, url = request.split()
        headers = dict([header.split(": ")]) if header else {}
        for name in [host] if host else CACHED:
            yield rule, Ask(url, name, method, headers), int(status), first, then


def broken_rules(attempt: Attempt, but: frozenset[str]) -> list[str]:
    """What no longer is as the table says, in sentences; the rules named in `but` may differ."""
    stack, word = attempt.stack, new_word()
    wanted = [case for case in cases() if case[0] not in but and case[1].host != "direct.localhost"]
    asks = []
    for number, (_, ask, *_) in enumerate(wanted):
        mark = f"{word}x{number}x"
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
    for number, (rule, ask, status, *expected) in enumerate(wanted):
        found_outcomes = [*seen.get(number, {}).values(), "none", "none"][:2]
        statuses = [first[number].status, second[number].status]
        if found_outcomes != expected or statuses != [status, status]:
            broken.append(
                f"{rule} ({ask.method} {ask.url.split('?')[0]} on {ask.host}): should be "
                f"{' then '.join(expected)} "
                f"with {status}, is {' then '.join(found_outcomes)} with {statuses[0]} and {statuses[1]}"
            )
    return broken
