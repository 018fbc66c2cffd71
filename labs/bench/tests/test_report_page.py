"""The report as people see it: a real browser looks at a page made from samples."""

import re
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import bench_samples
from bench.report import write
from browsing import FAINT, QUIET

# Letters that stick out of their plot are cut off.
CUT = """() => [...document.querySelectorAll("svg.plot text")].filter(text => {
    const letters = text.getBoundingClientRect(), plot = text.ownerSVGElement.getBoundingClientRect();
    return letters.left < plot.left - 1 || letters.right > plot.right + 1
        || letters.top < plot.top - 1 || letters.bottom > plot.bottom + 1;
}).map(text => text.textContent)"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "chromium is missing; make test installs it as root"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(*bench_samples.everything(tmp_path_factory.mktemp("samples")))


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


def test_page_asks_the_network_for_nothing(page: Page, report: Path) -> None:
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(report.as_uri())
    assert asked[0] == report.as_uri()
    assert [url for url in asked[1:] if not url.startswith("data:")] == []
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_page_can_be_read(page: Page, report: Path, width: int, scheme: str) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(report.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert page.evaluate(WIDER) <= 0
    assert page.evaluate(FAINT) == []
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_letters_of_plots_are_large_enough(page: Page, report: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(report.as_uri())
    sizes = page.evaluate(
        """() => [...document.querySelectorAll("svg.plot text")].map(text => {
            const place = text.getScreenCTM();
            return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(place.c, place.d);
        })"""
    )
    assert len(sizes) > 100
    assert min(sizes) >= 10
    assert max(sizes) <= 18


def test_page_has_an_order_that_can_be_heard(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(each => +each.tagName[1])")
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.locator("svg.plot:not([role=img][aria-label])").count() == 0
    assert page.locator("img:not([alt])").count() == 0
    assert page.locator("figure").count() == page.locator("svg.plot").count() > 20
    assert page.locator(".exhibit:has(figure):not(:has(details table))").count() == 0
    assert page.locator("table:not(:has(th[scope=col]))").count() == 0
    assert page.evaluate(
        "(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(each => each.id))"
    ) == 0  # fmt: skip


def test_links_lead_somewhere(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    targets = page.evaluate("[...document.querySelectorAll('a')].map(each => each.getAttribute('href'))")
    assert len(targets) > 8
    for target in targets:
        assert page.locator(target).count() == 1, target


def test_wide_tables_scroll_in_their_own_box(page: Page, report: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(report.as_uri())
    boxes = page.locator("#lab-upstage .sheet")
    page.locator("#lab-upstage details").first.evaluate("each => { each.open = true }")
    assert boxes.first.evaluate("box => box.scrollWidth > box.clientWidth")
    assert boxes.first.get_attribute("tabindex") == "0"


def test_print_has_whole_plots_and_open_tables(page: Page, report: Path) -> None:
    page.set_viewport_size(
        {"width": 688, "height": 1017}
    )  # what A4 leaves within the margins, at 96 pixels an inch
    page.emulate_media(media="print", color_scheme="dark")
    page.goto(report.as_uri())
    heights = page.evaluate("[...document.querySelectorAll('figure')].map(each => each.offsetHeight)")
    assert max(heights) < 1017
    assert page.evaluate("getComputedStyle(document.querySelector('figure')).breakInside") == "avoid"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(FAINT) == []
    assert page.evaluate(WIDER) <= 0
    tables = page.locator(".exhibit table")
    assert tables.count() > 8
    assert all(table.bounding_box() for table in tables.all())
    # Every page that a PDF has is listed as an object of this type.
    pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True, print_background=True)))
    assert 5 < pages < 20
