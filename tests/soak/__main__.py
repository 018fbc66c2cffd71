"""Load the running stack for a while, record what its services use, and say whether anything grows.

    python -m tests.soak FOLDER --project proscenium --page http://127.0.0.1:8089 --minutes 30 --users 30

FOLDER gets samples.jsonl (a line every five seconds, written at once), soak.png and table.md. The account of
Locust's page, if it requires one, is in LOCUST_ACCOUNT as "name password". Exit status 1 if something grows
without a known reason, a request failed, or a service stopped. Ctrl-C ends the run early and judges it.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import requests

from tests.soak.load import Load
from tests.soak.plot import plot
from tests.soak.services import Services, between
from tests.soak.trend import PARTS
from tests.soak.verdict import number, rows, table

EVERY = 5.0  # seconds
A_MINUTE = round(60 / EVERY)  # samples
WENT_WRONG = (RuntimeError, requests.RequestException, OSError)


def record(
    services: Services, load: Load, minutes: float, file: TextIO
) -> tuple[list[dict[str, Any]], list[str]]:
    """Sample until the time is up, or something goes wrong; return the samples, and what went wrong."""
    samples: list[dict[str, Any]] = []
    try:
        with suppress(KeyboardInterrupt):
            for sample, users in sampled(services, load, round(minutes * A_MINUTE)):
                samples.append(sample)
                print(json.dumps(sample), file=file, flush=True)
                if len(samples) % A_MINUTE == 0:
                    print(progress(samples, users), flush=True)
        return samples, load.problems()
    except WENT_WRONG as error:
        return samples, [str(error)]


def sampled(services: Services, load: Load, count: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield so many samples, each with Locust's number of users. Raise RuntimeError if a service stops."""
    began = before = time.monotonic()
    used, asked = services.read(), load.read()
    for turn in range(1, count + 1):
        time.sleep(max(0.0, began + EVERY * turn - time.monotonic()))
        now, used_before, asked_before = time.monotonic(), used, asked
        used, asked = services.read(), load.read()
        sample = {
            "seconds": round(now - began, 1),
            **between(used_before, used),
            **asked.times,
            "requests": {"all": round((asked.requests - asked_before.requests) / (now - before), 1)},
            "failures": {"all": asked.failures},
        }
        before = now
        yield sample, asked.users


def progress(samples: list[dict[str, Any]], users: int) -> str:
    """One line about the last minute."""
    last = samples[-A_MINUTE:]
    rate = sum(sample["requests"]["all"] for sample in last) / len(last)
    failed = last[-1]["failures"]["all"]
    cpu = sum(sum(sample["cpu"].values()) for sample in last) / len(last)
    memory = ", ".join(f"{name} {number(size)}" for name, size in last[-1]["memory"].items())
    return (
        f"minute {len(samples) // A_MINUTE}: {users} users, {rate:.0f} requests/s, {failed} failed so far; "
        f"CPU {cpu:.0f} % of a core; MB: {memory}"
    )


def main() -> int:
    """Run, write the three files, print the verdict."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--project", required=True)
    parser.add_argument("--page", required=True)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--users", type=int, default=30)
    given = parser.parse_args()
    for end in (signal.SIGTERM, signal.SIGHUP):  # the users must not stay
        signal.signal(end, signal.default_int_handler)
    account = os.environ.get("LOCUST_ACCOUNT", "").split()
    with Services(given.project) as services, (given.folder / "samples.jsonl").open("w") as file:
        limits = {service.name: service.memory_limit for service in services.all}
        try:
            load = Load(given.page, (account[0], account[1]) if account else None)
            load.start(given.users)
        except WENT_WRONG as error:
            print(error, file=sys.stderr)
            return 1
        try:
            samples, faults = record(services, load, given.minutes, file)
        finally:
            with suppress(*WENT_WRONG):
                load.stop()
    if len(samples) < 2 * PARTS:
        print("\n".join([*faults, "The run was too short to be judged."]), file=sys.stderr)
        return 1
    judged = rows(samples, limits)
    (given.folder / "table.md").write_text(table(judged), "utf-8")
    plot(samples, given.folder / "soak.png")
    print(f"\n{table(judged)}")
    faults += [f"{row.measure.title} of {row.name}: {row.verdict}" for row in judged if row.fault]
    print("\n".join(f"FAILED: {fault}" for fault in faults) or "GOOD: nothing failed, nothing grows.")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
