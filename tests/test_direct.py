"""direct.localhost, UpStage as installed in 2011, and the badge that says which path a page took."""

import re

from playwright.sync_api import Browser, expect

from tests.browsing import PICTURES, on_stage
from tests.stack import Stack

DIRECT = "direct.localhost"


def test_the_buttons_of_the_front_page_name_the_server(stack: Stack, browser: Browser) -> None:
    page = browser.new_page()
    for host, said in (
        ("localhost", re.compile("varnish; ")),
        ("static.localhost", "no cache on the way: nginx read the file"),
        (DIRECT, "no cache on the way: UpStage itself"),
    ):
        page.goto(stack.url("/", host))
        page.locator("[data-ask='/media/bench/tiny.html']").click()
        expect(page.locator("#answers .cache")).to_have_text(said)
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
