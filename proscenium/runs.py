"""`make load SAVE=NAME` keeps a load test; `make compare BASELINE=NAME` tells whether figures are worse now.

Both measure several rounds (loadtest/verdict/baseline.py); `make clean` keeps the results.
Exit status: 0 not worse, 1 worse, 2 not measurable.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from loadtest.verdict.baseline import LEAST, ROUNDS, RunError, compared, folder_of, in_all, read
from proscenium.running import REPO

OTHERS = ("TOPOLOGIES", "STAGE", "LENGTH", "PATHS")  # other options of make compare
OPTIONS = ("USERS", "SPAWN", "TIME", "CLASSES", "EXAMPLE", "ARRIVALS", "CRAWL", "CRAWL_ADDRESSES", "ROBOTS")


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
        if done.returncode > 1 or not report.exists():  # 1: a threshold is not met, which is a result, too
            raise RunError(f"Round {number} has failed.")
        shutil.copyfile(report, new / f"{number}.json")
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def main(command: str, name: str) -> int:
    """Run one command, save or compare. Return the exit status; raise RunError."""
    folder = folder_of(name)
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
    table = [("", "row", "", "before", "now")] if found else []
    for cells in (*table, *((one.verdict, one.row, one.measure, *one.ranges) for one in found)):
        print("{:7} {:40} {:10} {:>18} {:>18}".format(*cells))
    rows = json.loads((repeated / "1.json").read_text())["rows"]
    few = sum(0 < row["num_requests"] < LEAST for row in rows)
    print(f"{len(differences) - len(found)} of {len(differences)} figures are within the spread", end=" ")
    print(f"of the rounds; rows with too few samples (under {LEAST}): {few}.")
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
