"""The tab "Caches" of Locust's web UI: for each path, the tiers that answered; also a CSV download."""

from typing import Any

from locust.env import Environment
from locust.web import WebUI

from caches import counters, table
from caches.backend import backend_poll
from web_ui import tabs


def install(environment: Environment, web_ui: WebUI) -> None:
    def counts() -> table.Counts:
        return table.complete(counters.counts, backend_poll.asked)

    def rows() -> list[dict[str, Any]]:
        return table.rows(counts(), backend_poll.now())

    tabs.add(web_ui, "Caches", table.COLUMNS, rows, lambda: backend_poll.settled)
    tabs.add_download(
        environment, web_ui, "caches/csv", "Download caches CSV", lambda: table.as_csv(counts())
    )
