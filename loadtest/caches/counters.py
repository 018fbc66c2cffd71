"""Counts of a run: row of Locust's table, tier, outcome -> responses. The tier "status" counts statuses.

A worker starts again at 0 after each report (`figures`).
"""

from collections import Counter
from typing import Any

from caches import cache_status, outcomes

# Rows come from paths, whose number in a run is unlimited.
MAX_ROWS = 200
OTHER = "(other)"
KEY = "cache_outcomes"  # in the reports of workers

counts: Counter[tuple[str, str, str]] = Counter()
rows: set[str] = set()


def heard(name: str, response: Any = None, **_: Any) -> None:
    """Count the response of a sample, whatever its user's class; only an HTTP response has a status and
    headers.

    Locust's two clients keep headers differently: one joins repeated lines, the other lists them.
    """
    status, headers = getattr(response, "status_code", 0), getattr(response, "headers", None)
    if not status or headers is None:
        return
    lines = getattr(headers, "getlist", lambda field: [headers.get(field, "")])
    count(name, ", ".join(lines("cache-status")), ", ".join(lines("server-timing")), status)


def count(row: str, cache_status_field: str, server_timing: str = "", status: int = 0) -> None:
    """Count one response; count its status only if it is given."""
    members = cache_status.parse(cache_status_field)
    # static.localhost has no cache, but nginx says in Server-Timing if it read the file itself.
    from_disk = not members and 'nginx;desc="disk"' in server_timing
    row = _limited(row)
    tiers = outcomes.by_tier(members, from_disk) | ({"status": str(status)} if status else {})
    for tier, outcome in tiers.items():
        counts[row, tier, outcome] += 1


def forget() -> None:
    """Start again at 0."""
    counts.clear()
    rows.clear()


def send(data: dict[str, Any], **_: Any) -> None:
    """On a worker, add the counts since the last report to this one."""
    data[KEY] = [[*key, number] for key, number in counts.items()]
    counts.clear()


def receive(data: dict[str, Any], **_: Any) -> None:
    """On the master, add the counts in a worker's report."""
    for row, tier, outcome, number in data.get(KEY, []):
        counts[_limited(row), tier, outcome] += number


def _limited(row: str) -> str:
    """Return the row itself, or OTHER if there are MAX_ROWS rows already."""
    if row in rows:
        return row
    if len(rows) == MAX_ROWS:
        return OTHER
    rows.add(row)
    return row
