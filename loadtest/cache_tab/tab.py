"""The tab "Caches" in Locust's own web UI: who answered, by path and by tier.

A tab of ours (`tabs.py`), and a file among the page's downloads.
"""

from typing import Any

from flask import Blueprint, Response, make_response
from locust import events
from locust.env import Environment

import tabs
from cache_tab import backend, table
from visitors import outcomes


def install(environment: Environment, **_: Any) -> None:
    """Add the tab, where there is a web UI: on the master, or in the one process there is."""
    web_ui = environment.web_ui
    if not web_ui:
        return
    assert web_ui.app
    base = environment.parsed_options.web_base_path  # type: ignore[union-attr]

    def rows() -> list[dict[str, Any]]:
        return table.rows(table.complete(outcomes.counts, backend.asked), backend.now())

    tabs.add(web_ui, "Caches", table.COLUMNS, rows, lambda: backend.settled)
    web_ui.template_args["extended_csv_files"] = [{"href": "./caches/csv", "title": "Download caches CSV"}]
    blueprint = Blueprint("caches", __name__, url_prefix=base)

    @blueprint.route("/caches/csv")
    @web_ui.auth_required_if_enabled  # type: ignore[untyped-decorator]
    def download() -> Response:
        response = make_response(table.as_csv(table.complete(outcomes.counts, backend.asked)))
        response.headers["Content-Type"] = "text/csv"
        response.headers["Content-Disposition"] = "attachment;filename=caches.csv"
        return response

    web_ui.app.register_blueprint(blueprint)


def run_starts(environment: Environment, **_: Any) -> None:
    """A new run: what was counted before goes first, for to ask the backend takes a moment."""
    outcomes.forget()
    backend.start(environment)


def run_ends(**_: Any) -> None:
    """The last visitor has gone."""
    backend.stop()


def counts_anew(**_: Any) -> None:
    """Somebody wants to see only what comes from now on."""
    outcomes.forget()
    backend.forget()


def worker_reports(data: dict[str, Any], **_: Any) -> None:
    """On a worker: what is sent to the master."""
    outcomes.hand_over(data)


def master_hears(data: dict[str, Any], **_: Any) -> None:
    """On the master: what a worker has sent."""
    outcomes.take_over(data)


events.init.add_listener(install)  # type: ignore[no-untyped-call]
events.test_start.add_listener(run_starts)  # type: ignore[no-untyped-call]
events.test_stop.add_listener(run_ends)  # type: ignore[no-untyped-call]
events.reset_stats.add_listener(counts_anew)  # type: ignore[no-untyped-call]
events.report_to_master.add_listener(worker_reports)  # type: ignore[no-untyped-call]
events.worker_report.add_listener(master_hears)  # type: ignore[no-untyped-call]
