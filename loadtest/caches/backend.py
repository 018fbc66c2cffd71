"""The backend's own metrics, requested once a second during a run, through the load port.

Only the load port serves `/.nginx/backend`. Without it there are no figures, and the run continues.

The backend also counts requests that no user sees: Varnish refreshes a stale copy in the background.
"""

import http.client
import os
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import gevent
from locust.env import Environment
from locust.runners import WorkerRunner

import topologies
from caches.metrics import Metrics, rates, read, since

PATH = "/.nginx/backend"
INTERVAL = 1.0  # seconds
TIMEOUT = 2.0  # seconds
FIRST_TIMEOUT = 0.5  # seconds, for the request before the first user starts
SETTLE = 0.5  # seconds after the last user stopped, for requests that are still on their way to the backend


class BackendPoll:
    """The backend's reports about the current run.

    `asked`: this run's requests by the backend's classes of paths. `settled`: no further report will come.
    """

    def __init__(self) -> None:
        self._greenlet: gevent.Greenlet[..., None] | None = None
        self.clear()

    def clear(self, reason: str = "no run yet") -> None:
        self.asked: Counter[str] = Counter()
        self.settled = True
        self.reason = reason  # why there are no figures
        self._first: Metrics | None = None
        self._previous: Metrics | None = None
        self._latest: Metrics | None = None
        self._known: Mapping[str, float] | None = None  # the requests of each class at the latest report

    def start(self, environment: Environment) -> None:
        """Watch the backend if a tab, a report or a shape shows it; for a worker, its master does so."""
        self._kill()
        self.clear("not requested yet")
        self._environment = environment
        shown = environment.web_ui or environment.shape_class or os.environ.get("LOADTEST_REPORTS")
        if shown and not isinstance(environment.runner, WorkerRunner):
            self.look(FIRST_TIMEOUT)  # before the first user starts
            self._greenlet = gevent.spawn(self._observe)
            self.settled = False

    def stop(self) -> None:
        """Request the metrics once more at the end of a run in which they are watched."""
        if self._kill():
            try:
                gevent.sleep(SETTLE)
                self.look()
            finally:
                self.settled = True

    def forget(self) -> None:
        """Count from now on."""
        if self._greenlet:
            self.look()
        self.asked.clear()
        self._first = self._latest

    def now(self) -> str:
        """Return the figures of the last second as text, or the reason why there are none."""
        if figures := rates(self._previous, self._latest):
            words = "{requests_per_second:.0f} requests/s, CPU {cpu_percent:.0f}%, {clients:.0f} clients"
            return words.format(**figures)
        return f"no figures: {self.reason}"

    def summary(self) -> dict[str, Any]:
        """Return the figures of the run, or of its part since the last reset."""
        return rates(self._first, self._latest) or {"absent": self.reason}

    def _kill(self) -> bool:
        greenlet, self._greenlet = self._greenlet, None
        if greenlet:
            greenlet.kill(block=False)
        return greenlet is not None

    def _observe(self) -> None:
        while True:
            gevent.sleep(INTERVAL)
            self.look()

    def look(self, timeout: float = TIMEOUT) -> None:
        """Request the metrics now, and add what is new to `asked`; if that fails, note the reason."""
        try:
            assert self._environment.parsed_options
            host = topologies.metrics_host(self._environment.parsed_options.topology)
            if host is None:
                raise ValueError("an application of your own has no metrics that we know")
            latest = request(self._environment.host or "", host, timeout)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._previous = self._latest = None
            self.reason = str(error) or type(error).__name__
            return
        # If the counters are smaller, the backend has restarted.
        restarted = self._first is None or latest.total < self._first.total or latest.cpu < self._first.cpu
        self._previous = None if restarted else self._latest
        self._first = latest if restarted else self._first
        self._latest = latest
        self.reason = "" if self._previous else "waiting for the second report"
        self.asked.update(since(self._known, latest.requests))
        self._known = latest.requests


backend_poll = BackendPoll()


def request(url: str, host: str, timeout: float) -> Metrics:
    """Return the metrics of a host name's backend; `url` is the URL of the load port.

    Raise OSError, HTTPException or ValueError if there are none.
    """
    address = urlsplit(url)
    # http.client, because urllib.request would use a proxy if the environment names one.
    connection = http.client.HTTPConnection(address.hostname or "", address.port or 80, timeout=timeout)
    try:
        connection.request("GET", PATH, headers={"Host": host})
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
    finally:
        connection.close()
    if response.status != 200:
        raise ValueError(f"status {response.status}")
    return read(text, time.monotonic())
