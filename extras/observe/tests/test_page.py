"""The page in a real browser, with a fake Prometheus: its contents, its faults, its requests."""

import json
import re
import time
from collections.abc import Iterator
from mimetypes import guess_type
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browsing import unreadable, wider
from tests.support.chromium import listen
from tests.support.origin import Origin, Request, response
from tests.support.wait import wait_until

PAGE = Path(__file__).parents[1] / "page"
POLICY = "default-src 'self'; frame-ancestors 'none'"  # without 'unsafe-inline', which the page does not need
DASHBOARDS = {path.stem: json.loads(path.read_text()) for path in sorted((PAGE / "dashboards").iterdir())}
EXPRESSIONS = {panel["title"]: panel["targets"][0]["expr"] for panel in DASHBOARDS["stack"]["panels"]}
FAILED = EXPRESSIONS["Failed requests"]
WHO_ANSWERS = EXPRESSIONS["Who answers"]
HOSTILE = "<img src=x onerror=\"document.title='caught'\">"
Series = list[tuple[dict[str, str], float]]  # labels and a value


class FakePrometheus(Origin):
    """Prometheus' API with made-up figures; a fault's state and the page at /user/, as nginx serves them."""

    def __init__(self) -> None:
        self.figures: dict[str, Series] = {}  # expression -> its series; any other expression has a 1
        self.alerts: list[dict[str, Any]] = []
        self.exemplars: Series = []
        self.note: dict[str, Any] = {}  # the state of a fault
        self.traces: dict[str, list[Any]] = {"failed": [], "slow": []}
        self.up = True
        self.answering = Event()  # cleared: requests wait
        self.answering.set()
        super().__init__("prometheus")
        self.respond = self._respond
        self.url = f"http://{self.address}/user/"

    def alert(self, name: str, state: str, **annotations: str) -> None:
        """Add an alert whose state is pending or firing."""
        self.alerts.append({"state": state, "labels": {"alertname": name}, "annotations": annotations})

    def _respond(self, request: Request) -> bytes:
        url = urlsplit(request.target)
        if url.path == "/traces":
            return response(json.dumps(self.traces), content_type="application/json")
        if url.path == "/.nginx/fault":
            return response(json.dumps(self.note)) if self.note else response("", "204 No Content")
        if url.path.startswith("/api/v1/"):
            self.answering.wait()
            if not self.up:
                return response("<h1>502 Bad Gateway</h1>", "502 Bad Gateway", content_type="text/html")
            data = self._data(url.path.removeprefix("/api/v1/"), dict(parse_qsl(url.query)))
            return response(json.dumps({"status": "success", "data": data}), content_type="application/json")
        file = PAGE / (url.path.removeprefix("/user/") or "index.html")
        if not file.is_file():
            return response("404", "404 Not Found")
        kind = guess_type(file)[0] or "text/plain"
        return response(file.read_bytes(), content_type=kind, content_security_policy=POLICY)

    def _data(self, path: str, query: dict[str, str]) -> object:
        """Return the API's response to one request, without the envelope."""
        if path == "alerts":
            return {"alerts": self.alerts}
        if path == "query_exemplars":
            named = [{"labels": labels, "value": str(value)} for labels, value in self.exemplars]
            return [{"seriesLabels": {}, "exemplars": named}]
        series = self.figures.get(query["query"], [({}, 1)])
        if path == "query":
            now = time.time()
            return {"result": [{"metric": labels, "value": [now, str(value)]} for labels, value in series]}
        start, end, step = (float(query[name]) for name in ("start", "end", "step"))
        times = [start + step * i for i in range(round((end - start) / step) + 1)]
        found = [(labels, [(at, str(value)) for at in times]) for labels, value in series]
        return {"result": [{"metric": labels, "values": values} for labels, values in found]}


@pytest.fixture
def prometheus() -> Iterator[FakePrometheus]:
    fake = FakePrometheus()
    yield fake
    fake.answering.set()
    fake.close()


@pytest.fixture
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    page = browser.new_page()
    listen(page, complaints)
    page.clock.install()
    yield page
    page.context.close()


def panel(page: Page, title: str) -> Locator:
    """Return the panel with that heading."""
    return page.get_by_role("region", name=title, exact=True)


def let_pass(page: Page, rounds: int = 1) -> None:
    """Advance the page's clock by so many rounds of `PERIOD` (dashboard.js)."""
    page.wait_for_timeout(100)  # let the responses to its last requests arrive
    page.clock.run_for(2000 * rounds)
    page.wait_for_timeout(100)


def asked_in_all(page: Page, prometheus: FakePrometheus) -> int:
    """Return the number of requests when their number has stopped growing."""
    before = -1
    while len(prometheus.requests) != before:
        before = len(prometheus.requests)
        page.wait_for_timeout(300)
    return before


