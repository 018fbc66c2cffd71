"""run.py load|compare|soak: starts Locust without its page, for `make load`, `make compare` and `make soak`.

The variables that were typed behind make are its options. Exit status 64: one of them is wrong, and
nothing has been started.
"""

import os
import shutil
import subprocess
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from locust import events
from locust.main import main
from locust.runners import Runner, WorkerRunner

import options

HERE = Path(__file__).parent
REPORTS = Path(os.environ.get("LOADTEST_REPORTS", "reports"))
REFUSED = 64  # EX_USAGE of sysexits.h
OWN_CLASSES = ("ARRIVALS", "CRAWL", "CRAWL_ADDRESSES", "ROBOTS")  # of locustfile.py, not of an example


def refuse(sentence: str) -> NoReturn:
    """Exit with what is wrong."""
    print(sentence, file=sys.stderr)
    sys.exit(REFUSED)


def typed(name: str, default: str = "", check: Callable[[str], object] | None = None) -> str:
    """Return the value of a variable, or exit with the reason why its check refuses it."""
    value = os.environ.get(name) or default
    try:
        if check:
            check(value)
    except ArgumentTypeError as error:
        refuse(f"{name}: {error}")
    return value


def passed_on(*names: str) -> list[str]:
    """Return the options for those variables that are set; Locust checks their values."""
    given = [(f"--{name.lower().replace('_', '-')}", typed(name)) for name in names if typed(name)]
    return [word for pair in given for word in pair]


def thresholds() -> list[str]:
    """Return the option for the learner's own thresholds, or for those of the stack."""
    own = "mine/thresholds.toml"
    return ["--thresholds", own if (HERE / own).exists() else "verdict/thresholds.toml"]


def example(number: str) -> str:
    """Return the file of an example, or exit with a list of all."""
    files = sorted((HERE / "examples").glob("[0-9][0-9]_*.py"))
    for file in files:
        if file.name.startswith(f"{number.zfill(2)}_"):
            return f"examples/{file.name}"
    names = ", ".join(file.stem.replace("_", " ") for file in files)
    refuse(f"There is no EXAMPLE={number}; the examples are {names}.")


def load() -> list[str]:
    """Return the arguments of `make load`."""
    users = typed("USERS", "20", options.USERS)
    spawn = typed("SPAWN", str((int(users) + 1) // 2), options.SPAWN_RATE)
    length = typed("TIME", "30s", options.run_time)
    arguments = ["--users", users, "--spawn-rate", spawn, "--run-time", length]
    if number := typed("EXAMPLE"):
        for name in filter(typed, OWN_CLASSES):
            refuse(f"{name} is not for an EXAMPLE, which has classes of its own.")
        arguments += ["--locustfile", example(number)]
    else:
        if not typed("CRAWL") and (typed("CRAWL_ADDRESSES") or typed("ROBOTS")):
            refuse(
                "CRAWL_ADDRESSES and ROBOTS are those of crawlers: say how much they ask, such as CRAWL=100."
            )
        arguments += ["--chat-rate", "20", *thresholds(), *passed_on(*OWN_CLASSES)]
    if processes := typed("LOADTEST_PROCESSES"):
        # The other Locust, which has the page, listens on the usual port if it has processes, too.
        here = ("--master-bind-host", "127.0.0.1", "--master-bind-port", "5558", "--master-port", "5558")
        arguments += ["--processes", processes, *here]
    return arguments + typed("CLASSES").split()


def compare() -> list[str]:
    """Return the arguments of `make compare`. All users arrive within five seconds."""
    users = typed("USERS", "20", options.USERS)
    arguments = ["--shape", "Compare", "--chat-rate", "20", "--users", users]
    arguments += ["--spawn-rate", str((int(users) + 4) // 5), "--seconds", typed("LENGTH", "30")]
    if paths := typed("PATHS"):
        return [*arguments, "--topologies", "alone.app,nginx.app,app", "--paths", paths, "Pages"]
    return arguments + passed_on("TOPOLOGIES", "STAGE", "ARRIVALS")


def soak() -> list[str]:
    """Return the arguments of `make soak`."""
    users, length = typed("USERS", "30", options.USERS), f"{typed('MINUTES', '30')}m"
    return ["--shape", "LongRun", "--users", users, "--run-time", length, "--misses", "count", *thresholds()]


def begin(arguments: list[str]) -> NoReturn:
    """Run Locust. When it has accepted the arguments, the reports of the last run are removed."""
    begun = []

    def empty_reports(runner: Runner | None, **_: object) -> None:
        begun.append(runner)
        if not isinstance(runner, WorkerRunner):
            shutil.rmtree(REPORTS, ignore_errors=True)
            REPORTS.mkdir(parents=True)

    events.init.add_listener(empty_reports)
    os.chdir(HERE)
    sys.argv = ["locust", *arguments]
    try:
        sys.exit(main())
    except SystemExit:
        if begun:
            raise
        if typed("CLASSES"):  # there may be none of these
            subprocess.run([sys.executable, "-m", "locust", *arguments, "--list"])
        sys.exit(REFUSED)


COMMANDS = {"load": load, "compare": compare, "soak": soak}

if __name__ == "__main__":
    begin(["--headless", "--only-summary", *COMMANDS[sys.argv[1]]()])
