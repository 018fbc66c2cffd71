"""extras/observe on an engine: each query has data, each request counts once, each fault has its alert."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
import requests

from stack import PROJECT, REPO, Stack
from support.wait import wait_until

EXTRA = REPO / "extras" / "observe"
PROBER = REPO / "labs" / "cluster" / "prober.py"
SCRAPES = 5  # seconds, in which Prometheus has asked twice
# Unit of a panel -> the lowest and the highest value that thirty users can make here.
MAGNITUDE = {
    "reqps": (0, 2_000),
    "cps": (0, 5_000),
    "s": (0, 5),
    "percentunit": (0, 1),
    "decbytes": (0, 64e9),
    "Bps": (0, 500e6),
    "none": (0, 50_000),
}
# The six large numbers, more narrowly.
EXPECTED = {
    "Requests a second": (10, 1_000),
    "Answered by a cache": (0.3, 1),
    "Slowest 5 % need": (0.0005, 1),
    "Chat line, slowest 1 %": (0.0001, 1),
    "On the stage": (5, 100),
    "Failed requests": (0, 0.01),
}


class Observed(Stack):
    """The stack with the extra, and what Prometheus says of it."""

    def ask(self, path: str, **query: str) -> Any:
        """The data of an answer of Prometheus' API, by way of nginx."""
        url = f"http://127.0.0.1:{self.ports['OBSERVE_PORT']}/api/v1/{path}"
        answer = requests.get(url, params=query, headers={"Host": "localhost"}, timeout=15)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def values(self, query: str) -> list[float]:
        return [float(one["value"][1]) for one in self.ask("query", query=query)["result"]]

    def alerts(self, state: str = "") -> set[str]:
        """The names of the alerts that are on."""
        alerts = self.ask("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if state in ("", alert["state"])}

    def swarm(self, users: int) -> None:
        """Locust's own page begins a run; with 0 users it stops."""
        page = f"http://localhost:{self.ports['LOCUST_PORT']}"
        if users:
            form = {"user_count": users, "spawn_rate": users}
            assert requests.post(f"{page}/swarm", data=form, timeout=10).json()["success"]
        else:
            requests.post(f"{page}/stop", timeout=10)


def visit(*command: str, rate: int, seconds: int, number: int = 50, files: str = "/media/fox.svg?{}") -> Any:
    """Visitors of labs/cluster/prober.py; the process, whose output is a report."""
    options = (f"--rate={rate}", f"--seconds={seconds}", f"--number={number}", f"--files={files}")
    with PROBER.open() as program:
        return subprocess.Popen([*command, *options], stdin=program, stdout=subprocess.PIPE, text=True)


def asked(prober: Any) -> int:
    """How many requests a crowd has sent; each of them got a response."""
    report = json.loads(prober.communicate(timeout=120)[0])
    assert not sum(second.get("repeated", 0) for second in report["seconds"])
    return sum(second["asked"] for second in report["seconds"])


@pytest.fixture(scope="module")
def observed() -> Iterator[Observed]:
    settings = {"EXTRAS": "observe", "VARNISH_STORAGE": "malloc,12m"}
    stack = Observed("containers", PROJECT + "-observe", settings=settings)
    stack.make("clean")
    try:
        stack.make("up")
        yield stack
    finally:
        stack.make("clean")


def test_every_query_has_data_under_load(observed: Observed) -> None:
    observed.swarm(30)
    time.sleep(15)
    rows, wrong = ["| dashboard | panel | query | value |", "|---|---|---|---|"], []
    for file in sorted((EXTRA / "page" / "dashboards").glob("*.json")):
        dashboard = json.loads(file.read_text())
        for panel in dashboard["panels"]:
            unit = panel["fieldConfig"]["defaults"]["unit"]
            low, high = EXPECTED.get(panel["title"], MAGNITUDE[unit])
            for target in panel["targets"]:
                values = observed.values(target["expr"])
                if not values or not all(low <= value <= high for value in values):
                    wrong.append((file.stem, panel["title"], target["expr"], values))
                query = target["expr"].replace("|", "\\|")
                shown = ", ".join(f"{value:.3g}" for value in values[:6])
                rows.append(f"| {dashboard['title']} | {panel['title']} | `{query}` | {shown} |")
    folder = REPO / "test-results" / "observe"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "queries.md").write_text("\n".join(rows) + "\n")
    rules = [rule for group in observed.ask("rules")["groups"] for rule in group["rules"]]
    wrong += [rule for rule in rules if rule["health"] != "ok"]
    wrong += [
        rule["name"] for rule in rules if rule["type"] == "recording" and not observed.values(rule["name"])
    ]
    observed.swarm(0)
    assert wrong == []
    assert observed.alerts("firing") == set()
    assert "Alerts: none" in observed.make("status")


