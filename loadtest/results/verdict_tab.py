"""The tab "Verdict" of Locust's web UI: the run so far, judged as by `make load`."""

from dataclasses import asdict, replace
from typing import Any

from locust.env import Environment
from locust.web import WebUI

from comparison.measurement import Measurement
from comparison.recorder import recorder
from verdict import judge, this_run
from web_ui import tabs

COLUMNS = [
    {"key": "verdict", "title": "Verdict"},
    {"key": "what", "title": "Threshold"},
    {"key": "measured", "title": "Measured"},
    {"key": "allowed", "title": "Required"},
    {"key": "why", "title": "Why"},
]


def install(environment: Environment, web_ui: WebUI) -> None:

    def rows() -> list[dict[str, Any]]:
        if recorder.measurements:
            return [asdict(line) for measured in recorder.measurements for line in short(measured)]
        lines = this_run.verdict(environment)
        return [asdict(line) for line in (judge.conclusion(lines), *lines)]

    tabs.add(web_ui, "Verdict", COLUMNS, rows)


def short(measured: Measurement) -> list[judge.Line]:
    """Return the verdict on one of several measurements: its conclusion, and the lines that are not met."""
    title = f"{measured.name}, {measured.load}"
    return [replace(measured.conclusion, what=title), *judge.faults(measured.lines)]
