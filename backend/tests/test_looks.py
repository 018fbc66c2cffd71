"""Pages in a real browser, on a laptop and on a phone: one heading, nothing too wide, and what axe knows."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Page

from backend.tests.running_backend import PASSWORD, Backend
from lessons.lesson import LESSONS, lessons
from tests.browsing import PICTURES, sign_in, unreadable, wider
from tests.support.chromium import listen

SCREENS = ((1280, 800), (390, 844))  # a laptop and a phone
PAGES = ["/", "/try/", "/stages/", "/stages/demo/log", "/signup", "/admin/", "/lessons/", "/lessons/course"]
PAGES.append(f"/lessons/{lessons()[0].folder.name}")  # the other lessons' pages are alike
WORKSHOP = ("", "workshop/stages", "workshop/stages/demo", "workshop/media", "workshop/media/harlequin.svg")
WORKSHOP += ("workshop/players",)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    backend = Backend(
        tmp_path_factory.mktemp("looks"),
        UPSTAGE_LESSONS=str(LESSONS),
        UPSTAGE_ADMIN_PASSWORD=PASSWORD,
        UPSTAGE_SIGNUP="open",
    )
    with closing(backend.on_stage()) as client:
        client.send("TEXT", msg="bravo!")
        client.until("ANONTEXT")
    yield f"http://127.0.0.1:{backend.web_port}"
    backend.end()


@pytest.fixture
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    page = browser.new_page(reduced_motion="reduce")
    listen(page, complaints)
    yield page
    page.context.close()
    assert complaints == []


def looks_right(page: Page, url: str, name: str) -> None:
    """Check a page on each screen; take screenshots with that name."""
    page.goto(url)
    assert page.locator("h1").count() == 1
    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        assert wider(page) <= 0, url
        page.screenshot(path=PICTURES / f"{name.strip('/').replace('/', '-')}-{width}.png", full_page=True)
    assert unreadable(page) == []  # on the phone: the colours are those of the laptop


@pytest.mark.parametrize("path", PAGES)
def test_pages_look_right(page: Page, address: str, path: str) -> None:
    looks_right(page, address + path, path.strip("/") or "front")


@pytest.mark.long
def test_the_workshop_looks_right(page: Page, address: str) -> None:
    sign_in(page, f"{address}/admin/", "admin", PASSWORD)
    for path in WORKSHOP:
        looks_right(page, f"{address}/admin/{path}", f"signed-in/{path}")


def test_a_lesson_on_paper_is_its_text(page: Page, address: str) -> None:
    page.goto(address + PAGES[-1])
    page.emulate_media(media="print")
    page.screenshot(path=PICTURES / "lesson-on-paper.png", full_page=True)
    for part in ("body > header", "body > footer", ".neighbours", "#where", ".copy"):
        assert not page.locator(part).first.is_visible(), part
    assert page.locator(".lesson .text").is_visible()
