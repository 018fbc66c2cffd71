"""Counts of a run: row of Locust's table, tier, outcome -> responses.

Every process counts for itself. A worker sends its counts with each report and starts again at 0; the master
adds them up. So the counts of the whole run are on the master, or in the only process.
https://docs.locust.io/en/stable/api.html#locust.event.Events.report_to_master
"""

from collections import Counter
from typing import Any

from locust.env import Environment

from caches import cache_status, outcomes

# Rows come from paths, and the number of paths in a run is unlimited.
MAX_ROWS = 200
OTHER = "(other)"
KEY = "cache_outcomes"  # in the reports of workers

counts: Counter[tuple[str, str, str]] = Counter()
rows: set[str] = set()


def register(environment: Environment) -> None:
    """Start each run at 0, and carry the counts from workers to the master."""
    environment.events.test_start.add_listener(forget)
    environment.events.reset_stats.add_listener(forget)
    environment.events.report_to_master.add_listener(send)
    environment.events.worker_report.add_listener(receive)


def count(row: str, cache_status_field: str, server_timing: str = "") -> None:
    """Count one response; a malformed Cache-Status counts as none."""
    try:
        members = cache_status.parse(cache_status_field)
    except ValueError:
        members = []
    # static.localhost has no cache, but nginx reports in Server-Timing that it served the file itself.
    from_disk = not members and 'nginx;desc="self"' in server_timing
    row = _limited(row)
    for tier, outcome in outcomes.by_tier(members, from_disk).items():
        counts[row, tier, outcome] += 1


def forget(**_: Any) -> None:
    """Start again at 0."""
    counts.clear()
    rows.clear()


def send(data: dict[str, Any], **_: Any) -> None:
    """On a worker: put the counts since the last report into this one."""
    data[KEY] = [[*key, number] for key, number in counts.items()]
    counts.clear()


def receive(data: dict[str, Any], **_: Any) -> None:
    """On the master: add the counts of a worker."""
    for row, tier, outcome, number in data.get(KEY, []):
        counts[_limited(row), tier, outcome] += number


def _limited(row: str) -> str:
    """The row itself, or OTHER once there are MAX_ROWS rows."""
    if row in rows:
        return row
    if len(rows) == MAX_ROWS:
        return OTHER
    rows.add(row)
    return row
