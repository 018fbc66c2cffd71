"""python -m bench lab NAME... [--full] [--fresh]: what `make lab` and `make bench` run."""

import argparse
import fcntl
import importlib
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import machine, runner
from bench.experiment import MODES, load
from bench.house import REPO, House, Problem
from bench.report import write
from bench.results import Results

LABS = REPO / "labs"
RESULTS = REPO / "test-results" / "bench"


def main() -> int:
    """Measure; 0, or 1 if a cell was refused, 2 if a lab could not be measured, 130 after Ctrl-C.

    A lab that cannot be measured does not cost the others.
    """
    parser = argparse.ArgumentParser(prog="bench", description="Measure what the articles measured.")
    parser.add_argument("command", choices=["lab"])
    parser.add_argument("labs", nargs="+", metavar="NAME", help="a folder of labs/")
    parser.add_argument("--full", action="store_true", help="every cell, as long as the article measured")
    parser.add_argument("--fresh", action="store_true", help="begin anew, even if a run was interrupted")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # closes the house as well
    console = Console(highlight=False)
    RESULTS.mkdir(parents=True, exist_ok=True)
    code = 0
    with (RESULTS / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.print("[red]Another run is measuring here; both would be wrong.[/]")
            return 2
        for name in options.labs:
            try:
                refused = measure(LABS / name, MODES[options.full], options.fresh, console)
                code = max(code, int(refused))
                report(console)
            except (OSError, ValueError, RuntimeError, Problem) as error:
                console.print(error, style="red", markup=False, soft_wrap=True)
                code = 2
            except KeyboardInterrupt:
                console.print("Interrupted. What was measured is kept; the same command goes on from there.")
                return 130
    return code


def measure(lab: Path, mode: str, fresh: bool, console: Console) -> bool:
    """Measure one lab and print what came out; whether a cell was refused."""
    experiment = load(lab, mode)
    tools = {cell.tool: importlib.import_module(f"bench.tools.{cell.tool}") for cell in experiment.cells}
    path = RESULTS / f"{experiment.name}.json"
    console.print(f"[bold]{experiment.title}[/]: opening the house of labs/{lab.name}")
    with House(lab, experiment.services) as house:
        if experiment.prepare:
            house.run(experiment.prepare_in, *experiment.prepare)
        results = Results.begin(
            experiment,
            machine.describe(house),
            machine.versions(house, experiment),
            machine.configuration(house, experiment),
            now(),
        )
        earlier = Results.read(path)
        if earlier and not earlier.finished and not fresh:
            if changed := results.differs_from(earlier):
                console.print(
                    f"An interrupted run cannot go on, for these are others now: {', '.join(changed)}."
                )
            else:
                results = earlier
                console.print("An interrupted run goes on.")
        runner.run(experiment, results, path, house, tools, console)
    results.finished = now()
    results.write(path)
    console.print(table(results))
    for note in results.noise["notes"]:
        console.print(note)
    return any(cell.problem for cell in results.cells)


def table(results: Results) -> Table:
    """The primary metric of every cell, for the terminal."""
    table = Table(title=results.primary.replace("_", " "))
    keys = list(dict.fromkeys(name for cell in results.cells for name in cell.key))
    for name in [*keys, "median", "lowest", "highest", "factor"]:
        table.add_column(name, justify="right")
    for cell in results.cells:
        if cell.problem:
            figures = ["refused", "", "", ""]
        else:
            factor = results.factor(cell)
            values = [cell.median[results.primary], *cell.spread[results.primary]]
            figures = [figure(value) for value in values] + [figure(factor) if factor else ""]
        table.add_row(*(str(cell.key.get(name, "")) for name in keys), *figures)
    return table


def figure(value: float) -> str:
    """Three digits, and those in front of the point however many."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def report(console: Console) -> None:
    """The page about everything that has been measured so far."""
    console.print(f"The report: {write(RESULTS, LABS).relative_to(REPO)}")


def now() -> str:
    """UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    sys.exit(main())
