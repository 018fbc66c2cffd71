"""direct.localhost, UpStage as installed in 2011, and the badge that says which path a page took."""

import re

import pytest
from playwright.sync_api import Browser, expect

from browsing import PICTURES, on_stage
from stack import Stack

DIRECT = "direct.localhost"
BADGES = {
    "localhost": "default",
    "upstage.localhost": "default",
    "127.0.0.1": "default",
    "classic.localhost": "classic",
    "nginx.localhost": "nginx",
    "static.localhost": "static",
    DIRECT: "direct",
}


@pytest.mark.smoke
def test_no_response_has_met_a_cache(stack: Stack) -> None:
    for path in ("/", "/stages/demo", "/media/fox.svg", "/media/bench/big.swf"):
        responses = [stack.get(path, DIRECT) for _ in range(2)]
        for response in responses:
            assert response.status_code == 200
            assert response.headers["Server"] == "UpStage"
            assert not response.headers.keys() & {"Cache-Status", "Server-Timing", "Age"}
    assert responses[0].content == stack.get("/media/bench/big.swf").content


def test_no_cache_mixes_the_badges(stack: Stack) -> None:
    """The same pages under every name, often enough to come from every cache."""
    for _ in range(3):
        for path in ("/", "/stages/", "/stages/demo"):
            for host, topology in BADGES.items():
                page = stack.get(path, host).text
                assert re.findall(r'data-topology="(\w+)"', page) == [topology], (host, path)


def test_the_buttons_of_the_front_page_name_the_server(stack: Stack, browser: Browser) -> None:
    page = browser.new_page()
    for host, answer in (
        ("localhost", re.compile("varnish; ")),
        ("static.localhost", "no cache on the way: nginx read the file"),
        (DIRECT, "no cache on the way: UpStage itself"),
    ):
        page.goto(stack.url("/", host))
        page.locator("[data-ask='/media/bench/tiny.html']").click()
        expect(page.locator("#answers .cache")).to_have_text(answer)
    page.close()


def test_the_stage_shows_that_upstage_does_it_all(stack: Stack, browser: Browser) -> None:
    page = browser.new_page(reduced_motion="reduce")
    page.goto(stack.url("/stages/demo", DIRECT))
    on_stage(page)
    page.locator(".badge summary").click()
    expect(page.locator(".badge")).to_contain_text("This page came straight from the theatre")
    page.screenshot(path=PICTURES / f"direct-{stack.mode}.png")
    page.locator(".badge summary").click()
    page.locator("#served-switch").click()
    expect(page.locator("#served-stations li")).to_have_count(2)
    expect(page.locator("#served-summary")).to_have_text(
        re.compile(r"^(\d+) files, .* over the network\. UpStage had to work for \1\.$")
    )
    page.close()
