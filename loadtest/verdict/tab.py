"""The tab "Verdict" of Locust's web UI: the verdict of `make load` on the run so far."""

from dataclasses import asdict
from typing import Any

from locust.env import Environment
from locust.web import WebUI

from verdict import judge, report
from web_ui import tabs

COLUMNS = [
    {"key": "verdict", "title": "Verdict"},
    {"key": "what", "title": "Threshold"},
    {"key": "measured", "title": "Measured"},
    {"key": "allowed", "title": "Required"},
    {"key": "why", "title": "Why"},
]


def install(environment: Environment, web_ui: WebUI) -> None:
    """Add the tab."""

    def rows() -> list[dict[str, Any]]:
        lines = report.verdict(environment)
        return [asdict(line) for line in (judge.conclusion(lines), *lines)]

    tabs.add(web_ui, "Verdict", COLUMNS, rows)
