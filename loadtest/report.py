"""What the judge says of a run; and the end of a judged one, where it is said, and written down.

With `--thresholds FILE` (`make load` gives it) the run is judged when Locust quits, on the master or in the
one process there is; workers have only a part of the figures. The exit code is only ever raised.

`LOADTEST_REPORTS`: a folder for `report.html`, Locust's own, and `report.json`, ours.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from locust import events, log
from locust.env import Environment
from locust.html import get_html_report
from locust.runners import MasterRunner, Runner, WorkerRunner
from locust.stats import sort_stats

import generator
import judge
import thresholds
from cache_tab import backend
from visitors import outcomes


def conclude(environment: Environment, **_: Any) -> None:
    """Locust quits: judge, print, write, raise the exit code."""
    runner = environment.runner
    judged = environment.parsed_options.thresholds  # type: ignore[union-attr]
    if runner is None or isinstance(runner, WorkerRunner) or not judged:
        return
    lines = verdict(environment)
    # Behind Locust's own tables, where whoever comes back to the screen looks first.
    events.quit.add_listener(lambda **_: print(table(lines), flush=True))  # type: ignore[no-untyped-call]
    if not judge.good(lines):
        environment.process_exit_code = max(1, code_so_far(environment, runner))
    if folder := os.environ.get("LOADTEST_REPORTS"):
        write(environment, lines, Path(folder))


def verdict(environment: Environment) -> list[judge.Line]:
    """What the judge says of the run so far."""
    assert environment.runner
    assert environment.parsed_options
    return judge.judge(measured(environment.runner), thresholds.asked(environment.parsed_options))


def measured(runner: Runner) -> judge.Run:
    """The run as the judge sees it."""
    return judge.Run(
        rows=[
            judge.Row(
                entry.method or "", entry.name, entry.num_requests, entry.num_failures, entry.response_times
            )
            for entry in sort_stats(runner.stats.entries)
        ],
        caches=dict(outcomes.counts),
        exceptions=sum(exception["count"] for exception in runner.exceptions.values()),
        generator_cpu=generator.cpu,
        generator_late=generator.late,
        generator_warned=runner.cpu_warning_emitted or runner.worker_cpu_warning_emitted,
        lost=len(runner.clients.missing) if isinstance(runner, MasterRunner) else 0,
    )


def code_so_far(environment: Environment, runner: Runner) -> int:
    """The exit code with which Locust would end without us; it asks the same questions in its `main`."""
    if environment.process_exit_code is not None:
        return environment.process_exit_code
    if runner.errors or runner.exceptions:
        return int(environment.parsed_options.exit_code_on_error)  # type: ignore[union-attr]
    return 2 if log.unhandled_greenlet_exception else 0


def table(lines: list[judge.Line]) -> str:
    """The verdict as text: a line for each question, then the answer to all of them."""
    rows = [(line.verdict, line.what, line.measured, line.allowed, line.why) for line in lines]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    text = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in rows
    ]
    final = judge.conclusion(lines)
    return "\n".join(["", "Verdict", "-" * max(map(len, text)), *text, f"{final.verdict}: {final.why}", ""])


def write(environment: Environment, lines: list[judge.Line], folder: Path) -> None:
    """Locust's page and our figures, for whoever was not there; in place of those of an earlier run."""
    assert environment.runner
    stats = environment.runner.stats
    page = get_html_report(environment, show_download_link=False)  # type: ignore[no-untyped-call]
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
            for (row, tier, outcome), count in sorted(outcomes.counts.items())
        ],
    }
    (folder / "report.json").write_text(json.dumps(report, indent=2) + "\n", "utf-8")


events.quitting.add_listener(conclude)  # type: ignore[no-untyped-call]
