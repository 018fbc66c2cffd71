"""The counts as rows of the tab "Caches", and as CSV."""

import csv
import io
from collections import Counter
from collections.abc import Mapping
from typing import Any

from caches.outcomes import HITS, OUTCOMES, TIERS, hit_ratio

# Locust sorts by name, and "(" comes before "/": rows with such names come first.
ALL = "(all)"
NO_BREAK = "\u00a0"
BACKEND = f"(backend{NO_BREAK}now)"
REFRESHES = "(refreshes)"
REST = "(unseen)"
CRAWLERS = "(crawlers)"  # crawlers' responses do not count in visitors' rows
# Requests that no user's response reports: background refreshes, WebSockets, other clients.
UNREPORTED = ("refresh", "websocket", "unseen")
# The backend's classes of paths, as in its metrics; the first match counts.
CLASSES = (
    ("/media/video/", "webcam"),
    ("/media/", "media"),
    ("/speech/", "speech"),
    ("/style/", "asset"),
    ("/script/", "asset"),
    ("/image/", "asset"),
    ("/admin", "admin"),
    ("/stages/", "stage"),
    ("/ws", "websocket"),
)
COLUMNS = [
    {"key": "name", "title": "Path"},
    {"key": "answers", "title": "Responses"},
    {"key": "hits", "title": f"Hit{NO_BREAK}%"},
    {"key": "nginx", "title": "nginx"},
    {"key": "varnish", "title": "Varnish"},
    {"key": "backend", "title": "Backend, by reason"},
]

Counts = Mapping[tuple[str, str, str], int]


def complete(counts: Counts, asked: Mapping[str, int]) -> Counts:
    """Return the counts with the requests that only the backend reports, so that its column adds up to its
    log.

    `asked`: class of paths -> requests, as the backend counts them. A stale response causes a refresh, and
    several responses may share a refresh; it counts in the row of those responses if all are in one row.
    """
    total = Counter(counts)
    for kind, requests in asked.items():
        ours = {key: count for key, count in counts.items() if class_of(key[0]) == kind}
        unseen = requests - sum(count for (_, tier, _), count in ours.items() if tier == "backend")
        if unseen <= 0:
            continue
        if kind == "websocket":
            total["/ws", "backend", "websocket"] += unseen
            continue
        stale = {
            row: count
            for (row, tier, outcome), count in ours.items()
            if (tier, outcome) == ("varnish", "stale")
        }
        refreshes = min(unseen, sum(stale.values()))
        total[next(iter(stale)) if len(stale) == 1 else REFRESHES, "backend", "refresh"] += refreshes
        total[REST, "backend", "unseen"] += unseen - refreshes
    return +total


def row_of_crawlers(url: str) -> str:
    """Return the row in which crawlers' responses count: one for each of the backend's classes of paths."""
    return f"{CRAWLERS} {class_of(url)}"


def of_crawlers(row: str) -> bool:
    return row.startswith(CRAWLERS)


def class_of(row: str) -> str:
    """Return the backend's class of a row's paths."""
    if of_crawlers(row):
        return row.removeprefix(f"{CRAWLERS} ")
    return next((kind for start, kind in CLASSES if row.startswith(start)), "page")


def rows(counts: Counts, backend: str = "") -> list[dict[str, Any]]:
    """Return a row for all paths, one for each row of Locust's table, and one with `backend`, if not empty.

    Crawlers have a row of their own, with their share of all responses (visitors' and crawlers'), and their
    share of all responses that no cache had.
    """
    by_row: dict[str, dict[str, Counter[str]]] = {ALL: {}}
    for (row, tier, outcome), count in counts.items():
        for name in (CRAWLERS,) if of_crawlers(row) else (row, ALL):
            by_row.setdefault(name, {}).setdefault(tier, Counter())[outcome] += count
    table = [_row(name, tiers) for name, tiers in sorted(by_row.items())]
    if CRAWLERS in by_row:
        theirs, others = (by_row[name].get("client", Counter()) for name in (CRAWLERS, ALL))
        both = theirs + others
        ours = next(line for line in table if line["name"] == CRAWLERS)
        ours["answers"] = f"{ours['answers']} ({theirs.total() / (both.total() or 1):.0%} of all)"
        ours["hits"] = f"{ours['hits']} ({misses(theirs) / (misses(both) or 1):.0%} of all misses)"
    if backend:
        table.append(
            {"name": BACKEND, "answers": "", "hits": "", "nginx": "", "varnish": "", "backend": backend}
        )
    return table


def _row(name: str, tiers: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """Return one row: responses and hits as the clients saw them, then the outcomes at each tier."""
    responses = tiers.get("client", Counter())
    total = responses.total()
    hits = round(100 * hit_ratio(responses), 1) if total else ""
    return {"name": name, "answers": total, "hits": hits} | {
        tier: words(tiers.get(tier, Counter())) for tier in TIERS[1:]
    }


def misses(responses: Mapping[str, int]) -> int:
    """Return the number of responses that no cache had; `responses` as in `hit_ratio`."""
    return sum(number for outcome, number in responses.items() if outcome not in HITS)


def words(numbers: Mapping[str, int]) -> str:
    """Return the outcomes that occurred: `hit 120, miss 3`. Narrow screens break lines only after commas."""
    known = (*OUTCOMES, *UNREPORTED)
    return ", ".join(f"{outcome}{NO_BREAK}{numbers[outcome]}" for outcome in known if numbers.get(outcome))


def records(counts: Counts) -> list[dict[str, Any]]:
    """Return every count, for JSON."""
    return [
        {"row": row, "tier": tier, "outcome": outcome, "answers": count}
        for (row, tier, outcome), count in sorted(counts.items())
    ]


def as_csv(counts: Counts) -> str:
    """Return a line for each row and tier that has counts, and a column for each outcome."""
    text = io.StringIO()
    writer = csv.writer(text)
    outcomes = (*OUTCOMES, *UNREPORTED)
    writer.writerow(["path", "tier", *outcomes])
    lines = sorted({(row, TIERS.index(tier)) for row, tier, _ in counts if tier in TIERS})
    for row, tier in lines:
        writer.writerow(
            [row, TIERS[tier], *(counts.get((row, TIERS[tier], outcome), 0) for outcome in outcomes)]
        )
    return text.getvalue()