@pytest.mark.parametrize("limited", [False, True], ids=["1,000 a second", "a flood that nginx rejects"])
def test_each_request_is_counted_once(observed: Observed, limited: bool) -> None:
    query = 'sum(nginx_requests_total{kind="media"})'
    time.sleep(SCRAPES)
    before = sum(observed.values(query))
    if limited:
        prober = visit("python3", "-", f"127.0.0.1:{observed.ports['HTTP_PORT']}", rate=1000, seconds=6)
    else:
        locust = observed.compose("ps", "-q", "locust").strip()
        prober = visit("docker", "exec", "-i", locust, "python", "-", "nginx:8000", rate=1000, seconds=6)
    sent = asked(prober)
    time.sleep(SCRAPES)
    assert sum(observed.values(query)) - before == sent
    assert (sum(observed.values('increase(nginx_requests_total{status="429"}[15s])')) > 0) == limited


# --- Faults.


@contextmanager
def stopped(stack: Observed, service: str) -> Iterator[None]:
    stack.compose("stop", "-t", "1", service)
    try:
        yield
    finally:
        stack.compose("start", service)


@contextmanager
def visited(stack: Observed, rate: int, files: str) -> Iterator[None]:
    """One client that asks for so many different files a second."""
    prober = visit(
        "python3",
        "-",
        f"127.0.0.1:{stack.ports['HTTP_PORT']}",
        rate=rate,
        seconds=120,
        number=1_000_000,
        files=files,
    )
    try:
        yield
    finally:
        prober.terminate()
        prober.communicate()


@contextmanager
def slowed(stack: Observed) -> Iterator[None]:
    """The backend has a twentieth of a core."""
    backend = stack.compose("ps", "-q", "backend").strip()
    subprocess.run(["docker", "update", "--cpus=0.05", backend], check=True, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        subprocess.run(["docker", "update", "--cpus=2", backend], check=True, stdout=subprocess.DEVNULL)


FAULTS: dict[str, Callable[[Observed], AbstractContextManager[None]]] = {
    "BackendDown": lambda stack: stopped(stack, "backend"),
    "PolicyDown": lambda stack: stopped(stack, "policyd"),
    "ClientsLimited": lambda stack: visited(stack, 1_000, "/media/fox.svg?0"),
    "CacheDoesNotHelp": lambda stack: visited(stack, 60, "/media/fox.svg?{}"),
    "CacheIsFull": lambda stack: visited(stack, 60, "/media/bench/small.swf?{}"),
    "ChatIsSlow": slowed,
    "VarnishDown": lambda stack: stopped(stack, "varnish"),
}


@pytest.fixture(scope="module")
def played(observed: Observed) -> Iterator[Observed]:
    """Ten users visit the stage meanwhile."""
    observed.swarm(10)
    yield observed
    observed.swarm(0)


@pytest.mark.slow
@pytest.mark.parametrize("alert", FAULTS)
def test_a_fault_has_its_alert_and_no_other(played: Observed, alert: str) -> None:
    wait_until(lambda: not played.alerts(), within=180, every=1, report=lambda: str(played.alerts()))
    seen = set[str]()

    def fires() -> bool:
        seen.update(played.alerts("firing"))
        return alert in seen

    with FAULTS[alert](played):
        wait_until(fires, within=30, every=0.5, report=lambda: str(played.alerts()))
        time.sleep(10)
        fires()
    wait_until(
        lambda: fires() and not played.alerts(), within=180, every=1, report=lambda: str(played.alerts())
    )
    assert seen == {alert}
