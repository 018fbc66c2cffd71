"""The HTML report: Locust's report, with this project's part above it."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from flask import Flask, Response, request
from locust.env import Environment
from locust.html import get_html_report
from locust.web import WebUI

import own_hosts
from caches import counters, table
from caches.backend import backend_poll
from comparison.recorder import recorder
from results import chart, verdict_tab
from results import table as comparison_table
from shapes import Shape
from verdict import judge, this_run

ROOT = '<div id="root"></div>'  # where Locust's part begins
# Flask's Jinja2 escapes the values it inserts; a run without the web UI has no Flask of its own.
templates = Flask(__name__, template_folder=str(Path(__file__).parent)).jinja_env


def install(environment: Environment, web_ui: WebUI) -> None:
    """Extend the report that the page offers, too."""
    assert web_ui.app

    @web_ui.app.after_request
    def extend(response: Response) -> Response:
        if request.endpoint == "locust.stats_report" and response.status_code == 200:
            response.set_data(with_our_part(environment, response.get_data(as_text=True)))
        return response


def of_run(environment: Environment) -> str:
    return with_our_part(environment, get_html_report(environment, show_download_link=False))


def with_our_part(environment: Environment, page: str) -> str:
    """Return Locust's report with this project's part."""
    template = templates.get_template("page.html")
    ours = comparison(environment) if recorder.measurements else run(environment)
    shared = {
        "settings": settings(environment),
        "verdict_columns": verdict_tab.COLUMNS,
        "cache_columns": table.COLUMNS,
    }
    return page.replace(ROOT, template.render(**shared, **ours) + ROOT, 1)


def settings(environment: Environment) -> str:
    """Return a description of the run in one line."""
    given = environment.parsed_options
    assert given
    classes = ", ".join(sorted(user.__name__ for user in this_run.picked(environment)))
    shape = environment.shape_class
    hosts = own_hosts.in_words(environment, this_run.picked(environment))
    users = shape.most if isinstance(shape, Shape) else given.num_users  # in the form, 0 means the default
    load = f"{users} users ({classes})"
    if given.arrivals:
        both = f"{users} users, then " if recorder.measurements else ""
        load = f"{both}{given.arrivals:g} visits per second"
    if given.crawl:
        load += f", beside {given.crawl:g} requests per second of crawlers,"
    return f"{load} on the stage {given.stage} of {hosts}"


def run(environment: Environment) -> dict[str, Any]:
    """Return the verdict and the caches' counts of one run."""
    lines = this_run.verdict(environment)
    counts = table.complete(counters.counts, backend_poll.asked)
    return {
        "verdict": judge.conclusion(lines),
        "lines": map(asdict, lines),
        "caches": table.rows(counts),
    }


def comparison(environment: Environment) -> dict[str, Any]:
    """Return all measurements of a run, side by side and one by one."""
    shape = type(environment.shape_class).__name__ if environment.shape_class else "Comparison"
    return {
        "title": shape,
        "svg": chart.svg(recorder.measurements),
        "columns": comparison_table.COLUMNS,
        "rows": map(comparison_table.row, recorder.measurements),
        "outcome": recorder.outcome,
        "measurements": [
            {
                "name": measured.name,
                "load": measured.load,
                "verdict": measured.conclusion.verdict,
                "reason": measured.reason,
                "lines": map(asdict, measured.lines),
                "caches": table.rows(measured.caches),
            }
            for measured in recorder.measurements
        ],
    }
