"""Measures labs and writes their tables; `make lab` runs it.

python -m labs.bench [NAME...] [--full] [--fresh] [--publish quiet|busy]
"""

import argparse
import fcntl
import importlib
import shutil
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from labs.bench import machine, runner, words
from labs.bench.experiment import MODES, load
from labs.bench.lab_stack import REPO, LabStack, Problem
from labs.bench.report import pages, write
from labs.bench.report.reading import read
from labs.bench.results import Results

LABS = REPO / "labs"
RESULTS = REPO / "test-results" / "bench"


def main() -> int:
    """Return the exit code: 0, 1 if a cell was rejected, 2 if a lab failed, 130 after Ctrl-C.

    A lab fails if it cannot be measured, or not published as requested; the others are measured anyway.
    """
    parser = argparse.ArgumentParser(prog="bench", description="Repeat what the articles measured.")
    parser.add_argument(
        "labs", nargs="*", metavar="NAME", help="a folder of labs/; without one, only the tables are written"
    )
    parser.add_argument("--full", action="store_true", help="every cell, for as long as in the article")
    parser.add_argument("--fresh", action="store_true", help="start over, even if a run was interrupted")
    parser.add_argument(
        "--publish",
        choices=["quiet", "busy"],
        default="",
        help="replace results.md of these labs, or of all that were measured; busy: even if the machine was",
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the containers are removed
    console = Console(highlight=False)
    RESULTS.mkdir(parents=True, exist_ok=True)
    code = 0
    with (RESULTS / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.print(
                "[red]Another run is measuring on this machine: the figures of both would be wrong.[/]"
            )
            return 2
        for name in options.labs or sorted(path.parent.name for path in LABS.glob("*/lab.toml")):
            try:
                if options.labs:
                    rejected = measure(LABS / name, MODES[options.full], options.fresh, console)
                    code = max(code, int(rejected))
                code = max(code, publish(name, options.publish, console))
            except (OSError, ValueError, RuntimeError, Problem) as error:
                console.print(error, style="red", markup=False, soft_wrap=True)
                code = 2
            except KeyboardInterrupt:
                console.print("Interrupted. The samples are kept; the same command continues.")
                return 130
    return code


def measure(lab: Path, mode: str, fresh: bool, console: Console) -> bool:
    """Measure one lab and print its figures. Returns whether a cell was rejected."""
    experiment = load(lab, mode)
    drivers = {
        cell.driver: importlib.import_module(f"labs.bench.drivers.{cell.driver}") for cell in experiment.cells
    }
    path = RESULTS / f"{experiment.name}.json"
    console.print(f"[bold]{experiment.title}[/]: starting the containers of labs/{lab.name}")
    with LabStack(lab, experiment.services, experiment.extras) as stack:
        if experiment.prepare:
            stack.run(experiment.prepare_in, *experiment.prepare)
        results = Results.begin(
            experiment,
            now(),
            machine=machine.describe(stack),
            versions=machine.versions(stack, experiment),
            configuration=machine.configuration(stack, experiment),
        )
        earlier = Results.read(path)
        if earlier and not earlier.finished and not fresh:
            if changed := results.differs_from(earlier):
                console.print(
                    f"The interrupted run cannot continue, because these have changed: {', '.join(changed)}."
                )
            else:
                results = earlier
                console.print("Continuing an interrupted run.")
        runner.run(experiment, results, path, stack, drivers, console)
    results.finished = now()
    results.write(path)
    console.print(table(results))
    for note in results.noise["notes"]:
        console.print(note)
    return any(cell.problem for cell in results.cells)


def table(results: Results) -> Table:
    """The primary metric of every cell, for the terminal."""
    table = Table(title=words.metric(results.primary))
    keys = list(dict.fromkeys(name for cell in results.cells for name in cell.key))
    for name in [*keys, "median", "lowest", "highest", "factor"]:
        table.add_column(name, justify="right")
    for cell in results.cells:
        if cell.problem:
            figures = ["rejected", "", "", ""]
        elif results.primary not in cell.median:
            figures = [words.NOTHING, "", "", ""]  # its primary metric is a different one
        else:
            factor = results.factor(cell)
            values = [cell.median[results.primary], *cell.spread[results.primary]]
            figures = [*map(words.number, values), words.number(factor) if factor else ""]
        table.add_row(*(str(cell.key.get(name, "")) for name in keys), *figures)
    return table


def publish(name: str, wanted: str, console: Console) -> int:
    """Write the tables and the picture of a lab that has been measured.

    They replace its results.md never (""), if the machine was not busy ("quiet"), or in any case ("busy"): a
    note in it says that the machine was busy. The picture replaces results.svg, if the lab has one.

    Returns the exit code.
    """
    results = Results.read(RESULTS / f"{name}.json")
    if not results:
        return 0
    write(read(results, LABS / name), RESULTS)
    tables, page = RESULTS / f"{name}.md", LABS / name / "results.md"
    here, there = (path.relative_to(REPO) for path in (tables, page))
    if wanted == "busy" or (wanted and not results.busy):
        shutil.copyfile(tables, page)
        if (picture := page.with_suffix(".svg")).exists():
            shutil.copyfile(tables.with_suffix(".svg"), picture)
        try:
            changed = pages.update(page.parent) if (page.parent / "figures.toml").exists() else 0
        except ValueError as error:
            console.print(f"Published: {there}. README.md is unchanged: {error}", style="red", soft_wrap=True)
            return 1
        console.print(f"Published: {there}; new figures in README.md: {changed}", soft_wrap=True)
        return 0
    reason = results.busy if wanted else "PUBLISH=1 replaces it."
    style = "red" if wanted else None
    console.print(f"The tables: {here}. {there} is as published. {reason}", style=style, soft_wrap=True)
    return 2 if wanted else 0


def now() -> str:
    """UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    sys.exit(main())
