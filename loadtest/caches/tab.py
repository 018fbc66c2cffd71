"""The tab "Caches" of Locust's web UI: which tier answered, by path; and its CSV file among the downloads."""

from typing import Any

from flask import Blueprint, Response
from locust.env import Environment
from locust.web import WebUI

from caches import counters, table
from caches.backend import backend_poll
from web_ui import tabs


def install(environment: Environment, web_ui: WebUI) -> None:
    assert environment.parsed_options
    assert web_ui.app

    def counts() -> table.Counts:
        return table.complete(counters.counts, backend_poll.asked)

    def rows() -> list[dict[str, Any]]:
        return table.rows(counts(), backend_poll.now())

    tabs.add(web_ui, "Caches", table.COLUMNS, rows, lambda: backend_poll.settled)
    tabs.add_download(web_ui, "caches/csv", "Download caches CSV")
    blueprint = Blueprint("caches", __name__, url_prefix=environment.parsed_options.web_base_path)

    @blueprint.route("/caches/csv")
    @web_ui.auth_required_if_enabled
    def download() -> Response:
        return tabs.download(table.as_csv(counts()), "text/csv", "caches.csv")

    web_ui.app.register_blueprint(blueprint)
