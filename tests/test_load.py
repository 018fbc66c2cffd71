"""Locust in the stack: the verdict of `make load`, and the web UI in a browser."""

import json
import re
import time
import tomllib
from html import unescape

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from browsing import PICTURES, on_stage
from stack import REPO, Stack
from support.wait import wait_until
from users.page import assets

DEMO = REPO / "backend" / "src" / "upstage" / "content" / "demo" / "stage.toml"
WEBCAM = "/media/video"
ROWS = ("GET /stages/load", "stage join", "stage chat", "stage heard", "ws join", "ws heard", "policy policy")


@pytest.mark.slow  # half a minute
def test_a_healthy_stack_passes(stack: Stack) -> None:
    reports = REPO / ".run" / stack.project / "load"
    # Left by an earlier run; the globs below must not find it.
    reports.mkdir(exist_ok=True)
    (reports / "before.html").touch()
    if stack.mode == "containers":
        before = "mkdir -p /tmp/reports; touch /tmp/reports/before.json"
        stack.compose("exec", "-T", "locust", "sh", "-c", before)
    verdict = stack.make("load")
    assert "GOOD" in verdict, verdict
    assert f"The report: .run/{stack.project}/load\n" in verdict
    [figures] = reports.glob("*.json")
    [page] = reports.glob("*.html")
    assert json.loads(figures.read_text())
    assert page.stat().st_size > 10_000
    for row in ROWS:
        assert row.split()[1] in page.read_text(), row


def rows(page: Page) -> dict[str, int]:
    """The rows of Locust's table of requests, and how many requests each has."""
    found = {}
    for line in page.locator("table tbody tr").all():
        cells = line.locator("td").all_inner_texts()
        if len(cells) > 2 and cells[2].replace(",", "").isdigit():
            found[f"{cells[0]} {cells[1]}"] = int(cells[2].replace(",", ""))
    return found


def test_the_web_ui_shows_requests_caches_and_verdict(stack: Stack, browser: Browser) -> None:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"http://127.0.0.1:{stack.ports['LOCUST_PORT']}/")
    page.get_by_text("Custom parameters").click()
    page.locator("input[name=maxHeardMs]").fill("400")
    page.screenshot(path=PICTURES / f"locust-form-{stack.mode}.png", full_page=True)
    page.get_by_role("button", name=re.compile("start", re.I)).click()
    expect(page.get_by_text("RUNNING")).to_be_visible()

    def all_types() -> bool:
        types = {row.split()[0] for row, count in rows(page).items() if count}
        return types >= {"GET", "POST", "stage", "ws", "policy"}  # POST: the player signs in

    wait_until(all_types, within=60)
    page.screenshot(path=PICTURES / f"locust-rows-{stack.mode}.png", full_page=True)
    page.get_by_role("tab", name="Caches").click()
    media = page.locator("tr", has_text="/media/*.svg").first
    expect(media).to_be_visible()
    time.sleep(3)
    page.screenshot(path=PICTURES / f"locust-caches-{stack.mode}.png", full_page=True)
    page.get_by_role("tab", name="Verdict").click()
    heard = page.locator("tr", has_text="p95 of * heard")
    expect(heard).to_contain_text("at most 400 ms")
    page.get_by_role("button", name=re.compile("stop", re.I)).click()
    expect(page.get_by_text(re.compile("STOPP", re.I)).first).to_be_visible(timeout=60_000)
    # The last verdict stays on the page.
    verdicts = re.compile("GOOD|FAILED|NOT MEASURED|INCONCLUSIVE")
    expect(page.locator("tr", has_text="the run")).to_contain_text(verdicts)
    expect(heard).to_contain_text("at most 400 ms")
    page.screenshot(path=PICTURES / f"locust-verdict-{stack.mode}.png", full_page=True)
    assert complaints == []
    page.context.close()


LINE = r"\w+[!?] The [a-z ]+\."


