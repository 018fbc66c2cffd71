"""The tab Compare of Locust's web UI: the measurements as a table, below a picture, and as downloads."""

import json
from typing import Any

from locust.env import Environment
from locust.web import WebUI

from comparison.measurement import Measurement
from comparison.recorder import recorder
from results import chart, table
from web_ui import tabs

UNDER_WAY = "measuring …"


def install(environment: Environment, web_ui: WebUI) -> None:
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

    def picture() -> dict[str, str]:
        text = [recorder.outcome, *table.reasons(recorder.measurements)]
        return {"svg": chart.svg(measurements()), "text": "\n".join(text).strip()}

    def as_csv() -> str:
        return table.as_csv(recorder.measurements)

    def as_json() -> str:
        return json.dumps([table.as_json(measured) for measured in recorder.measurements], indent=2)

    tabs.add_route(environment, web_ui, "compare/picture", picture)
    tabs.add_download(environment, web_ui, "compare/csv", "Download measurements CSV", as_csv)
    tabs.add_download(environment, web_ui, "compare/json", "Download measurements JSON", as_json)
