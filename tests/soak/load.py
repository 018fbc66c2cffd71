"""The load of a run: Locust's users, started on its page as by hand, so that they can be watched there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import requests

PATIENCE = 10.0  # seconds
# Fields of the page's form: ordinary visits of the stage that is there for load tests. A file that has to be
# fetched again after its twelve hours in Varnish is no failure.
FORM = {
    "topology": "upstage.localhost",
    "stage": "load",
    "audience": "reloads",
    "misses": "count",
    "chat_rate": 2,
}
# The kinds of requests whose times are recorded: the name here -> type and name of Locust's row.
ROWS = {
    "page": ("GET", "/stages/load"),
    "picture": ("GET", "/media/*.svg"),
    "join": ("stage", "join"),
    "line heard": ("stage", "heard"),
    "line heard, WebSocket": ("ws", "heard"),
}
QUANTILES = {"p50": "0.5", "p95": "0.95"}

SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.M)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Figures:
    """Locust's figures at a moment: counts since the start of the run, and times of the last ten seconds."""

    users: int
    running: bool
    requests: int
    failures: int
    times: Mapping[str, Mapping[str, float]]  # p50, p95: kind of request -> milliseconds


def parse(text: str) -> Figures:
    """The figures in a response of /metrics (loadtest/web_ui/metrics.py)."""
    totals = {"locust_users": 0.0, "locust_running": 0.0}
    totals |= {"locust_requests_total": 0.0, "locust_failures_total": 0.0}
    times: dict[str, dict[str, float]] = {quantile: {} for quantile in QUANTILES}
    known = {
        (*row, number): (quantile, kind)
        for kind, row in ROWS.items()
        for quantile, number in QUANTILES.items()
    }
    for name, labels, value in SAMPLE.findall(text):
        has = dict(LABEL.findall(labels))
        if name in totals:
            totals[name] += float(value)
        elif place := known.get((has.get("method", ""), has.get("name", ""), has.get("quantile", ""))):
            quantile, kind = place
            times[quantile][kind] = float(value) * 1000
    return Figures(
        users=int(totals["locust_users"]),
        running=bool(totals["locust_running"]),
        requests=int(totals["locust_requests_total"]),
        failures=int(totals["locust_failures_total"]),
        times=times,
    )


class Load:
    """Locust's page at an address. `account`: name and password, where the page requires them."""

    def __init__(self, page: str, account: tuple[str, str] | None = None) -> None:
        self._page = page
        self._session = requests.Session()
        if account:
            self._post("/login", {"username": account[0], "password": account[1]})

    def start(self, users: int) -> None:
        """Start this many users. Raise RuntimeError if Locust refuses, or another run is on."""
        if self.read().running:
            raise RuntimeError(f"Locust is running already: stop that run on its page, {self._page}")
        form = FORM | {"user_count": users, "spawn_rate": max(1, users // 10)}
        answer = self._post("/swarm", form).json()
        if not answer["success"]:
            raise RuntimeError(f"Locust does not start: {answer['message']}")

    def stop(self) -> None:
        self._post("/stop", {})

    def read(self) -> Figures:
        return parse(self._get("/metrics").text)

    def problems(self) -> list[str]:
        """What has failed in this run, one line for each kind of failure."""
        errors = self._get("/stats/requests").json()["errors"]
        raised = self._get("/exceptions").json()["exceptions"]
        return [
            *(f"{one['occurrences']} x {one['method']} {one['name']}: {one['error']}" for one in errors),
            *(f"{one['count']} x a task raised {one['msg']}" for one in raised),
        ]

    def _get(self, path: str) -> requests.Response:
        answer = self._session.get(self._page + path, timeout=PATIENCE)
        answer.raise_for_status()
        return answer

    def _post(self, path: str, form: Mapping[str, object]) -> requests.Response:
        answer = self._session.post(self._page + path, data=form, timeout=PATIENCE)
        answer.raise_for_status()
        return answer
