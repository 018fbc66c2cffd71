"""Measures labs and writes their tables, for `make lab`: python -m labs.bench [--full] [--publish] NAME...

Each round measures every cell once, every second round in reverse order, so that a slow minute of the machine
affects all cells. After each sample a fixed calculation is timed: the slowest one shows how busy the machine
was.
"""

import argparse
import fcntl
import hashlib
import importlib
import json
import os
import re
import shutil
import signal
import statistics
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.progress import track

from labs.bench import report
from labs.bench.experiment import Cell, Experiment, load
from labs.bench.lab_stack import REPO, LabStack, Problem

RESULTS = REPO / "test-results" / "bench"
# The commands by which the stack's services print their versions; lab.toml adds those of a lab's own servers.
VERSIONS = {
    "nginx": ["nginx", "-v"],
    "varnish": ["varnishd", "-V"],
    "backend": ["python", "-V"],
    "generator": ["ab", "-V"],
}
EVERY = 30.0  # seconds between two lines of progress
console = Console(highlight=False)


def main() -> int:
    """Return the exit code: 0, 1 if a cell was rejected, 2 if a lab failed, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="bench", description="Repeat what the articles measured.")
    parser.add_argument("labs", nargs="+", metavar="NAME", help="a folder of labs/")
    parser.add_argument("--full", action="store_true", help="every cell, for as long as in the article")
    parser.add_argument("--publish", action="store_true", help="replace results.md")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that SIGTERM, too, removes the containers
    RESULTS.mkdir(parents=True, exist_ok=True)
    lock = (RESULTS / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        console.print("Another run is measuring, and two would disturb each other.", style="red")
        return 2
    code = 0
    for name in options.labs:
        try:
            rejected = run(REPO / "labs" / name, "full" if options.full else "quick", options.publish)
        except (OSError, ValueError, TypeError, KeyError, RuntimeError, Problem) as error:
            kind = "" if isinstance(error, Problem | OSError) else f"{type(error).__name__}: "
            console.print(f"{name}: {kind}{error}", style="red", markup=False, soft_wrap=True)
            code = 2
        except KeyboardInterrupt:
            console.print(f"{name}: interrupted; its containers are removed, and nothing is written.")
            return 130
        else:
            code = max(code, int(rejected))
    return code


def run(lab: Path, mode: str, publish: bool) -> bool:
    """Measure a lab, and write its results and tables; return whether a cell was rejected."""
    results = measure(lab, mode)
    (RESULTS / f"{lab.name}.json").write_text(json.dumps(results, indent=1) + "\n")
    tables = RESULTS / f"{lab.name}.md"
    tables.write_text(report.write(results, lab))
    console.print(tables.read_text(), markup=False)
    if publish:
        shutil.copyfile(tables, lab / "results.md")
    console.print(f"The tables: {tables.relative_to(REPO)}")
    return any(cell["problem"] for cell in results["cells"])


def measure(lab: Path, mode: str) -> dict[str, Any]:
    """Start a lab's containers and measure all cells; return the results (labs/README.md)."""
    experiment = load(lab, mode)
    console.print(f"[bold]{experiment.title}[/]: starting the containers of labs/{lab.name}")
    cells: list[dict[str, Any]] = [
        {"key": cell.key, "samples": [], "median": {}, "spread": {}, "problem": None}
        for cell in experiment.cells
    ]
    with LabStack(lab, experiment.services) as stack:
        if experiment.prepare:
            stack.run(experiment.prepare_in, *experiment.prepare)
        results = {
            "lab": lab.name,
            "mode": mode,
            "measured": datetime.now(UTC).strftime("%-d %B %Y, %H:%M UTC"),
            "machine": describe(stack),
            "versions": versions(stack, experiment),
            "cells": cells,
        }
        there = list(zip(experiment.cells, cells, strict=True))
        back = there[::-1]
        warm_up = [(True, *pair) for pair in there]
        samples = [
            (False, *pair) for turn in range(experiment.repetitions) for pair in (back if turn % 2 else there)
        ]
        steps = warm_up + samples
        told = time.monotonic()
        for number, (is_warm_up, cell, found) in enumerate(track(steps, lab.name, console=console)):
            if not console.is_terminal and time.monotonic() > told + EVERY:  # a file shows no progress bar
                told = time.monotonic()
                console.print(f"{number} of {len(steps)} samples")
            if found["problem"]:
                continue
            try:
                if is_warm_up:
                    driver(cell).measure(stack, {**cell.settings, **experiment.warm_up})
                else:
                    found["samples"].append(sample(experiment, stack, cell))
            except Problem as problem:
                found["problem"] = "".join(filter(str.isprintable, " ".join(str(problem).split())))
                words = f"rejected: {report.in_words(cell.key)}: {problem}"
                console.print(words, style="red", markup=False)
    for found in cells:
        if not found["problem"]:
            summarize(found)
    return results


