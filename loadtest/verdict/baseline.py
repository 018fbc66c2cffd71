"""Kept runs (`make load SAVE=NAME`), and the differences from one: a row is better, worse, or neither.

A run is a folder with `options.json`, which says how it was run, and the report of each of its ROUNDS rounds:
a single round does not show how much figures differ without any change. The commands and Locust's page read
it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNS = Path(__file__).resolve().parents[1] / "mine" / "runs"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
ROUNDS = 3
LEAST = 20  # samples that a row must have in each round; otherwise it is not compared
# The compared figures, and for each the smallest difference that counts: milliseconds, per cent of requests.
FLOORS = {"p50, ms": 5.0, "p95, ms": 10.0, "failed, %": 1.0}
SHARE = 0.1  # the difference must also be at least this share of the earlier figure

Figures = dict[tuple[str, str], float]  # (row, one of FLOORS) -> its value in one round


class RunError(Exception):
    """A run cannot be measured or compared; the text says why."""


@dataclass(frozen=True)
class Difference:
    """One figure in each round, before and now."""

    row: str
    measure: str
    before: Sequence[float]
    now: Sequence[float]

    @property
    def verdict(self) -> str:
        """Return `worse` or `better` if the two runs differ more than the rounds of one run; else empty."""
        spread = max(max(values) - min(values) for values in (self.before, self.now))
        least = max(spread, FLOORS[self.measure], SHARE * max(self.before))
        if min(self.now) - max(self.before) > least:
            return "worse"
        return "better" if min(self.before) - max(self.now) > least else ""

    @property
    def ranges(self) -> list[str]:
        """Return the figure's range over the rounds, before and now, as text."""
        both = [(min(values), max(values)) for values in (self.before, self.now)]
        return [f"{low:.1f} to {high:.1f}" if low < high else f"{low:.1f}" for low, high in both]


def figures(report: Mapping[str, Any]) -> Figures:
    """Return the figures of a round, from the report of `make load`; a row with few samples has none."""
    found: Figures = {}
    for row in report["rows"]:
        count, failed = row["num_requests"], row["num_failures"]
        if count < LEAST:
            continue
        name = f"{row['method'] or ''} {row['name']}".strip()
        found[name, "p50, ms"] = float(row["median_response_time"])
        found[name, "p95, ms"] = float(row["response_time_percentile_0.95"])
        found[name, "failed, %"] = 100 * failed / count
    return found


def in_all(rounds: Sequence[Figures]) -> set[tuple[str, str]]:
    """Return the rows and measures for which every round has a figure."""
    return set.intersection(*(set(one) for one in rounds))


def compared(before: Sequence[Figures], now: Sequence[Figures]) -> list[Difference]:
    """Return each figure that all rounds of both runs have. Raise RunError if there is none."""
    common = in_all([*before, *now])
    if not common:
        raise RunError(f"No row has {LEAST} samples in each round: nothing can be compared. Longer: TIME=2m")
    return [
        Difference(row, measure, [one[row, measure] for one in before], [one[row, measure] for one in now])
        for row, measure in sorted(common)
    ]


def folder_of(name: str) -> Path:
    """Return the folder of a run. Raise RunError for a name that no run can have."""
    if not NAME.fullmatch(name):
        raise RunError(f"A run's name has lower-case letters, digits and hyphens, not '{name}'.")
    return RUNS / name


def read(folder: Path) -> tuple[dict[str, str], list[Figures]]:
    """Return the options of a kept run, and its figures. Raise RunError."""
    try:
        options = json.loads((folder / "options.json").read_text())
        rounds = [json.loads((folder / f"{number}.json").read_text()) for number in range(1, ROUNDS + 1)]
        return options, list(map(figures, rounds))
    except FileNotFoundError:
        others = sorted(path.name for path in folder.parent.glob("[a-z0-9]*"))
        kept = f"; the kept ones: {', '.join(others)}" if others else ""
        raise RunError(f"There is no run '{folder.name}' (make load SAVE={folder.name}){kept}.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RunError(f"{folder} cannot be read, or is damaged: {error!r}") from None
