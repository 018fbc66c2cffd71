"""nginx's connections, from its page `stub_status`.

A separate thread requests the page: while nginx is down, looking up its name may take longer than Prometheus
waits for a scrape.
https://nginx.org/en/docs/http/ngx_http_stub_status_module.html
"""

import re
import time
from urllib.request import urlopen

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

PAGE = re.compile(
    r"Active connections: (\d+) \nserver accepts handled requests\n (\d+) (\d+) \d+ \n"
    r"Reading: (\d+) Writing: (\d+) Waiting: (\d+) \n"
)
INTERVAL = 2.0  # seconds, as between two scrapes
OLD = 3 * INTERVAL


class Connections:
    """The page at `url`, as nginx last returned it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._page = ""
        self._at = float("-inf")

    def poll(self) -> None:
        """Request the page again and again, forever."""
        while True:
            self.ask()
            time.sleep(INTERVAL)

    def ask(self) -> None:
        """Request the page once; if there is no response, keep the last page, which becomes too old."""
        try:
            with urlopen(self._url, timeout=INTERVAL) as response:  # noqa: S310  # a setting
                self._page, self._at = response.read(1000).decode("latin-1"), time.monotonic()
        except (OSError, ValueError):
            pass  # `read` reports the old page

    def read(self) -> list[Metric]:
        """Return the connections now. Raise OSError without a recent page, ValueError for any other page."""
        if time.monotonic() - self._at > OLD:
            raise OSError(f"{self._url} does not answer")
        page = PAGE.fullmatch(self._page)
        if not page:
            raise ValueError(f"{self._url} has another page: {self._page[:80]!r}")
        active, accepted, handled, reading, writing, waiting = map(int, page.groups())
        return [
            GaugeMetricFamily("nginx_connections_active", "Open, the waiting ones included", active),
            GaugeMetricFamily("nginx_connections_reading", "nginx reads a request's head", reading),
            GaugeMetricFamily("nginx_connections_writing", "nginx works on a request", writing),
            GaugeMetricFamily("nginx_connections_waiting", "Idle, kept for the next request", waiting),
            CounterMetricFamily("nginx_connections_accepted", "Accepted since the start", accepted),
            CounterMetricFamily("nginx_connections_handled", "Accepted and not dropped at a limit", handled),
        ]
