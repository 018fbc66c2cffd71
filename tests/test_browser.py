"""The stage in a real browser."""

import shlex
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from house import REPO, House
from stage_client import RawStage, enter

Visit = Callable[..., Page]
PICTURES = REPO / "test-results"
QUIET = shlex.split("""
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync
""")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "chromium is missing; make test installs it as root"
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the pages of a test complained about: console errors and uncaught exceptions."""
    return []


@pytest.fixture
def visit(browser: Browser, house: House, complaints: list[str]) -> Iterator[Visit]:
    """visit(path, width=1280) opens a page as a new visitor."""
    contexts = []

    def open_page(path: str, width: int = 1280, height: int = 800) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(house.url(path))
        return page

    yield open_page
    for context in contexts:
        context.close()


def on_stage(page: Page) -> Page:
    """Wait until the stage is live and its curtain is up."""
    expect(page.locator("body[data-state=live]")).to_be_visible(timeout=20_000)
    page.evaluate("Promise.allSettled(document.getAnimations().map(motion => motion.finished))")
    return page


def test_the_stage_is_drawn(house: House, visit: Visit, complaints: list[str]) -> None:
    for width, height in ((1280, 800), (390, 844)):
        page = on_stage(visit("/stages/demo", width, height))
        assert page.locator(".avatar:visible").count() >= 3
        drawn = page.evaluate(
            "[...document.querySelectorAll('#stage img')].filter(i => i.checkVisibility())"
            ".map(i => [i.getAttribute('src'), i.complete && i.naturalWidth > 0])"
        )
        assert len(drawn) >= 4
        assert all(ok for _, ok in drawn), drawn
        page.screenshot(path=PICTURES / f"stage-{house.mode}-{width}.png")
    assert complaints == []


def test_two_browsers_and_a_raw_socket_chat(house: House, visit: Visit, complaints: list[str]) -> None:
    raw = RawStage(house.ports["SWF_PORT"])
    enter(raw)
    first, second = on_stage(visit("/stages/demo")), on_stage(visit("/stages/demo"))

    raw.send("TEXT", msg="a line from the raw socket <b>& more</b>")
    for page in (first, second):
        expect(page.locator("#chat-log")).to_contain_text("a line from the raw socket <b>& more</b>")

    first.locator("#chat-input").fill("a line from a browser")
    first.locator("#chat-input").press("Enter")
    for page in (first, second):
        expect(page.locator("#chat-log")).to_contain_text("a line from a browser")
    # On the wire no line is ever markup: an old client would have drawn it as such.
    assert raw.until("ANONTEXT")[-1]["text"] == "a line from the raw socket &lt;b&gt;& more&lt;/b&gt;"
    assert raw.until("ANONTEXT")[-1]["text"] == "a line from a browser"

    second.screenshot(path=PICTURES / f"chat-{house.mode}.png")
    raw.close()
    assert complaints == []


@pytest.mark.parametrize("path", ["/", "/stages/", "/admin/"])
def test_pages_have_no_complaints(house: House, visit: Visit, complaints: list[str], path: str) -> None:
    name = path.strip("/") or "front"
    for width, height in ((1280, 800), (390, 844)):
        page = visit(path, width, height)
        assert page.locator("h1").count() == 1
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, f"{path} is {wider} px wider than a screen of {width}"
        page.screenshot(path=PICTURES / f"{name}-{house.mode}-{width}.png", full_page=True)
    assert complaints == []


def test_a_login_in_the_browser(house: House, visit: Visit, complaints: list[str]) -> None:
    page = visit("/admin/")
    page.locator("input[name=username]").fill("admin")
    page.locator("input[name=password]").fill(house.admin_password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    assert page.url == house.url("/admin/")
    page.screenshot(path=PICTURES / f"workshop-{house.mode}.png")
    assert complaints == []