def summarize(cell: dict[str, Any]) -> None:
    """Add the median and the spread of each figure, which drivers leave out if they could not read it."""
    for name in dict.fromkeys(name for one in cell["samples"] for name in one):
        values = [one[name] for one in cell["samples"] if name in one]
        cell["median"][name] = statistics.median(values)
        cell["spread"][name] = [min(values), max(values)]


def driver(cell: Cell) -> Any:
    """Return the module that measures a cell; labs/bench/drivers/__init__.py describes such modules."""
    return importlib.import_module(f"labs.bench.drivers.{cell.driver}")


def sample(experiment: Experiment, stack: LabStack, cell: Cell) -> dict[str, float]:
    """Return the figures of one measurement, with the CPU and memory that every service used for it."""
    before, begin = stack.usage(experiment.services), time.monotonic()
    psutil.cpu_percent()  # the next call returns the mean since this one
    own = driver(cell).measure(stack, cell.settings)
    if cell.primary not in own:
        raise Problem(f"the driver {cell.driver} does not measure {cell.primary}")
    seconds = own.get("seconds", time.monotonic() - begin)
    metrics = {"system_cpu_percent": psutil.cpu_percent()}
    after = stack.usage(experiment.services)
    spent = {}
    for name, usage in after.items():
        since = before[name].cpu_seconds
        # The counter of a restarted service begins at zero.
        spent[name] = usage.cpu_seconds - (since if since <= usage.cpu_seconds else 0)
    # The article about UpStage also subtracted ab's load from the machine's.
    generator = spent["generator"] / seconds * 100 / (os.cpu_count() or 1)
    metrics["system_without_generator_cpu_percent"] = max(0.0, metrics["system_cpu_percent"] - generator)
    for name, usage in after.items():
        metrics[f"cpu_percent.{name}"] = spent[name] / seconds * 100
        metrics[f"memory_percent.{name}"] = usage.memory_bytes / usage.memory_limit * 100
    servers = cell.settings.get("servers", [])
    if servers:
        metrics["server_memory_bytes"] = sum(after[name].memory_bytes for name in servers)
    # Figures that hardly change when other programs use some of the machine.
    requests = own.get("requests")
    if requests:
        metrics["cpu_milliseconds_per_request"] = sum(spent.values()) / requests * 1000
        if servers:
            used = sum(spent[name] for name in servers)
            metrics["server_cpu_microseconds_per_request"] = used / requests * 1e6
    return {**metrics, **own, "calibration_milliseconds": calibrate()}


def calibrate() -> float:
    """Return the milliseconds of a fixed calculation on every core at once: constant on an idle machine."""

    def compute(_: int) -> bytes:
        return hashlib.pbkdf2_hmac("sha256", b"", b"", 100_000)  # the hash releases Python's lock

    begin = time.perf_counter()
    with ThreadPoolExecutor() as pool:
        list(pool.map(compute, range(os.cpu_count() or 1)))
    return (time.perf_counter() - begin) * 1000


def describe(stack: LabStack) -> str:
    """Return a description of the engine's machine, on which the servers run; it may be remote."""
    info = stack.engine.info()
    cpu = re.search(r"^model name\s*: (.*)", stack.run("generator", "cat", "/proc/cpuinfo"), re.M)
    memory = f"{info['MemTotal'] / 2**30:.1f} GiB"
    where = f"{cpu[1] if cpu else info['Architecture']}, {info['NCPU']} cores, {memory}"
    return f"{where}, Linux {info['KernelVersion']}, Docker {info['ServerVersion']}"


def versions(stack: LabStack, experiment: Experiment) -> Mapping[str, str]:
    """Return service -> version of its main program; half of the programs print it on standard error."""
    commands = {**VERSIONS, **experiment.versions}
    found = {}
    for service in experiment.services:
        if service in commands:
            printed = stack.run(service, "sh", "-c", '"$@" 2>&1', "sh", *commands[service])
            version = re.search(r"\d+(\.\d+)+", printed)
            found[service] = version[0] if version else printed.strip()
    return found


if __name__ == "__main__":
    sys.exit(main())
