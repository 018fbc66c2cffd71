"""The page in a real browser, on a fake Prometheus: what it shows, how it fails, what it does not request."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browsing import FAINT
from fake_prometheus import PAGE, FakePrometheus, fake_prometheus
from support.chromium import chromium
from support.wait import wait_until

STACK = json.loads((PAGE / "dashboards" / "stack.json").read_text())
EXPRESSIONS = {panel["title"]: panel["targets"][0]["expr"] for panel in STACK["panels"]}
FAILED = EXPRESSIONS["Failed requests"]
WHO_ANSWERS = EXPRESSIONS["Who answers"]
HOSTILE = "<img src=x onerror=\"document.title='caught'\">"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def prometheus() -> Iterator[FakePrometheus]:
    with fake_prometheus() as fake:
        yield fake


@pytest.fixture
def complaints() -> list[str]:
    return []


@pytest.fixture
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    """A page whose console and uncaught exceptions are in `complaints`."""
    page = browser.new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.clock.install()
    yield page
    page.context.close()


def panel(page: Page, title: str) -> Locator:
    """The panel with that heading."""
    return page.get_by_role("region", name=title, exact=True)


def let_pass(page: Page, rounds: int = 1) -> None:
    """Move the page's clock on by so many rounds of `PERIOD` (dashboard.js)."""
    page.wait_for_timeout(100)  # let the answers to its last requests arrive
    page.clock.run_for(2000 * rounds)
    page.wait_for_timeout(100)


def asked_in_all(page: Page, prometheus: FakePrometheus) -> int:
    """The number of requests, once no more arrive."""
    before = -1
    while prometheus.asked.total() != before:
        before = prometheus.asked.total()
        page.wait_for_timeout(300)
    return before


@pytest.mark.parametrize(
    ("value", "text", "state", "level"),
    [("0", "0 %", "good", "green"), ("0.004", "0.4 %", "watch", "orange"), ("0.25", "25 %", "bad", "red")],
)
def test_a_number_has_a_colour_and_a_word(
    page: Page, prometheus: FakePrometheus, value: str, text: str, state: str, level: str
) -> None:
    prometheus.figures[FAILED] = [({}, float(value))]
    page.goto(prometheus.url)
    number = panel(page, "Failed requests")
    expect(number.locator(".value")).to_have_text(text)
    expect(number.locator(".state")).to_have_text(state)
    expect(number).to_have_attribute("data-level", level)


def test_the_slowest_request_is_named(page: Page, prometheus: FakePrometheus) -> None:
    prometheus.exemplars = [({"request_id": f"{number}f"}, number / 10) for number in (2, 11, 9)]
    page.goto(prometheus.url)
    slowest = panel(page, "Response time, slowest 5 %").locator(".slowest")
    expect(slowest).to_have_text("Slowest: 1.1 s, make trace ID=11f")


@pytest.mark.parametrize("figures", [[], [({}, float("nan"))]], ids=["no series", "not a number"])
def test_a_number_without_samples_of_now_is_no_data(
    page: Page, prometheus: FakePrometheus, figures: list[tuple[dict[str, str], float]]
) -> None:
    prometheus.figures[FAILED] = figures
    page.goto(prometheus.url)
    expect(panel(page, "Failed requests").locator(".state")).to_have_text("no data")
    expect(panel(page, "Failed requests").locator(".value")).to_have_text("\N{EN DASH}")


@pytest.mark.parametrize("name", sorted(path.stem for path in (PAGE / "dashboards").iterdir()))
def test_every_dashboard_is_drawn_on_screens_of_all_sizes(
    page: Page, prometheus: FakePrometheus, complaints: list[str], name: str
) -> None:
    prometheus.alert("BackendDown", "firing", summary="Down", lesson="/lessons/06-the-backend-is-down")
    prometheus.alert("ClientsCut", "pending", summary="Cut")
    dashboard = json.loads((PAGE / "dashboards" / f"{name}.json").read_text())
    page.goto(prometheus.url)
    link = page.get_by_role("navigation", name="Dashboards").locator(f"[data-dashboard={name}]")
    link.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(dashboard["title"])
    expect(link).to_have_attribute("aria-current", "page")
    charts = [one for one in dashboard["panels"] if one["type"] == "timeseries"]
    expect(page.locator("canvas")).to_have_count(len(charts))
    assert page.locator("h2").all_inner_texts() == [one["title"] for one in dashboard["panels"]]
    cut = """[...document.querySelectorAll("section")]
        .filter(one => one.scrollHeight > one.clientHeight + 1).map(one => one.innerText)"""
    for width in (390, 1366, 1920):
        page.set_viewport_size({"width": width, "height": 1080})
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, f"{wider} px wider than {width}"
        let_pass(page)  # a chart takes its new size in the next round
        assert page.evaluate(cut) == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(FAINT) == []
    # When other tests start a container, Chromium drops what it is loading; the page asks again.
    assert [text for text in complaints if "ERR_NETWORK_CHANGED" not in text] == []