def test_a_load_test_tidies_its_stage_and_leaves_no_trace_on_another(stack: Stack) -> None:
    """After the runs above, each with a player."""
    scene = join(stack, "load")
    chat = chat_of(scene)
    for line in chat.splitlines():
        assert re.fullmatch(rf" {LINE}|<[A-Z][A-Za-z ]+> {LINE}", line), line
    assert not [frame for frame in scene if frame["mode"] == "DRAW_LINE"]
    assert all(frame["available"] == "True" for frame in scene if frame["mode"] == "LOAD_AV")
    places = {
        frame["ID"]: (float(frame["X"]), float(frame["Y"])) for frame in scene if frame["mode"] == "AV_POS"
    }
    avatars = tomllib.loads(DEMO.read_text())["avatar"]
    seeded = {str(id): (thing["x"], thing["y"]) for id, thing in enumerate(avatars, 1) if "x" in thing}
    assert {id: places[id] for id in seeded} == seeded
    assert not re.search(LINE, chat_of(join(stack, "demo")))


def join(stack: Stack, stage: str) -> list[dict[str, str]]:
    """The frames that a client gets when it joins."""
    client = stack.stage_client()
    try:
        return client.join(stage=stage)
    finally:
        client.close()


def chat_of(frames: list[dict[str, str]]) -> str:
    """The chat that a late joiner reads."""
    [chat] = [frame["chat"] for frame in frames if frame["mode"] == "LOAD_CHAT"]
    return unescape(chat)


def test_a_simulated_visitor_fetches_what_a_browser_fetches(stack: Stack, browser: Browser) -> None:
    address = stack.url("/stages/demo")
    named = assets(requests.get(address, timeout=10).text, address)
    fetched: set[str] = set()
    page = browser.new_page()
    page.on("requestfinished", lambda request: fetched.add(request.url))
    page.goto(address)
    on_stage(page)
    # Sounds go on. A webcam's pictures have URLs that change.
    expected = {url for url in (address, *named, stack.url("/admin/id")) if WEBCAM not in url}
    wait_until(lambda: page.title() and expected <= fetched, within=60)  # a call lets Playwright report
    page.close()
    assert {url for url in fetched if WEBCAM not in url} == expected


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session")
def test_where_other_machines_reach_it_the_web_ui_requires_a_password_that_is_kept(stack: Stack) -> None:
    address = f"http://127.0.0.1:{stack.ports['LOCUST_PORT']}"
    show = ("exec", "-T", "locust", "python", "web_password.py")
    assert requests.get(f"{address}/", allow_redirects=False, timeout=10).status_code == 200
    assert stack.compose(*show) == ""
    stack.settings["BIND_ADDR"] = "0.0.0.0"
    try:
        stack.compose("up", "-d", "--wait", "--no-deps", "locust")
        answer = requests.get(f"{address}/stats/requests", allow_redirects=False, timeout=10)
        assert answer.status_code == 302
        told = stack.compose(*show)
        stack.compose("rm", "--stop", "--force", "locust")
        stack.compose("up", "-d", "--wait", "--no-deps", "locust")
        assert stack.compose(*show) == told
        name, password = told.split()[1::2]
        form = {"username": name, "password": password}
        assert requests.post(f"{address}/login", form, timeout=10).url == f"{address}/"
    finally:
        del stack.settings["BIND_ADDR"]
        stack.compose("up", "-d", "--wait", "--no-deps", "locust")


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session")
def test_arrivals_are_judged_by_when_they_were_due(stack: Stack) -> None:
    said = stack.make("load", "ARRIVALS=2", "TIME=10s")
    assert "arrivals that never started" in said
    assert "GOOD" in said


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session")
@pytest.mark.parametrize("number", range(1, 12))
def test_an_example_runs(stack: Stack, number: int) -> None:
    said = stack.make("load", f"EXAMPLE={number}", "USERS=3", "TIME=6s")
    assert re.search(r"Aggregated +[1-9]\d* +0\(", said), said  # no failure among them
