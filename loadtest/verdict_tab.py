"""The tab "Verdict" in Locust's web UI: what `make load` would say of the run so far."""

from dataclasses import asdict
from typing import Any

from locust import events
from locust.env import Environment

import judge
import report
import tabs

COLUMNS = [
    {"key": "verdict", "title": "Verdict"},
    {"key": "what", "title": "Of"},
    {"key": "measured", "title": "Measured"},
    {"key": "allowed", "title": "Asked"},
    {"key": "why", "title": "Why"},
]


def install(environment: Environment, **_: Any) -> None:
    """Add the tab, where there is a web UI: on the master, or in the one process there is."""

    def rows() -> list[dict[str, Any]]:
        lines = report.verdict(environment)
        return [asdict(line) for line in (judge.conclusion(lines), *lines)]

    if environment.web_ui:
        tabs.add(environment.web_ui, "Verdict", COLUMNS, rows)


events.init.add_listener(install)  # type: ignore[no-untyped-call]
