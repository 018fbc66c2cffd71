"""Locust's form in a real browser: choosing a scenario and pressing Start is enough."""

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, Page, expect, sync_playwright

from test_locust import environment, eventually
from test_web_ui import free_port, started
from tiny_front import Front

# The share of the 20 users in the form with which each scenario begins.
SHARES = {"CurtainUp": 1.0, "Slashdot": 0.1}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "chromium is missing; make test installs it as root"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def locust(front: Front) -> Iterator[str]:
    """The address of the page of a Locust that nobody has used yet."""
    port = free_port()
    with started(LOCUST_WEB_PORT=str(port), **environment(front)):
        yield f"http://127.0.0.1:{port}/"


def choose(page: Page, scenario: str) -> None:
    page.locator("select[name=shapeClass]").select_option(scenario)


def expect_open(page: Page) -> None:
    """The form shows how many will come, and lets that be changed."""
    for field, offered in (("userCount", "20"), ("spawnRate", "4")):
        expect(page.locator(f"input[name={field}]")).to_be_enabled()
        expect(page.locator(f"input[name={field}]")).to_have_value(offered)


def state(address: str) -> dict[str, Any]:
    return dict(requests.get(f"{address}stats/requests", timeout=60).json())


def classes(address: str) -> set[str]:
    """The classes of the users there are, by their share."""
    shares = requests.get(f"{address}tasks", timeout=60).json()["per_class"]
    return {name for name, share in shares.items() if share["ratio"]}


@pytest.mark.parametrize("scenario", SHARES)
def test_a_scenario_starts_at_the_first_click(
    front: Front, locust: str, browser: Browser, scenario: str
) -> None:
    page = browser.new_page()
    page.goto(locust)
    choose(page, scenario)
    expect_open(page)
    page.get_by_role("button", name=re.compile("start", re.I)).click()
    expect(page.get_by_text("RUNNING")).to_be_visible(timeout=60_000)
    eventually(lambda: state(locust)["user_count"] == 20 * SHARES[scenario])
    if scenario == "CurtainUp":  # everybody is there: the classes in their proportions, and no Player
        assert classes(locust) == {"Audience", "FlashClient", "Reader", "SlowReader", "WebAudience"}
        eventually(lambda: front.stage.heard["JOIN"] > 5)
    # The same page, a second time, and a page opened anew.
    page.get_by_role("button", name=re.compile("stop", re.I)).click()
    expect(page.get_by_text("STOPPED")).to_be_visible(timeout=60_000)
    for _ in range(2):
        page.get_by_role("button", name="New").click()
        choose(page, scenario)
        expect_open(page)
        page.reload()
    page.close()


def test_a_player_comes_if_the_form_names_an_account(front: Front, locust: str, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(locust)
    choose(page, "CurtainUp")
    page.get_by_text("Custom parameters").click()
    page.locator("input[name=player]").fill("ann")
    page.locator("input[name=password]").fill(front.password)
    page.get_by_role("button", name=re.compile("start", re.I)).click()
    eventually(lambda: state(locust)["user_count"] == 20)
    assert "Player" in classes(locust)
    eventually(lambda: front.asked["/admin/login"] == 1)
    page.close()


def test_a_foreign_target_is_refused_where_it_was_typed(locust: str, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(locust)
    page.locator("input[name=host]").fill("http://elsewhere.example")
    page.get_by_role("button", name=re.compile("start", re.I)).click()
    expect(page.get_by_text("The target is fixed.")).to_be_visible()
    assert state(locust)["state"] == "ready"
    page.close()
