"""`make load SAVE=NAME` and `make compare BASELINE=NAME`: a load test is kept; is the same one worse now?

Both measure ROUNDS rounds, because one says nothing about how much figures differ without any change. The
folder .run/runs/NAME has `options.json`, how it was run, and the report of each round, as `make load` writes
it; `make clean` leaves it. Exit status: 0 not worse, 1 worse, 2 it could not be measured.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proscenium.running import REPO

ROUNDS = 3
LEAST = 20  # samples of a row in each round
OTHERS = ("TOPOLOGIES", "STAGE", "LENGTH", "PATHS")  # of make compare
OPTIONS = ("USERS", "SPAWN", "TIME", "CLASSES", "EXAMPLE", "ARRIVALS", "CRAWL", "CRAWL_ADDRESSES", "ROBOTS")
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
# What is compared, and the least difference that means anything: milliseconds, per cent of the requests.
FLOORS = {"p50, ms": 5.0, "p95, ms": 10.0, "failed, %": 1.0}
SHARE = 0.1  # and so much of the figure before

Figures = dict[tuple[str, str], float]  # (row, one of FLOORS) -> its value in one round


class RunError(Exception):
    """It cannot be measured or compared; the text says why."""


@dataclass(frozen=True)
class Difference:
    """What one figure was in each round, before and now."""

    row: str
    measure: str
    before: Sequence[float]
    now: Sequence[float]

    @property
    def verdict(self) -> str:
        """`worse` or `better` if the rounds lie further apart than those of one run do; else empty."""
        spread = max(max(values) - min(values) for values in (self.before, self.now))
        least = max(spread, FLOORS[self.measure], SHARE * max(self.before))
        if min(self.now) - max(self.before) > least:
            return "worse"
        return "better" if min(self.before) - max(self.now) > least else ""

    def __str__(self) -> str:
        """A line of the table."""
        ranges = [f"{min(values):.1f} to {max(values):.1f}" for values in (self.before, self.now)]
        return f"{self.verdict:7} {self.row:40} {self.measure:10} {ranges[0]:>18} {ranges[1]:>18}"


def figures(report: Mapping[str, Any]) -> Figures:
    """The figures of a round, from the report of `make load`; a row with few samples has none."""
    found: Figures = {}
    for row in report["rows"]:
        count, failed = row["num_requests"], row["num_failures"]
        if count < LEAST:
            continue
        name = f"{row['method'] or ''} {row['name']}".strip()
        found[name, "p50, ms"] = row["median_response_time"]
        found[name, "p95, ms"] = row["response_time_percentile_0.95"]
        found[name, "failed, %"] = 100 * failed / count
    return found


def in_all(rounds: Sequence[Figures]) -> set[tuple[str, str]]:
    """What each round has a figure of."""
    return set.intersection(*(set(one) for one in rounds))


def compared(before: Sequence[Figures], now: Sequence[Figures]) -> list[Difference]:
    """Each figure that all rounds of both have. Raise RunError if there is none."""
    common = in_all([*before, *now])
    if not common:
        raise RunError(f"No row has {LEAST} samples in each round: nothing can be compared. Longer: TIME=2m")
    return [
        Difference(row, measure, [one[row, measure] for one in before], [one[row, measure] for one in now])
        for row, measure in sorted(common)
    ]


def measure(folder: Path, options: Mapping[str, str]) -> None:
    """Run all rounds, and keep them in a folder. Raise RunError."""
    report = REPO / ".run" / os.environ["COMPOSE_PROJECT_NAME"] / "load" / "report.json"
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    (new / "options.json").write_text(json.dumps(options) + "\n")
    environment = {name: value for name, value in os.environ.items() if name not in ("SAVE", "BASELINE")}
    for number in range(1, ROUNDS + 1):
        print(f"--- Round {number} of {ROUNDS}", flush=True)
        report.unlink(missing_ok=True)
        done = subprocess.run(["bin/stack", "load"], cwd=REPO, env=environment | dict(options))
        if done.returncode > 1 or not report.exists():  # 1: a threshold is not met, which is a result too
            raise RunError(f"Round {number} has failed.")
        shutil.copyfile(report, new / f"{number}.json")
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def read(folder: Path) -> tuple[dict[str, str], list[Figures]]:
    """How a kept run was measured, and its figures. Raise RunError."""
    try:
        options = json.loads((folder / "options.json").read_text())
        rounds = [json.loads((folder / f"{number}.json").read_text()) for number in range(1, ROUNDS + 1)]
        return options, list(map(figures, rounds))
    except FileNotFoundError:
        others = sorted(path.name for path in folder.parent.glob("[a-z0-9]*"))
        kept = f"; there are {', '.join(others)}" if others else ""
        raise RunError(f"There is no run '{folder.name}' (make load SAVE={folder.name}){kept}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{folder} is damaged ({error!r}): remove it.") from None


def main(command: str, name: str) -> int:
    """Run one command: save or compare. Return the exit status; raise RunError."""
    if not NAME.fullmatch(name):
        raise RunError(f"A run's name has lower-case letters, digits and hyphens, not '{name}'.")
    folder = REPO / ".run" / "runs" / name
    given = {option: os.environ[option] for option in (*OPTIONS, *OTHERS) if os.environ.get(option)}
    if command == "save":
        measure(folder, given)
        print(f"The run is kept in {folder.relative_to(REPO)}. Later: make compare BASELINE={name}")
        return 0
    if given:
        raise RunError(f"{', '.join(given)}: the run is repeated as it was; only SAVE takes options.")
    options, before = read(folder)
    repeated = folder.with_name(f".{name}.now")
    measure(repeated, options)
    now = read(repeated)[1]
    differences = compared(before, now)
    gone = sorted({row for row, _ in in_all(before) - in_all(now)})
    found = [one for one in differences if one.verdict]
    if found:
        print(f"\n{'':7} {'row':40} {'':10} {'before':>18} {'now':>18}")
    for one in found:
        print(one)
    within = len(differences) - len(found)
    print(f"{within} of {len(differences)} figures are within the spread of the rounds.")
    for row in gone:
        print(f"worse   {row}: less than {LEAST} samples in a round now")
    return int(bool(gone) or any(one.verdict == "worse" for one in found))


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except RunError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
