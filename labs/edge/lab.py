"""Measures three machines of extras/edge while something happens to them: counts, not speed.

    lab.py [--keep] [--publish]

The machines are container engines in network namespaces of this one (machines.sh); each has the settings
of docs/several-machines.md. `--keep` leaves them running. The figures go to test-results/edge; `--publish`
writes them here as well.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.console import Console

FOLDER = Path(__file__).parent
REPO = FOLDER.parents[1]
SCRIPT = str(FOLDER / "machines.sh")
ALL = (1, 2, 3)
FILES = 200  # of 75 kB
RATE = 60  # requests a second
BEFORE = 4  # seconds before the event, and after its end
SLOW = 1.0  # seconds, above which a request counts as slow
PAGES = {"page": "/stages/demo", "workshop": "/admin/"}

console = Console()


class Failed(Exception):
    """A command has failed; the message is its output."""


def settings(machine: int) -> dict[str, str]:
    """Return a machine's `.env`; each has a project of its own, because all share this checkout."""
    return {
        "COMPOSE_PROJECT_NAME": f"edge{machine}",
        "EXTRAS": "edge",
        "FIRST_MACHINE": "10.77.0.11",
        "OTHER_MACHINES": "10.77.0.12 10.77.0.13",
        "MACHINE": f"10.77.0.1{machine}",
        "BIND_ADDR": "0.0.0.0",
        "SERVER_NAMES": "stage.example.org",
        "UPSTAGE_FESTIVAL": "off",
    }


