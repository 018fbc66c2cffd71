"""The verdict at the end of a run with `--thresholds FILE` (`make load`): printed, and written to files.

The run is judged when Locust quits, on the master or in the only process; a worker has a part of the figures
only. The exit code is raised, never lowered.

`LOADTEST_REPORTS`: a folder for `report.html`, Locust's own, and `report.json`, ours.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from locust import log
from locust.env import Environment
from locust.html import get_html_report
from locust.runners import MasterRunner, Runner, WorkerRunner
from locust.stats import sort_stats

from caches import counters
from caches.backend import watch as backend
from verdict import judge, thresholds
from verdict.generator import watch as generator


def register(environment: Environment) -> None:
    """Judge the run when Locust quits."""
    environment.events.quitting.add_listener(conclude)


def conclude(environment: Environment, **_: Any) -> None:
    """Judge, print, write, raise the exit code."""
    runner = environment.runner
    asked = environment.parsed_options.thresholds  # type: ignore[union-attr]
    if runner is None or isinstance(runner, WorkerRunner) or not asked:
        return
    lines = verdict(environment)
    # After Locust's own tables, at the end of the output.
    environment.events.quit.add_listener(lambda **_: print(table(lines), flush=True))
    if not judge.good(lines):
        environment.process_exit_code = max(1, code_so_far(environment, runner))
    if folder := os.environ.get("LOADTEST_REPORTS"):
        write(environment, lines, Path(folder))


def verdict(environment: Environment) -> list[judge.Line]:
    """The verdict on the run so far."""
    assert environment.runner
    assert environment.parsed_options
    return judge.judge(measured(environment.runner), thresholds.of(environment.parsed_options))


def measured(runner: Runner) -> judge.Run:
    """The measurements of the run, for the judge."""
    return judge.Run(
        rows=[
            judge.Row(
                entry.method or "", entry.name, entry.num_requests, entry.num_failures, entry.response_times
            )
            for entry in sort_stats(runner.stats.entries)
        ],
        caches=dict(counters.counts),
        exceptions=sum(exception["count"] for exception in runner.exceptions.values()),
        generator_cpu=generator.cpu,
        generator_late=generator.late,
        generator_warned=runner.cpu_warning_emitted or runner.worker_cpu_warning_emitted,
        lost=len(runner.clients.missing) if isinstance(runner, MasterRunner) else 0,
    )


def code_so_far(environment: Environment, runner: Runner) -> int:
    """The exit code of Locust without us, by the same conditions as in its `main`."""
    if environment.process_exit_code is not None:
        return environment.process_exit_code
    if runner.errors or runner.exceptions:
        return int(environment.parsed_options.exit_code_on_error)  # type: ignore[union-attr]
    return 2 if log.unhandled_greenlet_exception else 0


def table(lines: list[judge.Line]) -> str:
    """The verdict as text: a line for each threshold, then the conclusion."""
    rows = [(line.verdict, line.what, line.measured, line.allowed, line.why) for line in lines]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    text = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in rows
    ]
    final = judge.conclusion(lines)
    return "\n".join(["", "Verdict", "-" * max(map(len, text)), *text, f"{final.verdict}: {final.why}", ""])


def write(environment: Environment, lines: list[judge.Line], folder: Path) -> None:
    """Write Locust's page and our figures, replacing those of an earlier run."""
    assert environment.runner
    stats = environment.runner.stats
    page = get_html_report(environment, show_download_link=False)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.html").write_text(page, "utf-8")
    report = {
        "good": judge.good(lines),
        "verdict": [asdict(line) for line in lines],
        "host": environment.host,
        "started": stats.start_time,  # seconds since 1970, as the next one
        "last_sample": stats.last_request_timestamp,
        "generator_cpu_percent": round(generator.cpu, 1),
        "generator_late_milliseconds": round(generator.late, 1),
        "backend": backend.summary(),
        "rows": [entry.to_dict() for entry in sort_stats(stats.entries)],
        "failures": [error.serialize() for error in stats.errors.values()],
        "caches": [
            {"row": row, "tier": tier, "outcome": outcome, "answers": count}
            for (row, tier, outcome), count in sorted(counters.counts.items())
        ],
    }
    (folder / "report.json").write_text(json.dumps(report, indent=2) + "\n", "utf-8")
