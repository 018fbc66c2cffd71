"""The report in a real browser: desktop, dark, phone and paper."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from bench.report import write
from bench.tests import samples
from browsing import FAINT
from support.chromium import chromium

pytestmark = pytest.mark.slow  # drawing a report of every kind of exhibit takes twenty seconds

# Letters outside of their plot are cut off; letters of 10 pixels and more can be read.
BAD_LETTERS = """() => [...document.querySelectorAll("svg.plot text")].filter(text => {
    const letters = text.getBoundingClientRect(), plot = text.ownerSVGElement.getBoundingClientRect();
    const place = text.getScreenCTM();
    const size = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(place.c, place.d);
    return letters.left < plot.left - 1 || letters.right > plot.right + 1
        || letters.top < plot.top - 1 || letters.bottom > plot.bottom + 1 || size < 10 || size > 18;
}).map(text => text.textContent)"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(*samples.everything(tmp_path_factory.mktemp("samples")))


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_the_page_can_be_read(page: Page, report: Path, width: int, scheme: str) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(report.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert page.evaluate(WIDER) <= 0, "wide tables scroll in their own box"
    assert page.evaluate(FAINT) == []
    assert page.locator("svg.plot text").count() > 100
    assert page.evaluate(BAD_LETTERS) == []
    assert [url for url in requested[1:] if not url.startswith("data:")] == []


def test_the_page_can_be_heard_and_its_links_lead_somewhere(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(each => +each.tagName[1])")
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.locator("svg.plot:not([role=img][aria-label])").count() == 0
    assert page.locator("figure").count() == page.locator("svg.plot").count() > 20
    assert page.locator(".exhibit:has(figure):not(:has(details table))").count() == 0
    assert page.locator("table:not(:has(th[scope=col]))").count() == 0
    assert page.locator(".sheet:not([tabindex='0'])").count() == 0, "a keyboard can scroll it"
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))
    targets = page.evaluate("[...document.querySelectorAll('a')].map(each => each.getAttribute('href'))")
    assert len(targets) > 8
    for target in targets:
        assert page.locator(target).count() == 1, target


def test_on_paper_every_table_is_open_and_no_plot_is_cut(page: Page, report: Path) -> None:
    page.set_viewport_size({"width": 688, "height": 1017})  # A4 within its margins, at 96 pixels an inch
    page.emulate_media(media="print", color_scheme="dark")
    page.goto(report.as_uri())
    heights = page.evaluate("[...document.querySelectorAll('figure')].map(each => each.offsetHeight)")
    assert max(heights) < 1017
    assert page.evaluate("getComputedStyle(document.querySelector('figure')).breakInside") == "avoid"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(FAINT) == []
    assert page.evaluate(WIDER) <= 0
    visible = page.evaluate(
        "[...document.querySelectorAll('.exhibit table')].map(each => each.checkVisibility())"
    )
    assert len(visible) > 8
    assert all(visible)
