"""Additional tabs for Locust's web UI, through its extension points.

A tab with a table is declared in the page's arguments; its rows are added to the polled statistics.
https://docs.locust.io/en/stable/extending-locust.html
"""

from collections.abc import Callable
from typing import Any

from flask import Response, jsonify, make_response, request
from flask.typing import ResponseReturnValue
from locust.env import Environment
from locust.runners import STATE_CLEANUP, STATE_RUNNING, STATE_STOPPING
from locust.web import WebUI

Rows = Callable[[], list[dict[str, Any]]]

# The page polls only while a run is under way. It would take these states for the end of the run and show
# them forever, so it is told "running" until the run has ended.
NOT_YET_OVER = (STATE_CLEANUP, STATE_STOPPING)


def add(
    web_ui: WebUI,
    title: str,
    columns: list[dict[str, str]],
    rows: Rows,
    settled: Callable[[], bool] = lambda: True,
) -> None:
    """Add a tab with one table. `rows` is called at each poll; the page polls until `settled` returns True.

    Locust sorts a table by its column `name`, if there is one.
    """
    assert web_ui.app
    key = title.lower()
    web_ui.template_args.setdefault("extended_tabs", []).append({"title": title, "key": key})
    web_ui.template_args.setdefault("extended_tables", []).append({"key": key, "structure": columns})

    @web_ui.app.after_request
    def add_rows(response: Response) -> Response:
        # If a login is required, the response may be a redirect to the login page.
        if request.endpoint != "locust.request_stats" or not response.is_json:
            return response
        stats = response.get_json()
        tables = [*stats.get("extended_stats", []), {"key": key, "data": rows()}]
        over = stats["state"] not in NOT_YET_OVER and settled()
        state = stats["state"] if over else STATE_RUNNING
        return jsonify({**stats, "state": state, "extended_stats": tables})


def add_download(
    environment: Environment, web_ui: WebUI, path: str, title: str, text: Callable[[], str]
) -> None:
    """Add a link to the tab "Download Data"; `path` ends in the file's type, as in `caches/csv`."""
    web_ui.template_args.setdefault("extended_csv_files", []).append({"href": f"./{path}", "title": title})
    name, _, kind = path.partition("/")

    def download() -> Response:
        response = make_response(text())
        response.headers["Content-Type"] = {"csv": "text/csv", "json": "application/json"}[kind]
        response.headers["Content-Disposition"] = f"attachment;filename={name}.{kind}"
        return response

    add_route(environment, web_ui, path, download)


def add_route(
    environment: Environment, web_ui: WebUI, path: str, respond: Callable[[], ResponseReturnValue]
) -> None:
    """Add a URL below the web UI's own, behind its login if there is one."""
    assert environment.parsed_options
    assert web_ui.app
    base: str = environment.parsed_options.web_base_path
    web_ui.app.add_url_rule(f"{base}/{path}", path, web_ui.auth_required_if_enabled(respond))