def test_what_was_broken_on_purpose_is_named_until_the_charts_no_longer_have_it(
    page: Page, prometheus: FakePrometheus, complaints: list[str]
) -> None:
    now = page.evaluate("Date.now() / 1000")
    prometheus.note = {"title": "Varnish hangs", "broken": now - 30, "mended": 0}
    page.goto(prometheus.url)
    alerts = page.locator("#alerts")
    expect(alerts).to_have_text(re.compile(r"^Broken on purpose since \d\d:\d\d:\d\d: Varnish hangs"))
    prometheus.note["mended"] = now
    let_pass(page)
    expect(alerts).to_have_text(re.compile(r"^Broken on purpose at \S+, and mended: Varnish hangs"))
    let_pass(page, rounds=151)  # five minutes
    expect(alerts).to_have_text("All is well.")
    assert complaints == []


def test_alerts_are_at_the_top_in_words(page: Page, prometheus: FakePrometheus) -> None:
    page.goto(prometheus.url)
    status = page.get_by_role("status")
    expect(status).to_have_text("All is well.")
    prometheus.alert("ClientsCut", "pending", summary="Clients are cut off")
    prometheus.alert(
        "BackendDown", "firing", summary="The backend is down", lesson="/lessons/06-the-backend-is-down"
    )
    let_pass(page)
    expect(status.locator("p")).to_have_text(
        ["Firing The backend is down Lesson 6", "Pending Clients are cut off "]
    )
    expect(status.get_by_role("link")).to_have_attribute("href", "/lessons/06-the-backend-is-down")
    prometheus.alerts.clear()
    let_pass(page)
    expect(status).to_have_text("All is well.")


def test_an_outage_is_one_line_and_ends_by_itself(page: Page, prometheus: FakePrometheus) -> None:
    prometheus.alert("BackendDown", "firing", summary="The backend is down")
    page.goto(prometheus.url)
    number = panel(page, "Failed requests")
    let_pass(page)
    wait_until(lambda: prometheus.asked["/api/v1/alerts"] > 1)  # a round is complete
    expect(number.locator(".value")).to_have_text("100 %")
    prometheus.up = False
    let_pass(page)
    expect(page.get_by_role("status")).to_have_text(
        re.compile(r"^No answer from Prometheus\. The charts end at \d\d:\d\d:\d\d; this page asks again\.$")
    )
    expect(number.locator(".state")).to_have_text("no data")
    expect(panel(page, "Who answers").locator("canvas")).to_be_visible()
    prometheus.up = True
    let_pass(page)
    expect(page.get_by_role("status")).to_contain_text("The backend is down")
    expect(number.locator(".value")).to_have_text("100 %")


def test_hostile_names_are_text(page: Page, prometheus: FakePrometheus) -> None:
    prometheus.figures[WHO_ANSWERS] = [({"tier": HOSTILE}, 3)]
    prometheus.alert(HOSTILE, "firing")
    page.goto(prometheus.url)
    expect(panel(page, "Who answers").locator(".legend")).to_have_text(f"{HOSTILE} 3/s")
    expect(page.get_by_role("status")).to_contain_text(HOSTILE)
    assert page.locator("img").count() == 0


def test_a_slow_prometheus_is_asked_no_more_than_once(page: Page, prometheus: FakePrometheus) -> None:
    page.goto(prometheus.url)
    expect(page.get_by_role("status")).to_have_text("All is well.")
    prometheus.answering.clear()
    wait_until(lambda: prometheus.waiting > 0)
    asked = asked_in_all(page, prometheus)
    let_pass(page, 3)
    assert prometheus.asked.total() == asked
    prometheus.answering.set()
    wait_until(lambda: prometheus.asked.total() > asked)


def test_a_hidden_page_asks_nothing(page: Page, prometheus: FakePrometheus) -> None:
    page.goto(prometheus.url)
    expect(page.get_by_role("status")).to_have_text("All is well.")
    hide = "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
    hide += " document.dispatchEvent(new Event('visibilitychange', { bubbles: true })); }"
    page.evaluate(hide, True)
    asked = asked_in_all(page, prometheus)
    let_pass(page, 3)
    assert prometheus.asked.total() == asked
    page.evaluate(hide, False)
    wait_until(lambda: prometheus.asked.total() > asked)


def test_a_range_and_a_dashboard_are_chosen_by_keyboard(page: Page, prometheus: FakePrometheus) -> None:
    page.goto(prometheus.url)
    for key in ["Tab"] * 8 + ["Enter"]:
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile("minutes=30"))
    expect(page.get_by_role("status")).to_have_text("All is well.")  # on the new page
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Varnish")
    expect(page).to_have_url(re.compile("dashboard=varnish&minutes=30"))


def test_an_unknown_dashboard_is_said(page: Page, prometheus: FakePrometheus) -> None:
    page.goto(f"{prometheus.url}?dashboard=nothing")
    expect(page.get_by_role("status")).to_have_text('There is no dashboard "nothing".')
