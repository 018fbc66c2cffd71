"""The run's figures for Prometheus, at /metrics of Locust's page: users, requests, failures, response times.

A run of `make load` is another process, which has no page: it writes its figures to a file, and the page
includes them during the run.

The text is written here, because the official Locust image lacks `prometheus_client`:
https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

import os
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path

import gevent
from flask import Response
from locust.env import Environment
from locust.runners import WorkerRunner
from locust.web import WebUI

QUANTILES = (0.5, 0.95, 0.99)
REPORTS = "/tmp/reports"  # noqa: S108  # the folder of `make load` in this container (bin/lib/containers.sh)
LIVE = Path(os.environ.get("LOADTEST_REPORTS", REPORTS)) / "live.txt"
EVERY = 1.0  # seconds
MAX_ROWS = 200  # rows of Locust's table; your own classes may have a row for each URL


def install(environment: Environment, web_ui: WebUI) -> None:
    """Add the path, for GET alone and without a login: it shows only counts, times, and the names of rows."""
    assert web_ui.app

    assert environment.parsed_options

    # Prometheus finds it at one address, whatever the page's base path is.
    @web_ui.app.route("/metrics", methods=["GET"])
    @web_ui.app.route(f"{environment.parsed_options.web_base_path}/metrics", methods=["GET"])
    def metrics() -> Response:
        return Response(beside() or text(environment), mimetype="text/plain; version=0.0.4")


def publish(environment: Environment) -> None:
    """Write the figures of a run without a page, as long as the run lasts."""
    if environment.web_ui or isinstance(environment.runner, WorkerRunner) or not LIVE.parent.is_dir():
        return
    writer = gevent.spawn(write, environment)

    def end(**_: object) -> None:
        writer.kill()
        LIVE.unlink(missing_ok=True)

    environment.events.quit.add_listener(end)


def write(environment: Environment) -> None:
    """Write the run's figures to LIVE every EVERY seconds; this never returns."""
    part = LIVE.with_suffix(".part")
    while True:
        with suppress(OSError):  # the disk may be full: the run must continue
            part.write_text(text(environment))
            part.replace(LIVE)
        gevent.sleep(EVERY)


def beside() -> str:
    """Return the figures that a run in another process has just written; empty if there are none."""
    try:
        if LIVE.stat().st_mtime > time.time() - 3 * EVERY:
            return LIVE.read_text()
    except FileNotFoundError:
        pass
    return ""


def text(environment: Environment) -> str:
    """Return all present samples. Response times are those of the last ten seconds, as on Locust's page."""
    runner = environment.runner
    assert runner
    lines = [
        f"locust_users {runner.user_count}",
        f"locust_running {int(runner.state in ('spawning', 'running'))}",
    ]
    rows = islice(sorted(runner.stats.entries.items()), MAX_ROWS)
    for (name, method), row in rows:
        labels = f'method="{escape(method)}",name="{escape(name)}"'
        lines.append(f"locust_requests_total{{{labels}}} {row.num_requests}")
        lines.append(f"locust_failures_total{{{labels}}} {row.num_failures}")
        for quantile in QUANTILES:
            milliseconds = row.get_current_response_time_percentile(quantile)
            if milliseconds is not None:
                sample = f'locust_response_seconds{{{labels},quantile="{quantile}"}}'
                lines.append(f"{sample} {milliseconds / 1000}")
    return "\n".join(lines) + "\n"


def escape(value: str) -> str:
    """Return the text, escaped as the value of a label."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
