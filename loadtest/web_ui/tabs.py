"""Additional tabs in Locust's web UI, through its extension points.

A tab with a table is declared in the page's arguments; its rows are added to the statistics the page polls.
https://docs.locust.io/en/stable/extending-locust.html
"""

from collections.abc import Callable
from typing import Any

from flask import Response, jsonify, make_response, request
from locust.runners import STATE_CLEANUP, STATE_RUNNING, STATE_STOPPING
from locust.web import WebUI

Rows = Callable[[], list[dict[str, Any]]]

# The page polls only while a run is on. It takes these states for its end and would show them forever, so it
# is told "running" until the run has ended.
NOT_YET_OVER = (STATE_CLEANUP, STATE_STOPPING)


def add(
    web_ui: WebUI,
    title: str,
    columns: list[dict[str, str]],
    rows: Rows,
    settled: Callable[[], bool] = lambda: True,
) -> None:
    """Add a tab with one table. `rows` is called at each poll; the page polls until they are `settled`.

    Locust sorts a table by its column `name`, if there is one.
    """
    assert web_ui.app
    key = title.lower()
    web_ui.template_args.setdefault("extended_tabs", []).append({"title": title, "key": key})
    web_ui.template_args.setdefault("extended_tables", []).append({"key": key, "structure": columns})

    @web_ui.app.after_request
    def add_rows(response: Response) -> Response:
        # With a web login the response may be a redirect to the login page.
        if request.endpoint != "locust.request_stats" or not response.is_json:
            return response
        stats = response.get_json()
        tables = [*stats.get("extended_stats", []), {"key": key, "data": rows()}]
        over = stats["state"] not in NOT_YET_OVER and settled()
        state = stats["state"] if over else STATE_RUNNING
        return jsonify({**stats, "state": state, "extended_stats": tables})


def add_download(web_ui: WebUI, path: str, title: str) -> None:
    """Add a link to the tab "Download Data"."""
    web_ui.template_args.setdefault("extended_csv_files", []).append({"href": f"./{path}", "title": title})


def download(text: str, content_type: str, name: str) -> Response:
    response = make_response(text)
    response.headers["Content-Type"] = content_type
    response.headers["Content-Disposition"] = f"attachment;filename={name}"
    return response
