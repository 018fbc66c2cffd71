"""Tabs of our own in Locust's web UI.

The page is Locust's; what is ours goes through its extension points: a tab with a table in the page's
arguments, and the table's rows in the answer that the page polls.
"""

from collections.abc import Callable
from typing import Any

from flask import Response, jsonify, request
from locust.runners import STATE_CLEANUP, STATE_RUNNING, STATE_STOPPING
from locust.web import WebUI

Rows = Callable[[], list[dict[str, Any]]]

# The page asks again only while it hears of a run. Told one of these once, it would stand still there: a run
# that is being stopped is still one, and at the next question it is over.
NOT_YET_OVER = (STATE_CLEANUP, STATE_STOPPING)


def add(
    web_ui: WebUI,
    title: str,
    columns: list[dict[str, str]],
    rows: Rows,
    settled: Callable[[], bool] = lambda: True,
) -> None:
    """One more tab with one table; `rows` is asked each time the page asks, until they are `settled`.

    Locust sorts a table by its column `name`, if it has one.
    """
    assert web_ui.app
    key = title.lower()
    web_ui.template_args.setdefault("extended_tabs", []).append({"title": title, "key": key})
    web_ui.template_args.setdefault("extended_tables", []).append({"key": key, "structure": columns})

    @web_ui.app.after_request
    def add_rows(response: Response) -> Response:
        # With a web login the answer may be a way to the login page instead.
        if request.endpoint != "locust.request_stats" or not response.is_json:
            return response
        stats = response.get_json()
        tables = [*stats.get("extended_stats", []), {"key": key, "data": rows()}]
        over = stats["state"] not in NOT_YET_OVER and settled()
        state = stats["state"] if over else STATE_RUNNING
        return jsonify({**stats, "state": state, "extended_stats": tables})