@pytest.mark.parametrize(
    ("series", "text", "state", "level"),
    [
        ([({}, 0.0)], "0 %", "good", "green"),
        ([({}, 0.004)], "0.4 %", "watch", "orange"),
        ([({}, 0.25)], "25 %", "bad", "red"),
        ([({}, float("nan"))], "\N{EN DASH}", "too few requests", "none"),
        ([], "\N{EN DASH}", "too few requests", "none"),
    ],
)
def test_a_number_has_a_colour_and_a_word(
    page: Page, prometheus: FakePrometheus, series: Series, text: str, state: str, level: str
) -> None:
    prometheus.figures[FAILED] = series
    page.goto(prometheus.url)
    number = panel(page, "Failed requests")
    expect(number.locator(".state")).to_have_text(state)
    expect(number.locator(".value")).to_have_text(text)
    expect(number).to_have_attribute("data-level", level)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_dashboard_is_drawn_on_screens_of_all_sizes(
    page: Page, prometheus: FakePrometheus, complaints: list[str], name: str
) -> None:
    prometheus.alert("BackendDown", "firing", summary="Down", lesson="/lessons/06-the-backend-is-down")
    prometheus.alert("ClientsCut", "pending", summary="Cut")
    page.goto(prometheus.url)
    links = page.get_by_role("navigation", name="Dashboards").locator("[data-dashboard]")
    expect(links).to_have_count(len(DASHBOARDS))
    link = page.locator(f"[data-dashboard={name}]")
    link.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(DASHBOARDS[name]["title"])
    expect(link).to_have_attribute("aria-current", "page")
    panels = DASHBOARDS[name]["panels"]
    expect(page.locator("canvas")).to_have_count(sum(one["type"] == "timeseries" for one in panels))
    assert page.locator("main h2").all_inner_texts() == [one["title"] for one in panels]
    cut = """[...document.querySelectorAll("section")]
        .filter(one => one.scrollHeight > one.clientHeight + 1).map(one => one.innerText)"""
    for width in (390, 1366, 1920):
        page.set_viewport_size({"width": width, "height": 1080})
        assert wider(page) <= 0, width
        let_pass(page)  # a chart takes its new size in the next round
        wait_until(lambda: not page.evaluate(cut), report=lambda: str(page.evaluate(cut)))
        heights = "all => all.map(a => a.getBoundingClientRect().height)"
        assert min(page.eval_on_selector_all(".note a, #alerts a", heights)) >= 24
    assert unreadable(page) == []
    # When other tests start a container, Chromium drops unfinished requests; the page repeats them.
    assert [text for text in complaints if "ERR_NETWORK_CHANGED" not in text] == []


def test_the_alerts_and_what_was_broken_on_purpose_are_at_the_top_in_words(
    page: Page, prometheus: FakePrometheus, complaints: list[str]
) -> None:
    page.goto(prometheus.url)
    status = page.get_by_role("status")
    expect(status).to_have_text("All is well.")
    prometheus.figures[EXPRESSIONS["Requests a second"]] = [({}, 0)]
    let_pass(page)
    expect(status).to_have_text("All is well. There are no visitors yet: make load brings some.")
    assert unreadable(page) == []
    del prometheus.figures[EXPRESSIONS["Requests a second"]]
    prometheus.alert("ClientsCut", "pending", summary="Clients are cut off")
    lesson = "/lessons/06-the-backend-is-down"
    prometheus.alert("BackendDown", "firing", summary="The backend is down", lesson=lesson)
    let_pass(page)
    expect(status.locator("p")).to_have_text(
        ["Firing The backend is down Lesson 6", "Pending Clients are cut off "]
    )
    expect(status.get_by_role("link")).to_have_attribute("href", lesson)
    prometheus.alerts.clear()
    now = page.evaluate("Date.now() / 1000")
    prometheus.note = {"title": "Varnish hangs", "broken": now - 30, "mended": 0}
    let_pass(page)
    expect(status).to_have_text(re.compile(r"^Broken on purpose since \d\d:\d\d:\d\d: Varnish hangs"))
    prometheus.note["mended"] = now
    let_pass(page)
    expect(status).to_have_text(re.compile(r"^Broken on purpose at \S+, and mended: Varnish hangs"))
    let_pass(page, rounds=151)  # five minutes, after which no chart shows the fault
    expect(status).to_have_text("All is well.")
    assert complaints == []


def test_an_outage_is_one_line_and_ends_by_itself(page: Page, prometheus: FakePrometheus) -> None:
    prometheus.alert("BackendDown", "firing", summary="The backend is down")
    page.goto(prometheus.url)
    number = panel(page, "Failed requests")
    let_pass(page)
    # A second round has begun, so the first is complete.
    wait_until(lambda: sum("/alerts" in target for target in prometheus.targets) > 1)
    expect(number.locator(".value")).to_have_text("100 %")
    prometheus.up = False
    let_pass(page)
    expect(page.get_by_role("status")).to_have_text(
        re.compile(r"^No answer from Prometheus\. The charts end at \d\d:\d\d:\d\d; this page asks again\.$")
    )
    expect(number.locator(".state")).to_have_text("no answer")
    expect(panel(page, "Who answers").locator("canvas")).to_be_visible()
    prometheus.up = True
    let_pass(page)
    expect(page.get_by_role("status")).to_contain_text("The backend is down")
    expect(number.locator(".value")).to_have_text("100 %")


