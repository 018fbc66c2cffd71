"""What the caches did with the requests of this run, counted by row of Locust's table and by tier.

Every process counts for itself. A worker sends what it has counted with each of its reports and begins anew;
the master adds it up, so the figures of the whole run are on the master, or in the one process there is. The
module knows nothing of Locust: cache_tab/tab.py tells it when a run starts and when a report is due.
"""

from collections import Counter
from typing import Any

from visitors import paths
from visitors.cache_status import Member

# What a tier can have done with a request. "synth" is an answer it made up itself (a refusal, a redirect),
# "none" that nobody said anything: an answer without `Cache-Status`.
OUTCOMES = ("hit", "stale", "miss", "hit-for-miss", "pass", "synth", "error", "none")
SERVED = frozenset({"hit", "stale"})  # the outcomes in which a cache had the answer
# "house" is the whole of it, as the visitor sees it: the outcome at whichever cache the request ended.
# "backend" counts what got through to the theatre server, and why it did.
TIERS = ("house", "nginx", "varnish", "backend")
# Rows come from paths, and nobody knows how many paths somebody will ask for.
MOST_ROWS = 200
OTHER = "(other)"
KEY = "cache_outcomes"  # in the reports of workers

# (row, tier, outcome) -> answers
counts: Counter[tuple[str, str, str]] = Counter()
rows: dict[str, str] = {}  # path -> row, because to work out a row costs more than all the rest here


def saw(path: str, caches: list[Member], from_disk: bool = False) -> None:
    """Count one HTTP answer; `caches` is its `Cache-Status`, nearest to the backend first, [] without one.

    `from_disk`: nginx had it, and no cache.
    """
    row = rows.get(path)
    if row is None:
        row = paths.row(path) if len(rows) < MOST_ROWS else OTHER
        if row is not OTHER:
            rows[path] = row
    said = "none"
    # From us inwards. What stands behind a cache that answered by itself was said when the copy was stored.
    for member in reversed(caches):
        said = outcome(member)
        if member.cache in TIERS:
            counts[row, member.cache, said] += 1
        if "fwd" not in member.parameters:
            break
    else:
        counts[row, "nginx" if from_disk else "backend", said] += 1
    counts[row, "house", said] += 1


def outcome(member: Member) -> str:
    """What one cache did, one of OUTCOMES: the words of varnish/report.vcl and nginx/logging/outcome.conf."""
    detail = member.parameters.get("detail", "")
    if member.hit:
        return "stale" if detail == "stale" or member.parameters.get("ttl", "").startswith("-") else "hit"
    if detail in ("error", "synth", "hit-for-miss"):
        return detail
    forwarded = member.parameters.get("fwd")
    if forwarded is None:
        return "none"
    return "pass" if forwarded in ("bypass", "method") else "miss"


def forget() -> None:
    """A new run starts, or somebody wants to see only what comes from now on."""
    counts.clear()
    rows.clear()


def hand_over(data: dict[str, Any]) -> None:
    """On a worker: put what has been counted since the last report into this one."""
    data[KEY] = [[*key, count] for key, count in counts.items()]
    counts.clear()


def take_over(data: dict[str, Any]) -> None:
    """On the master: add what a worker has counted."""
    known = {row for row, _, _ in counts}
    for row, tier, said, count in data.get(KEY, []):
        if row not in known:
            row = row if len(known) < MOST_ROWS else OTHER
            known.add(row)
        counts[row, tier, said] += count
