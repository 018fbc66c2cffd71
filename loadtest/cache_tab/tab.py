"""The tab "Caches" in Locust's own web UI: who answered, by path and by tier.

The page is Locust's; what is ours goes through its extension points: a tab with a table in the page's
arguments, the table's rows in the answer that the page polls, a file among its downloads.
"""

from typing import Any

from flask import Blueprint, Response, jsonify, make_response, request
from locust import events
from locust.env import Environment

from cache_tab import backend, table
from visitors import outcomes

KEY = "caches"


def install(environment: Environment, **_: Any) -> None:
    """Add the tab, where there is a web UI: on the master, or in the one process there is."""
    web_ui = environment.web_ui
    if not web_ui:
        return
    assert web_ui.app
    base = environment.parsed_options.web_base_path  # type: ignore[union-attr]
    web_ui.template_args |= {
        "extended_tabs": [{"title": "Caches", "key": KEY}],
        "extended_tables": [{"key": KEY, "structure": table.COLUMNS}],
        "extended_csv_files": [{"href": "./caches/csv", "title": "Download caches CSV"}],
    }
    blueprint = Blueprint("caches", __name__, url_prefix=base)

    @blueprint.route("/caches/csv")
    @web_ui.auth_required_if_enabled  # type: ignore[untyped-decorator]
    def download() -> Response:
        response = make_response(table.as_csv(outcomes.counts))
        response.headers["Content-Type"] = "text/csv"
        response.headers["Content-Disposition"] = "attachment;filename=caches.csv"
        return response

    @web_ui.app.after_request
    def add_rows(response: Response) -> Response:
        # With a web login the answer may be a way to the login page instead.
        if request.endpoint != "locust.request_stats" or not response.is_json:
            return response
        rows = table.rows(outcomes.counts, backend.now())
        return jsonify({**response.get_json(), "extended_stats": [{"key": KEY, "data": rows}]})

    web_ui.app.register_blueprint(blueprint)


def run_starts(**_: Any) -> None:
    """A new run, or somebody wants to see only what comes from now on."""
    outcomes.forget()


def worker_reports(data: dict[str, Any], **_: Any) -> None:
    """On a worker: what is sent to the master."""
    outcomes.hand_over(data)


def master_hears(data: dict[str, Any], **_: Any) -> None:
    """On the master: what a worker has sent."""
    outcomes.take_over(data)


events.init.add_listener(install)  # type: ignore[no-untyped-call]
events.test_start.add_listener(run_starts)  # type: ignore[no-untyped-call]
events.reset_stats.add_listener(run_starts)  # type: ignore[no-untyped-call]
events.report_to_master.add_listener(worker_reports)  # type: ignore[no-untyped-call]
events.worker_report.add_listener(master_hears)  # type: ignore[no-untyped-call]
