"""Locust in the stack: the verdict of `make load`, and the web UI."""

import json
import re
import tomllib
from html import unescape
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser

from tests.browsing import on_stage
from tests.stack import REPO, Stack
from tests.support.wait import wait_until
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


def test_every_class_of_users_has_its_rows_and_the_form_its_verdict(stack: Stack) -> None:
    """(The form in a browser, against a fake site: loadtest/tests/test_processes.py.)"""
    page = f"http://127.0.0.1:{stack.ports['LOCUST_PORT']}"

    def stats() -> Any:
        return requests.get(f"{page}/stats/requests", timeout=60).json()

    def kinds() -> set[str]:
        return {row["method"] for row in stats()["stats"] if row["num_requests"]}

    form = {"user_count": 20, "spawn_rate": 20, "max_heard_ms": 400}
    assert requests.post(f"{page}/swarm", data=form, timeout=60).json()["success"]
    wait_until(lambda: kinds() >= {"GET", "POST", "stage", "ws", "policy"}, within=60)  # POST: a player
    stack.swarm(0)
    wait_until(lambda: stats()["state"] == "stopped", within=60)
    tables = {table["key"]: table["data"] for table in stats()["extended_stats"]}
    assert "/media/*.svg" in str(tables["caches"])
    [heard] = [line for line in tables["verdict"] if line["what"] == "p95 of * heard"]
    assert heard["allowed"] == "at most 400 ms"


LINE = r"\w+[!?] The [a-z ]+\."


def test_a_load_test_tidies_its_stage_and_leaves_no_trace_on_another(stack: Stack) -> None:
    """The runs above, each with a player, come first."""
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
    """Return the frames that a client gets when it joins."""
    client = stack.stage_client()
    try:
        return client.join(stage=stage)
    finally:
        client.close()


def chat_of(frames: list[dict[str, str]]) -> str:
    """Return the chat that a late joiner reads."""
    [chat] = [frame["chat"] for frame in frames if frame["mode"] == "LOAD_CHAT"]
    return unescape(chat)


def test_a_simulated_visitor_fetches_what_a_browser_fetches(stack: Stack, browser: Browser) -> None:
    address = stack.url("/stages/demo")
    named = assets(requests.get(address, timeout=60).text, address)
    fetched: set[str] = set()
    page = browser.new_page()
    page.on("requestfinished", lambda request: fetched.add(request.url))
    page.goto(address)
    on_stage(page)
    # Sounds may still be loading. A webcam's pictures have changing URLs.
    expected = {url for url in (address, *named, stack.url("/admin/id")) if WEBCAM not in url}
    wait_until(lambda: page.title() and expected <= fetched, within=60)  # a call lets Playwright report
    page.close()
    assert {url for url in fetched if WEBCAM not in url} == expected