def script(*arguments: str, **extra: str) -> str:
    """Run machines.sh; return its output. Raise Failed."""
    taken = ("PATH", "HOME", "MACHINES_PREFIX")  # without the variables that `make lab` sets
    environment = {name: os.environ[name] for name in taken if name in os.environ}
    done = subprocess.run(
        [SCRIPT, *arguments],
        cwd=REPO,
        env=environment | extra,
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode:
        raise Failed(f"{' '.join(arguments)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def on(machine: int, *command: str, **changed: str) -> str:
    """Run a command on a machine, with these settings changed. Raise Failed."""
    return script("on", str(machine), *command, **settings(machine) | changed)


def healthy(machine: int) -> bool:
    """Return whether all containers of a machine are healthy."""
    states = on(machine, "docker", "ps", "--format", "{{.Status}}").splitlines()
    return len(states) >= 3 and all("(healthy)" in state for state in states)


def wait_for(machine: int, within: float = 90) -> None:
    """Wait until a machine is healthy. Raise Failed."""
    began = time.monotonic()
    while not healthy(machine):
        if time.monotonic() - began > within:
            raise Failed(f"machine {machine} is not healthy after {within:g} s")
        time.sleep(0.3)


# --- The events.


def cut() -> None:
    """Cut the cable of machine 3 for ten seconds."""
    script("cut", "3")
    time.sleep(10)
    script("plug", "3")


def kill() -> None:
    """Cut the power of machine 3; then start it again."""
    script("kill", "3")
    time.sleep(5)
    script("start", "3")
    wait_for(3)


def replace(service: str) -> Callable[[], None]:
    """Return a function that re-creates a service's container, like an update, machine by machine."""

    def run() -> None:
        for machine in ALL:
            [name] = on(
                machine, "docker", "ps", "--format", "{{.Names}}", "--filter", f"name=-{service}-"
            ).split()
            on(machine, "docker", "rm", "--force", name)
            on(machine, "make", "up")  # returns when the container is healthy

    return run


def update_backend() -> None:
    """Run `make up` with another setting of the backend."""
    on(1, "make", "up", UPSTAGE_MAX_UNREAD="65000")


@dataclass(frozen=True)
class Event:
    """Something that happens while visitors come to `machines`."""

    title: str
    happen: Callable[[], None]
    machines: tuple[int, ...] = ALL


EVENTS = (
    Event("a cable is cut", cut, (1, 2)),
    Event("a machine loses its power", kill, (1, 2)),
    Event("each Varnish is made anew", replace("varnish")),
    Event("each nginx is made anew", replace("nginx")),
    Event("the backend is updated", update_backend),
)


# --- The visitors.


def probe(machines: tuple[int, ...]) -> subprocess.Popen[str]:
    """Start visitors, who come until they are told to stop."""
    addresses = [f"10.77.0.1{machine}:8080" for machine in machines]
    given = {"files": "/media/bench/small.swf?{}", "number": FILES, "rate": RATE, "seconds": 600}
    given |= {"host": "stage.example.org", "pages": ",".join(PAGES.values())}
    flags = [f"--{name}={value}" for name, value in given.items()]
    command = [SCRIPT, "client", sys.executable, str(FOLDER / "prober.py"), *addresses, *flags]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def total(report: dict[str, Any], outcome: str) -> int:
    """Return the number of requests with this outcome, over all seconds."""
    return sum(second.get(outcome, 0) for second in report["seconds"])


def during(event: Event) -> dict[str, Any]:
    """Let an event happen; return the visitors' outcomes, second by second, and their sums."""
    visitors = probe(event.machines)
    try:
        time.sleep(BEFORE)
        began = time.monotonic()
        event.happen()
        took = time.monotonic() - began
        time.sleep(BEFORE)
    finally:
        visitors.terminate()
        report: dict[str, Any] = json.loads(visitors.communicate()[0])
    return report | {
        "event": event.title,
        "took": round(took),
        "slow": sum(t > SLOW for second in report["seconds"] for t in second["times"]),
        "sockets_ended": sum(ended is not None for ended in report["held"].values()),
        **{outcome: total(report, outcome) for outcome in ("asked", "failed", "repeated")},
    }


# --- The figures.


def table(events: list[dict[str, Any]]) -> str:
    """Return the figures as Markdown."""
    titles = ["event", "asked", "failed", "repeated", "above 1 s", "sockets ended", "took, s"]
    titles += [title for name in PAGES for title in (f"{name}: failed", "longest gap, s")]
    lines = [titles, ["---", *["--:"] * (len(titles) - 1)]]
    for one in events:
        ended = f"{one['sockets_ended']} of {len(one['held'])}"
        cells = [one["event"], one["asked"], one["failed"], one["repeated"], one["slow"], ended, one["took"]]
        for page in map(one["pages"].__getitem__, PAGES.values()):
            cells += [f"{page['failed']} of {page['asked']}", page["gap"]]
        lines.append(cells)
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def picture(events: list[dict[str, Any]], file: Path) -> None:
    """Draw hits, misses, slow and failed requests, second by second, and when each event began."""
    figure = Figure(figsize=(9, 1.5 * len(events)), layout="constrained")
    for axes, one in zip(figure.subplots(len(events), 1, sharex=True), events, strict=True):
        seconds = [each["second"] for each in one["seconds"]]
        below = [0] * len(seconds)
        for outcome, colour in (("hit", "#2a8455"), ("miss", "#e0a13a"), ("failed", "#b23a2e")):
            heights = [each.get(outcome, 0) for each in one["seconds"]]
            axes.bar(seconds, heights, 1, bottom=below, color=colour, label=outcome, align="edge")
            below = [sum(pair) for pair in zip(below, heights, strict=True)]
        slow = [sum(t > SLOW for t in each["times"]) for each in one["seconds"]]
        axes.bar(seconds, slow, 0.4, color="#1f1b2e", label="above 1 s", align="edge")
        axes.axvline(BEFORE, color="#1f1b2e", linestyle=":")
        axes.set_title(one["event"], loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("seconds; dotted: the event")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=4, frameon=False)
    figure.savefig(file, dpi=96)


@contextmanager
def machines(keep: bool) -> Iterator[None]:
    """Run three machines with the stack; afterwards remove all of them unless they are to be kept."""
    try:
        script("up", "3")
        for machine in ALL:
            on(machine, "make", "up")
        yield
    finally:
        if not keep:
            console.print("removing the machines")
            script("down")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--publish", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C: the machines are removed
    began = time.monotonic()

    def step(text: str) -> None:
        console.print(f"[bold]{text}[/bold] ({time.monotonic() - began:.0f} s)")

    events = []
    step("three machines with the stack")
    try:
        with machines(options.keep):
            if options.keep:
                page = "http://10.77.0.11:8080/"
                console.print(f"The first machine's page: labs/edge/machines.sh client curl {page}")
                return 0
            for event in EVENTS:
                step(event.title)
                events.append(during(event))
    except Failed as failure:
        console.print(str(failure), style="red", markup=False)
        return 1
    except KeyboardInterrupt:
        return 130
    for folder in (REPO / "test-results" / "edge", *([FOLDER] if options.publish else [])):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.md").write_text(table(events))
        picture(events, folder / "results.png")
    print(table(events))
    step("done: test-results/edge")
    return 0


if __name__ == "__main__":
    sys.exit(main())
