"""The tab Compare of Locust's web UI: the measurements as a table, as a picture above it, as downloads."""

import json
from typing import Any

from flask import Blueprint, Response
from locust.env import Environment
from locust.web import WebUI

from comparison.measurement import Measurement
from comparison.recorder import recorder
from results import chart, table
from web_ui import tabs

UNDER_WAY = "measuring …"


def install(environment: Environment, web_ui: WebUI) -> None:
    assert environment.parsed_options
    assert web_ui.app

    def measurements() -> list[Measurement]:
        current = recorder.so_far(environment)
        return [*recorder.measurements, *([current] if current else [])]

    def rows() -> list[dict[str, Any]]:
        done = len(recorder.measurements)
        return [
            table.row(measured, UNDER_WAY if number == done else "")
            for number, measured in enumerate(measurements())
        ]

    tabs.add(web_ui, "Compare", table.COLUMNS, rows)
    tabs.add_download(web_ui, "compare/csv", "Download measurements CSV")
    tabs.add_download(web_ui, "compare/json", "Download measurements JSON")
    blueprint = Blueprint("compare", __name__, url_prefix=environment.parsed_options.web_base_path)

    @blueprint.route("/compare/picture")
    @web_ui.auth_required_if_enabled
    def picture() -> dict[str, str]:
        text = [recorder.outcome, *table.reasons(recorder.measurements)]
        return {"svg": chart.svg(measurements()), "text": "\n".join(text).strip()}

    @blueprint.route("/compare/csv")
    @web_ui.auth_required_if_enabled
    def as_csv() -> Response:
        return tabs.download(table.as_csv(recorder.measurements), "text/csv", "compare.csv")

    @blueprint.route("/compare/json")
    @web_ui.auth_required_if_enabled
    def as_json() -> Response:
        records = [table.as_json(measured) for measured in recorder.measurements]
        return tabs.download(json.dumps(records, indent=2), "application/json", "compare.json")

    web_ui.app.register_blueprint(blueprint)
