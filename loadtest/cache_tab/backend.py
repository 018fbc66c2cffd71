"""How hard the theatre server works: asked once a second, while a run is on, through the load port.

Only the load port answers `/.nginx/backend`, with the backend's own metrics. Where nobody answers, the
figures are absent and the reason is there instead; the run goes on.

It counts requests that no visitor hears of, too: a stale copy is refreshed in the background.
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

from cache_tab.metrics import Metrics, rates, read, since

PATH = "/.nginx/backend"
INTERVAL = 1.0  # seconds
PATIENCE = 2.0  # seconds to wait for an answer
BRIEFLY = 0.5  # the same, while everybody waits for the run to begin
SETTLE = 0.5  # seconds after the last visitor, for what was still under way to the backend
# The first and the last two of this run; the rates are those of the last second, and of all of it.
first: Metrics | None = None
before: Metrics | None = None
latest: Metrics | None = None
why_not = "no run yet"
asked: Counter[str] = Counter()  # requests of this run, by the backend's classes of paths
settled = True  # whether `asked` is all there is to say of the run
_known: Mapping[str, float] | None = None  # how many of each class the backend had answered when last asked
_environment: Environment
_watch: "gevent.Greenlet[..., None] | None" = None


def ask(host: str, topology: str, patience: float) -> Metrics:
    """Ask the load port at `host`, an URL, for the topology's backend. OSError, HTTPException, ValueError."""
    address = urlsplit(host)
    # http.client rather than urllib.request, which would ask a proxy if the environment names one.
    connection = http.client.HTTPConnection(address.hostname or "", address.port or 80, timeout=patience)
    try:
        connection.request("GET", PATH, headers={"Host": topology})
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
    finally:
        connection.close()
    if answer.status != 200:
        raise ValueError(f"status {answer.status}")
    return read(text, time.monotonic())


def start(environment: Environment) -> None:
    """A run begins: ask from now on, where somebody will see the answers, in the tab or in the report."""
    global first, before, latest, why_not, settled, _known, _environment, _watch
    if _watch:
        _watch.kill(block=False)
    first = before = latest = _watch = _known = None
    why_not = "not asked yet"
    _environment = environment
    asked.clear()
    seen = environment.web_ui or os.environ.get("LOADTEST_REPORTS")
    if seen and not isinstance(environment.runner, WorkerRunner):
        _look(BRIEFLY)  # before the first visitor comes
        _watch = gevent.spawn(_observe)
        settled = False  # from here on the page may call it a run: it can be stopped


def stop() -> None:
    """The run is over: one more look, and then leave the house in peace."""
    global settled, _watch
    if _watch:
        _watch.kill(block=False)
        _watch = None
        try:
            gevent.sleep(SETTLE)
            _look()
        finally:
            settled = True


def forget() -> None:
    """Somebody wants to see only what comes from now on."""
    if _watch:
        _look()
    asked.clear()


def _observe() -> None:
    while True:
        gevent.sleep(INTERVAL)
        _look()


def _look(patience: float = PATIENCE) -> None:
    global first, before, latest, why_not, _known
    try:
        topology = getattr(_environment.parsed_options, "topology", "upstage.localhost")
        said = ask(_environment.host or "", topology, patience)
    except (OSError, http.client.HTTPException, ValueError) as error:
        before = latest = None
        why_not = str(error) or type(error).__name__
        return
    # Counters that have become smaller are those of a new process.
    restarted = first is None or said.total < first.total or said.cpu < first.cpu
    first, before, latest = said if restarted else first, None if restarted else latest, said
    why_not = "" if before else "one moment"
    asked.update(since(_known, said.requests))
    _known = said.requests


def now() -> str:
    """The last second in words, or why there is nothing to say."""
    if figures := rates(before, latest):
        said = "{requests_per_second:.0f} requests/s, CPU {cpu_percent:.0f} %, {clients:.0f} clients"
        return said.format(**figures)
    return f"no figures: {why_not}"


def summary() -> dict[str, Any]:
    """The whole run, for the report."""
    return rates(first, latest) or {"absent": why_not}
