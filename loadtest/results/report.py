"""The end of a run: the verdict is printed, and written to files.

A run is judged with `--thresholds FILE` (`make load`); Compare and Capacity report what they measured. Both
happen when Locust quits, on the master or in the only process: a worker has only some of the figures. The
exit code of a judged run is raised, never lowered; only crawlers' failures, which Locust's code counts, are
taken out.

`LOADTEST_REPORTS`: a folder for `report.html`, `report.json` and, for several measurements, `compare.csv` and
`compare.svg`.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from locust import log
from locust.env import Environment
from locust.runners import Runner, WorkerRunner
from locust.stats import sort_stats

import own_hosts
from caches import counters
from caches import table as caches_table
from caches.backend import backend_poll
from comparison.recorder import recorder
from comparison.shape import Series
from results import chart, page
from results import table as comparison_table
from verdict import judge, rows, this_run
from verdict.generator import load_of_locust


def register(environment: Environment) -> None:
    """Write the results when Locust quits."""
    environment.events.quitting.add_listener(conclude)


def conclude(environment: Environment, **_: Any) -> None:
    """Print and write the results, and set the exit code."""
    runner, options = environment.runner, environment.parsed_options
    assert options
    if runner is None or isinstance(runner, WorkerRunner):
        return
    if isinstance(environment.shape_class, Series) and options.headless:
        recorder.finish(environment)  # if a signal ends the run
        text = comparison_table.as_text(recorder.measurements, recorder.outcome)
        environment.process_exit_code = 0 if recorder.answered and not log.unhandled_greenlet_exception else 1
        files = several_files(environment)
    elif options.thresholds:
        lines = this_run.verdict(environment)
        text = table(lines, own_hosts.in_words(environment, this_run.picked(environment)))
        if not judge.good(lines):
            environment.process_exit_code = max(1, code_so_far(environment, runner))
        elif crawlers_failed(runner):
            environment.process_exit_code = code_so_far(environment, runner)
        files = {"report.json": as_json(figures(environment, lines))}
    else:
        return
    # This is printed after Locust's own tables, at the end of the output.
    environment.events.quit.add_listener(lambda **_: print(text, flush=True))
    if folder := os.environ.get("LOADTEST_REPORTS"):
        write(files | {"report.html": page.of_run(environment)}, Path(folder))


def code_so_far(environment: Environment, runner: Runner) -> int:
    """Return the exit code that Locust would set, by the conditions of its `main`, but without crawlers'
    failures.
    """
    if environment.process_exit_code is not None:
        return environment.process_exit_code
    if len(runner.errors) > len(crawlers_failed(runner)) or runner.exceptions:
        return int(environment.parsed_options.exit_code_on_error)  # type: ignore[union-attr]
    return 2 if log.unhandled_greenlet_exception else 0


def crawlers_failed(runner: Runner) -> list[str]:
    """Return the failures of crawlers, as keys of Locust's table of failures."""
    return [key for key, error in runner.errors.items() if error.method == rows.CRAWL]


def table(lines: list[judge.Line], hosts: str) -> str:
    """Return the verdict as text: the hosts, a line for each threshold, then the conclusion."""
    rows = [(line.verdict, line.what, line.measured, line.allowed, line.why) for line in lines]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    text = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in rows
    ]
    final = judge.conclusion(lines)
    line = "-" * max(map(len, text))
    return "\n".join(["", "Verdict", line, f"asked: {hosts}", *text, f"{final.verdict}: {final.why}", ""])


def figures(environment: Environment, lines: list[judge.Line]) -> dict[str, Any]:
    """Return the figures of a judged run, for programs."""
    assert environment.runner
    stats = environment.runner.stats
    caches = caches_table.complete(counters.counts, backend_poll.asked)
    return {
        "good": judge.good(lines),
        "verdict": [asdict(line) for line in lines],
        "host": environment.host,
        "hosts": own_hosts.asked(environment, this_run.picked(environment)),
        "started": stats.start_time,  # this and the next value: in seconds since 1970
        "last_sample": stats.last_request_timestamp,
        "generator_cpu_percent": round(load_of_locust.cpu, 1),
        "generator_late_milliseconds": round(load_of_locust.late, 1),
        "backend": backend_poll.summary(),
        "rows": [entry.to_dict() for entry in sort_stats(stats.entries)],
        "failures": [error.serialize() for error in stats.errors.values()],
        "caches": caches_table.records(caches),
    }


def several_files(environment: Environment) -> dict[str, str]:
    """Return the measurements of a run, for programs and as a picture."""
    options = environment.parsed_options
    assert options
    report = {
        "answered": recorder.answered,
        "outcome": recorder.outcome,
        "host": environment.host,
        "stage": options.stage,
        "classes": [user.__name__ for user in this_run.picked(environment)],
        "measurements": [comparison_table.as_json(measured) for measured in recorder.measurements],
    }
    return {
        "report.json": as_json(report),
        "compare.csv": comparison_table.as_csv(recorder.measurements),
        "compare.svg": chart.svg(recorder.measurements),
    }


def as_json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def write(files: dict[str, str], folder: Path) -> None:
    """Write the files; replace those of an earlier run."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
