"""extras/observe on an engine: each query has data, each request counts once, a fault has its alert."""

import json
import re
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from logs.serverlogs import backend_lines, nginx_lines
from logs.spans import Span, tree
from logs.varnishlog import requests
from tests.stack import PROJECT, REPO, Stack
from tests.support.collector import Collector
from tests.support.wait import wait_until

EXTRA = REPO / "extras" / "observe"
PROBER = REPO / "labs" / "edge" / "prober.py"
SCRAPE = 3  # seconds, within which Prometheus has asked again
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
# The range of each of the six large numbers, more narrowly.
EXPECTED = {
    "Requests a second": (10, 1_000),
    "Answered by a cache": (0.3, 1),
    "Slowest 5 % need": (0.0005, 1),
    "Chat line, slowest 1 %": (0.0001, 1),
    "On the stage": (5, 100),
    "Failed requests": (0, 0.01),
}


def values(stack: Stack, query: str) -> list[float]:
    """Return the present value of each series."""
    return [float(one["value"][1]) for one in stack.prometheus("query", query=query)["result"]]


def visit(*command: str, rate: int, seconds: int, number: int = 50, files: str = "/media/fox.svg?{}") -> Any:
    """Start visitors of labs/edge/prober.py; return the process, whose output is a report."""
    options = (f"--rate={rate}", f"--seconds={seconds}", f"--number={number}", f"--files={files}")
    with PROBER.open() as program:
        return subprocess.Popen([*command, *options], stdin=program, stdout=subprocess.PIPE, text=True)


def asked(prober: Any) -> int:
    """Return the number of requests that a crowd has sent; require that each got a response."""
    report = json.loads(prober.communicate(timeout=120)[0])
    assert not sum(second.get("repeated", 0) for second in report["seconds"])
    return sum(second["asked"] for second in report["seconds"])


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    collector = Collector(everywhere=True)
    yield collector
    collector.close()


@pytest.fixture(scope="module")
def observed(collector: Collector) -> Iterator[Stack]:
    settings = {"EXTRAS": "observe", "VARNISH_STORAGE": "malloc,12m"}
    settings["OTLP"] = f"http://host.docker.internal:{collector.port}"
    with Stack("containers", PROJECT + "-observe", settings=settings).running() as stack:
        yield stack


def metrics_in(query: str) -> set[str]:
    """Return the metrics in a query: a wrong name could hide behind `or`, or in a silent alert."""
    return set(re.findall(r"(?<![\w:])[a-z:]+(?:_[a-z0-9]+)+\b(?! ?\()", re.sub(r'"[^"]*"', "", query)))


def test_the_rules_pass_their_tests(observed: Stack) -> None:
    tests = ("promtool", "test", "rules", "/etc/prometheus/rules.test.yml")
    assert "SUCCESS" in observed.compose("exec", "-T", "prometheus", *tests)


def test_every_query_has_data_under_load(observed: Stack) -> None:
    observed.swarm(30)
    time.sleep(12)
    asked_for: list[str] = []
    wrong: list[str] = []
    for file in sorted((EXTRA / "page" / "dashboards").glob("*.json")):
        dashboard = json.loads(file.read_text())
        for panel in dashboard["panels"]:
            unit = panel["fieldConfig"]["defaults"]["unit"]
            low, high = EXPECTED.get(panel["title"], MAGNITUDE[unit])
            for target in panel["targets"]:
                found = values(observed, target["expr"])
                if not found or not all(low <= value <= high for value in found):
                    wrong.append(f"{file.stem}, {panel['title']}: {target['expr']}: {found}")
                asked_for.append(target["expr"])
    known = set(observed.prometheus("label/__name__/values"))
    rules = [rule for group in observed.prometheus("rules")["groups"] for rule in group["rules"]]
    wrong += [f"{rule['name']}: {rule}" for rule in rules if rule["health"] != "ok"]
    wrong += [
        rule["name"] for rule in rules if rule["type"] == "recording" and not values(observed, rule["name"])
    ]
    asked_for += [rule["query"] for rule in rules]
    wrong += [name for query in asked_for for name in metrics_in(query) - known]
    observed.swarm(0)
    assert wrong == []
    assert observed.alerts("firing") == set()
    assert "Alerts: none" in observed.make("status")


@pytest.mark.parametrize(
    "limited",
    [
        pytest.param(False, id="1,000 a second"),
        pytest.param(True, id="a flood that nginx rejects", marks=pytest.mark.slow),
    ],
)
def test_each_request_is_counted_once(observed: Stack, limited: bool) -> None:
    query = 'sum(nginx_requests_total{kind="media"})'
    time.sleep(SCRAPE)
    before = sum(values(observed, query))
    if limited:
        prober = visit("python3", "-", f"127.0.0.1:{observed.ports['HTTP_PORT']}", rate=1000, seconds=6)
    else:
        locust = observed.compose("ps", "-q", "locust").strip()
        prober = visit("docker", "exec", "-i", locust, "python", "-", "nginx:8000", rate=1000, seconds=3)
    sent = asked(prober)
    time.sleep(SCRAPE)
    assert sum(values(observed, query)) - before == sent
    assert (sum(values(observed, 'sum(nginx_requests_total{status="429"})')) > 0) == limited


@contextmanager
def stopped(stack: Stack, service: str) -> Iterator[None]:
    stack.compose("stop", "-t", "1", service)
    try:
        yield
    finally:
        stack.compose("start", service)


