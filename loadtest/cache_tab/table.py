"""What the tab shows: `visitors.outcomes`' counts as rows, and as CSV."""

import csv
import io
from collections import Counter
from collections.abc import Mapping
from typing import Any

from visitors.outcomes import OUTCOMES, SERVED, TIERS

# Locust sorts by name, and "(" comes before "/": these two stand on top.
ALL = "(all)"
NO_BREAK = "\u00a0"
BACKEND = f"(backend{NO_BREAK}now)"
REFRESHES = "(refreshes)"
REST = "(unseen)"
# What no answer of ours tells: a copy refreshed in the background, a WebSocket, requests of other clients.
BESIDES = ("refresh", "websocket", "unseen")
# How the backend classes paths in its metrics: the first that fits.
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
    {"key": "answers", "title": "Answers"},
    {"key": "hits", "title": f"Hit{NO_BREAK}%"},
    {"key": "nginx", "title": "nginx"},
    {"key": "varnish", "title": "Varnish"},
    {"key": "backend", "title": "Backend, asked because of"},
]

Counts = Mapping[tuple[str, str, str], int]


def complete(counts: Counts, asked: Mapping[str, int]) -> Counts:
    """Add what the backend was asked besides, so that its column sums up to its log.

    `asked`: class of paths -> requests, by its own count. A refresh comes of a stale answer, and several may
    share one; it stands in the row of that answer if there is no doubt.
    """
    whole = Counter(counts)
    for kind, requests in asked.items():
        ours = {key: count for key, count in counts.items() if class_of(key[0]) == kind}
        unseen = requests - sum(count for (_, tier, _), count in ours.items() if tier == "backend")
        if unseen <= 0:
            continue
        if kind == "websocket":
            whole["/ws", "backend", "websocket"] += unseen
            continue
        stale = {
            row: count for (row, tier, said), count in ours.items() if (tier, said) == ("varnish", "stale")
        }
        refreshes = min(unseen, sum(stale.values()))
        whole[next(iter(stale)) if len(stale) == 1 else REFRESHES, "backend", "refresh"] += refreshes
        whole[REST, "backend", "unseen"] += unseen - refreshes
    return +whole


def class_of(row: str) -> str:
    """The backend's class of a row's paths."""
    return next((kind for start, kind in CLASSES if row.startswith(start)), "page")


def rows(counts: Counts, backend: str) -> list[dict[str, Any]]:
    """One row for each row of Locust's table, one for all of them, and the backend's own figures in words."""
    by_row: dict[str, Counter[tuple[str, str]]] = {ALL: Counter()}
    for (row, tier, outcome), count in counts.items():
        by_row.setdefault(row, Counter())[tier, outcome] += count
        by_row[ALL][tier, outcome] += count
    shown = [
        {"name": row, "answers": answers(said), "hits": hits(said)}
        | {tier: words(said, tier) for tier in TIERS[1:]}
        for row, said in by_row.items()
    ]
    return [
        *shown,
        {"name": BACKEND, "answers": "", "hits": "", "nginx": "", "varnish": "", "backend": backend},
    ]


def answers(said: Mapping[tuple[str, str], int]) -> int:
    """How many answers the visitors got."""
    return sum(count for (tier, _), count in said.items() if tier == "house")


def hits(said: Mapping[tuple[str, str], int]) -> float | str:
    """How many of a hundred answers some cache had, with one decimal; nothing without answers."""
    total = answers(said)
    served = sum(count for (tier, outcome), count in said.items() if tier == "house" and outcome in SERVED)
    return round(100 * served / total, 1) if total else ""


def words(said: Mapping[tuple[str, str], int], tier: str) -> str:
    """What one tier did, without what it did not: `hit 120, miss 3`; a narrow screen breaks it at commas."""
    counts = ((outcome, said.get((tier, outcome), 0)) for outcome in (*OUTCOMES, *BESIDES))
    return ", ".join(f"{outcome}{NO_BREAK}{count}" for outcome, count in counts if count)


def as_csv(counts: Counts) -> str:
    """A line for each row and tier that had a part in it, a column for each outcome."""
    text = io.StringIO()
    writer = csv.writer(text)
    outcomes = (*OUTCOMES, *BESIDES)
    writer.writerow(["path", "tier", *outcomes])
    lines = sorted({(row, TIERS.index(tier)) for row, tier, _ in counts})
    for row, tier in lines:
        writer.writerow(
            [row, TIERS[tier], *(counts.get((row, TIERS[tier], outcome), 0) for outcome in outcomes)]
        )
    return text.getvalue()
