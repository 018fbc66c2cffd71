"""Measures the stack on a Docker Swarm of three machines while something happens to them: counts, not speed.

    lab.py [--keep] [--publish]

The machines are container engines in network namespaces of this one (machines.sh). `--keep` leaves them
running for `make cluster-demo`. The figures go to test-results/cluster; `--publish` writes them here as well.
"""

import argparse
import json
import os
import signal
import statistics
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
STACK = "cluster"
SETTINGS = {
    "COMPOSE_PROJECT_NAME": STACK,
    "COMPARISON_NAMES": "on",
    "VARNISH_STORAGE": "malloc,12m",
    "UPSTAGE_FESTIVAL": "off",
}
FILES = 410  # of 75 kB: two and a half times what one cache holds
RATE = 60  # requests a second
BEFORE = 4  # seconds until the event, and after it
SLOW = 1.0  # seconds
PAGES = {"page": "/stages/demo", "workshop": "/admin/"}

console = Console()


class Failed(Exception):
    """A command has failed; its output says why."""


def script(*arguments: str) -> str:
    """Run machines.sh; return its output. Raise Failed."""
    taken = ("PATH", "HOME", "MACHINES_PREFIX")  # not what `make lab` has set
    environment = {name: os.environ[name] for name in taken if name in os.environ}
    done = subprocess.run(
        [SCRIPT, *arguments],
        cwd=REPO,
        env=environment | SETTINGS,
        capture_output=True,
        text=True,
        timeout=400,
    )
    if done.returncode:
        raise Failed(f"{' '.join(arguments)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def docker(*arguments: str) -> str:
    """Run a command of the Swarm's manager. Raise Failed."""
    return script("on", "1", "docker", *arguments)


def services() -> dict[str, str]:
    """How many containers of each service are healthy, of how many: 3/3."""
    lines = docker("service", "ls", "--format", "{{.Name}} {{.Replicas}}").splitlines()
    return {
        name.removeprefix(f"{STACK}_"): count.split()[0]
        for name, count in (line.split(" ", 1) for line in lines)
    }


def settled(service: str) -> bool:
    """Whether it has all its containers, and is not being updated."""
    healthy, wanted = services()[service].split("/")
    state = "{{if .UpdateStatus}}{{.UpdateStatus.State}}{{end}}"
    update = docker("service", "inspect", "--format", state, f"{STACK}_{service}").strip()
    return healthy == wanted and update in ("", "completed")


def varnishes_without(machine: str) -> int:
    """How many healthy Varnishes there are on the other machines."""
    tasks = ("--filter=desired-state=running", "--format={{.Node}} {{.CurrentState}}")
    lines = docker("service", "ps", *tasks, f"{STACK}_varnish").splitlines()
    return sum(" Running" in line and not line.startswith(f"{machine} ") for line in lines)


def wait_for(check: Callable[[], bool], within: float) -> float:
    """Return after how many seconds it was true. Raise Failed."""
    began = time.monotonic()
    while not check():
        if time.monotonic() - began > within:
            raise Failed(f"not within {within:g} s: {services()}")
        time.sleep(0.3)
    return time.monotonic() - began


# --- What happens.


def update(service: str) -> Callable[[], float]:
    """All containers of a service are replaced, one after the other."""

    def run() -> float:
        docker(
            "service", "update", "--detach", "--force", "--quiet", "--update-delay=2s", f"{STACK}_{service}"
        )
        time.sleep(2)
        return wait_for(lambda: settled(service), 90)

    return run


def kill() -> float:
    """Machine 3 loses its power; its Varnish starts elsewhere."""
    script("kill", "3")
    return wait_for(lambda: varnishes_without("machine-3") == 3, 90)


def after_kill() -> None:
    script("start", "3")
    wait_for(lambda: services()["nginx"] == "3/3" and services()["varnish"] == "3/3", 60)


def cut() -> float:
    """The cable of machine 3 is cut for ten seconds."""
    script("cut", "3")
    time.sleep(10)
    script("plug", "3")
    return 10.0


def drain() -> float:
    """Machine 2 is emptied, as before maintenance. (Machine 3 has no Varnish since it was lost.)"""
    docker("node", "update", "--availability", "drain", "machine-2")
    return wait_for(lambda: varnishes_without("machine-2") == 3, 60)


def after_drain() -> None:
    docker("node", "update", "--availability", "active", "machine-2")
    wait_for(lambda: services()["nginx"] == "3/3", 60)


def scale() -> float:
    """A fourth Varnish comes and goes."""
    docker("service", "scale", "--detach", f"{STACK}_varnish=4")
    taken = wait_for(lambda: services()["varnish"] == "4/4", 60)
    time.sleep(5)
    docker("service", "scale", "--detach", f"{STACK}_varnish=3")
    return taken + 5 + wait_for(lambda: services()["varnish"] == "3/3", 60)


def nothing() -> None:
    """Everything is as it was before."""


@dataclass(frozen=True)
class Event:
    """Something that happens while visitors come to `machines`."""

    title: str
    happen: Callable[[], float]  # seconds until the stack has healed
    mend: Callable[[], None]
    machines: tuple[int, ...]


EVENTS = (
    Event("a cable is cut", cut, nothing, (1, 2)),
    Event("a machine loses its power", kill, after_kill, (1, 2)),
    Event("a machine is drained", drain, after_drain, (1, 3)),
    Event("3 → 4 → 3 Varnishes", scale, nothing, (1, 2, 3)),
    Event("Varnish is updated", update("varnish"), nothing, (1, 2, 3)),
    Event("nginx is updated", update("nginx"), nothing, (1, 2, 3)),
    Event("the backend is updated", update("backend"), nothing, (1, 2, 3)),
)


# --- What visitors see.


def probe(machines: tuple[int, ...], seconds: float | None, **options: str | int) -> subprocess.Popen[str]:
    """Visitors who come for so many seconds, or until they are told to stop."""
    addresses = [f"10.77.0.1{machine}:8080" for machine in machines]
    given = {"files": "/media/bench/small.swf?{}", "number": FILES, "rate": RATE, **options}
    given["pages"] = ",".join(PAGES.values())
    flags = [f"--{name}={value}" for name, value in given.items()]
    command = [SCRIPT, "client", sys.executable, str(FOLDER / "prober.py"), *addresses, *flags]
    return subprocess.Popen([*command, f"--seconds={seconds or 600}"], stdout=subprocess.PIPE, text=True)


def total(report: dict[str, Any], outcome: str) -> int:
    """How often it happened, over all seconds."""
    return sum(second.get(outcome, 0) for second in report["seconds"])


def hit_ratio(host: str, varnishes: int) -> float:
    """The share of hits among all requests once the caches are full."""
    docker("service", "scale", "--detach", f"{STACK}_varnish={varnishes}")
    wait_for(lambda: services()["varnish"] == f"{varnishes}/{varnishes}", 60)
    for seconds in (5, 8):
        report = json.loads(probe((1, 2, 3), seconds, host=host, rate=200).communicate()[0])
    return total(report, "hit") / total(report, "asked")


def during(event: Event) -> dict[str, Any]:
    """Let it happen; return what visitors saw, second by second, and the sum."""
    visitors = probe(event.machines, None)
    try:
        time.sleep(BEFORE)
        healed = event.happen()
        time.sleep(BEFORE)
    finally:
        visitors.terminate()
        report: dict[str, Any] = json.loads(visitors.communicate()[0])
    times = [seconds for second in report["seconds"] for seconds in second["times"]]
    late = [t for second in report["seconds"] if second["second"] >= BEFORE + 10 for t in second["times"]]
    event.mend()
    return report | {
        "event": event.title,
        "healed_seconds": round(healed, 1),
        "asked": total(report, "asked"),
        "failed": total(report, "failed"),
        "repeated": total(report, "repeated"),
        "slow": sum(seconds > SLOW for seconds in times),
        "p99_after_10_s": round(statistics.quantiles(late, n=100)[98], 3) if len(late) > 100 else None,
        "sockets_ended": sum(ended is not None for ended in report["held"].values()),
    }


# --- What is shown.


def table(found: dict[str, Any]) -> str:
    """The figures as Markdown."""
    lines = [
        "| caches | chosen | hits, of all requests |",
        "|---|---|--:|",
        *(f"| {cell['caches']} | {cell['chosen']} | {cell['hit_ratio']:.2f} |" for cell in found["cells"]),
        "",
        "| event | asked | failed | repeated | above 1 s | p99 after 10 s, s | sockets ended | healed, s | "
        + " | ".join(f"{name}: failed | longest gap, s" for name in PAGES)
        + " |",
        "|---|" + "--:|" * (7 + 2 * len(PAGES)),
        *(
            f"| {one['event']} | {one['asked']} | {one['failed']} | {one['repeated']} | {one['slow']} | "
            f"{one['p99_after_10_s'] or ''} | {one['sockets_ended']} of {len(one['held'])} | "
            f"{one['healed_seconds']} | "
            + " | ".join(
                f"{each['failed']} of {each['asked']} | {each['gap']}"
                for each in map(one["pages"].__getitem__, PAGES.values())
            )
            + " |"
            for one in found["events"]
        ),
    ]
    return "\n".join(lines) + "\n"


def picture(found: dict[str, Any], file: Path) -> None:
    """Second by second: hits, misses, slow and failed requests, and when it happened."""
    events = found["events"]
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
    """Three machines with the stack; nothing of them is left unless they are to be kept."""
    try:
        script("up", "3")
        docker("swarm", "init", "--advertise-addr", "10.77.0.11")
        token = docker("swarm", "join-token", "--quiet", "worker").strip()
        for machine in ("2", "3"):
            script("on", machine, "docker", "swarm", "join", "--token", token, "10.77.0.11:2377")
        docker("node", "update", "--label-add", "stage=yes", "machine-1")
        script("on", "1", "make", "cluster-up")
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
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: the machines are removed
    began = time.monotonic()

    def step(text: str) -> None:
        console.print(f"[bold]{text}[/bold] ({time.monotonic() - began:.0f} s)")

    step("three machines, a Swarm and the stack on it")
    try:
        with machines(options.keep):
            if options.keep:
                console.print(
                    "The first machine's page: `labs/cluster/machines.sh client curl http://10.77.0.11:8080/`"
                )
                console.print(
                    "A command on machine 2: `labs/cluster/machines.sh on 2 docker ps`\n"
                    "The end: `labs/cluster/machines.sh down`"
                )
                return 0
            found: dict[str, Any] = {"cells": [], "events": []}
            for caches, chosen, host in (
                (1, "the only one", "localhost"),
                (3, "any", "classic.localhost"),
                (3, "by the URL", "localhost"),
            ):
                step(f"hits: {caches} caches, {chosen}")
                found["cells"].append(
                    {"caches": caches, "chosen": chosen, "hit_ratio": hit_ratio(host, caches)}
                )
            for event in EVENTS:
                step(event.title)
                found["events"].append(during(event))
    except Failed as failure:
        console.print(str(failure), style="red", markup=False)
        return 1
    except KeyboardInterrupt:
        return 130
    for folder in (REPO / "test-results" / "cluster", *([FOLDER] if options.publish else [])):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.md").write_text(table(found))
        picture(found, folder / "results.png")
    print(table(found))
    step("done: test-results/cluster")
    return 0


if __name__ == "__main__":
    sys.exit(main())