def test_names_are_text_and_the_slowest_request_has_its_own(page: Page, prometheus: FakePrometheus) -> None:
    prometheus.figures[WHO_ANSWERS] = [({"tier": HOSTILE}, 3)]
    prometheus.exemplars = [({"request_id": f"{number}f"}, number / 10) for number in (2, 11, 9)]
    prometheus.alert(HOSTILE, "firing")
    page.goto(prometheus.url)
    expect(panel(page, "Who answers").locator(".legend")).to_have_text(f"{HOSTILE} 3/s")
    expect(page.get_by_role("status")).to_contain_text(HOSTILE)
    slowest = panel(page, "Response time, slowest 5 %").locator(".slowest")
    expect(slowest).to_have_text("Slowest: 1.1 s, make trace ID=11f")
    assert page.locator("img").count() == 0


def span(name: str, began: float, ended: float, *below: object, **more: object) -> dict[str, Any]:
    known = {"service": "nginx", "facts": {}, "failed": False, "behind": False, **more}
    return {"name": name, "began": 1000 + began, "ended": 1000 + ended, "spans": below, **known}


def trace(id: str, status: int, root: object) -> dict[str, Any]:
    """Return a request in the exporter's form."""
    title = f"GET localhost/{HOSTILE}"
    return {"id": f"{id}-1", "trace": id, "title": title, "status": status, "root": root}


def test_a_slow_point_leads_to_where_the_time_went(
    page: Page, prometheus: FakePrometheus, complaints: list[str]
) -> None:
    prometheus.exemplars = [({"request_id": "11f"}, 0.4)]
    page.goto(prometheus.url)
    expect(page.get_by_role("status")).to_have_text("All is well.")
    expect(page.locator("#traces")).to_be_hidden()
    fetch = span("fetch", 0.2, 0.4, service="varnish", failed=True, facts={"error.message": "HTC closed"})
    slow = trace("11f", 200, span("GET", 0, 0.4, span("miss", 0.1, 0.4, fetch, service="varnish")))
    prometheus.traces = {"failed": [trace("22f", 503, span("GET", 0, 0))], "slow": [slow]}
    let_pass(page)
    expect(page.locator("#traces summary")).to_have_text(
        [re.compile("GET localhost/<img .*: 503, 0 ms$"), re.compile("GET localhost/<img .*: 200, 400 ms$")]
    )
    panel(page, "Response time, slowest 5 %").get_by_role("link", name="where the time went").click()
    rows = page.locator("#trace-11f-1 li")
    expect(rows).to_have_text(
        ["nginx GET 400 ms", "varnish miss 300 ms", "varnish fetch, failed HTC closed200 ms"]
    )
    expect(rows.last).to_be_in_viewport()
    widths = rows.locator("i").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    assert [width / widths[0] for width in widths] == pytest.approx([1, 0.75, 0.5], abs=0.01)
    assert unreadable(page) == []
    let_pass(page)
    expect(rows.last).to_be_visible()  # it stays open
    for width in (390, 1366):
        page.set_viewport_size({"width": width, "height": 900})
        assert wider(page) <= 0, width
    assert complaints == []


def test_a_slow_prometheus_is_asked_no_more_than_once_and_by_a_hidden_page_not_at_all(
    page: Page, prometheus: FakePrometheus
) -> None:
    page.goto(prometheus.url)
    expect(page.get_by_role("status")).to_have_text("All is well.")
    prometheus.answering.clear()
    let_pass(page)
    asked = asked_in_all(page, prometheus)
    let_pass(page, 3)
    assert len(prometheus.requests) == asked
    prometheus.answering.set()
    wait_until(lambda: len(prometheus.requests) > asked)
    hide = "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
    hide += " document.dispatchEvent(new Event('visibilitychange', { bubbles: true })); }"
    page.evaluate(hide, True)
    asked = asked_in_all(page, prometheus)
    let_pass(page, 3)
    assert len(prometheus.requests) == asked
    page.evaluate(hide, False)
    wait_until(lambda: len(prometheus.requests) > asked)


def test_a_range_and_a_dashboard_are_chosen_by_keyboard(page: Page, prometheus: FakePrometheus) -> None:
    page.goto(prometheus.url)
    for key in ["Tab"] * 6 + ["Enter"]:
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile("minutes=30"))
    expect(page.get_by_role("status")).to_have_text("All is well.")  # as the new page says
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("nginx and Varnish")
    expect(page).to_have_url(re.compile("dashboard=proxies&minutes=30"))
    page.goto(f"{prometheus.url}?dashboard=nothing")
    expect(page.get_by_role("status")).to_have_text('There is no dashboard "nothing".')