# --- Traces.


class Traced:
    """Sends requests to the load port, each in a separate trace that is kept."""

    def __init__(self, stack: Stack, collector: Collector) -> None:
        self.stack = stack
        self.collector = collector

    def ask(self, path: str, *options: str) -> str:
        """Send a request; return the trace's ID."""
        trace = secrets.token_hex(16)
        parent = f"traceparent: 00-{trace}-{secrets.token_hex(8)}-01"
        curl = ("curl", "-sS", "-o", "/dev/null", "-H", "Host: upstage.localhost", "-H", parent, *options)
        with suppress(AssertionError):  # a WebSocket that curl leaves open until its time is over
            self.stack.compose("exec", "-T", "nginx", *curl, f"http://127.0.0.1:8000{path}")
        return trace

    def tree(self, trace: str) -> list[str]:
        """Return the spans that arrived; require that `make trace` finds the same in the logs, to the ms."""
        wait_until(lambda: self.collector.spans(trace), within=30)
        spans = self.collector.spans(trace)
        logs = {
            service: self.stack.compose("logs", "--no-log-prefix", service).splitlines()
            for service in ("nginx", "backend")
        }
        [line] = [line for line in nginx_lines(logs["nginx"]) if line.id == trace]
        query = f'ReqHeader:X-Request-Id eq "{trace}"'
        seen = requests(self.stack.inside("varnishlog", "-d", "-g", "request", "-q", query).splitlines())
        pages = [page for page in backend_lines(logs["backend"]) if page.id == trace]
        expected = list(tree(line, seen, pages).walk())
        above: list[Span] = []  # the spans from the first one down to the last
        made = []
        for depth, span in expected:
            del above[depth:]
            parent = above[-1].name if above else ""
            made.append((span.service, span.name, round(span.began, 3), round(span.ended, 3), parent))
            above.append(span)
        names = {span.span_id: span.name for _, span in spans}
        arrived = [
            (service, span.name, *(round(at / 1e9, 3) for at in times), names.get(span.parent_span_id, ""))
            for service, span in spans
            for times in [(span.start_time_unix_nano, span.end_time_unix_nano)]
        ]
        assert sorted(arrived) == sorted(made)
        return [f"{'  ' * depth}{span.service} {span.name}" for depth, span in expected]


@pytest.fixture
def traced(observed: Stack, collector: Collector) -> Traced:
    return Traced(observed, collector)


def test_a_miss_a_hit_a_stale_hit_and_a_restart(traced: Traced) -> None:
    path = f"/media/fox.svg?{secrets.token_hex(4)}"
    miss = traced.ask(path)
    time.sleep(1.2)  # until nginx's one-second copy has expired
    hit = traced.ask(path)
    page = "/stages/"
    traced.ask(page)
    time.sleep(3)
    stale = traced.ask(page)
    time.sleep(15)
    restarted = traced.ask(page)
    socket = traced.ask(
        *("/ws", "-N", "--max-time", "2", "-H", "Connection: Upgrade", "-H", "Upgrade: websocket"),
        *("-H", "Sec-WebSocket-Version: 13", "-H", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="),
    )
    assert traced.tree(miss) == ["nginx GET", "  varnish miss", "    varnish fetch", "      backend page"]
    assert traced.tree(hit) == ["nginx GET", "  varnish hit"]
    assert traced.tree(stale)[:3] == ["nginx GET", "  varnish stale", "    varnish fetch in the background"]
    assert traced.tree(stale)[3] == "      backend page"
    assert traced.tree(restarted)[:3] == ["nginx GET", "  varnish miss", "    varnish restart"]
    assert traced.tree(restarted)[3:] == ["      varnish fetch", "        backend page"]
    assert traced.tree(socket) == ["nginx GET", "  backend page"]


def test_a_503(traced: Traced) -> None:
    with stopped(traced.stack, "backend"):
        time.sleep(5)
        failed = traced.ask(f"/media/{secrets.token_hex(4)}.png")
    fetches = ["    varnish fetch", "      varnish fetch again"]
    assert traced.tree(failed) == ["nginx GET", "  varnish error", *fetches]


# --- Faults.


# The other alerts have cases in rules.test.yml; the test of all queries shows that their metrics exist.
FAULTS = {"BackendDown": "backend", "PolicyDown": "policyd", "VarnishDown": "varnish"}


@pytest.fixture(scope="module")
def played(observed: Stack) -> Iterator[Stack]:
    """Let ten users visit the stage, and wait until the cache is no longer empty."""
    observed.swarm(10)
    wait_until(lambda: values(observed, "min(varnish_main_uptime) > 60"), within=90, every=1)
    yield observed
    observed.swarm(0)


@pytest.mark.slow
@pytest.mark.parametrize("alert", FAULTS)
def test_a_fault_has_its_alert_and_no_other(played: Stack, alert: str) -> None:
    wait_until(lambda: not played.alerts(), within=180, every=1, report=lambda: str(played.alerts()))
    seen = set[str]()

    def fires() -> bool:
        seen.update(played.alerts("firing"))
        return alert in seen

    with stopped(played, FAULTS[alert]):
        wait_until(fires, within=30, every=0.5, report=lambda: str(played.alerts()))
        time.sleep(10)
        fires()
    wait_until(
        lambda: fires() and not played.alerts(), within=180, every=1, report=lambda: str(played.alerts())
    )
    assert seen == {alert}
