"""Helpers of the tests that use a real browser."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from stack import REPO, Stack

Visit = Callable[..., Page]
PICTURES = REPO / "test-results"
expect.set_options(timeout=30_000)  # milliseconds, for busy machines

UNLABELLED = """() => [...document.querySelectorAll("input:not([type=hidden]), select, textarea")]
    .filter(field => !field.labels.length && !field.ariaLabel).map(field => field.outerHTML)"""
# Text with less than WCAG's contrast of 4.5. The canvas turns any CSS colour into four numbers.
FAINT = """() => {
    const pen = new OffscreenCanvas(1, 1).getContext("2d");
    const colour = (...layers) => {
        for (const layer of ["white", ...layers]) {
            pen.fillStyle = layer;
            pen.fillRect(0, 0, 1, 1);
        }
        const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map(value =>
            value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const grounds = element => element
        ? [...grounds(element.parentElement), getComputedStyle(element).backgroundColor] : [];
    const speaks = element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    return [...document.querySelectorAll("body *")]
        .filter(element => speaks(element) && element.checkVisibility())
        .map(element => {
            const ground = colour(...grounds(element));
            const ink = colour(...grounds(element), getComputedStyle(element).color);
            const contrast = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
            return [contrast, element.textContent.trim()];
        })
        .filter(([contrast]) => contrast < 4.5);
}"""


def on_stage(page: Page) -> Page:
    """Wait until the stage is connected and its opening animation is over."""
    expect(page.locator("body[data-state=live]")).to_be_visible()
    page.evaluate("Promise.allSettled(document.getAnimations().map(motion => motion.finished))")
    return page


def sign_in(page: Page, stack: Stack, name: str, password: str) -> None:
    """Sign in as a player."""
    page.goto(stack.url("/admin/"))
    page.locator("input[name=username]").fill(name)
    page.locator("input[name=password]").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def looks_right(page: Page, name: str) -> None:
    """Check for one heading, no overflow, labelled fields and enough contrast; take a screenshot."""
    assert page.locator("h1").count() == 1
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider <= 0, f"{page.url} is {wider} px wider than the screen"
    assert page.evaluate(UNLABELLED) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(FAINT) == []
    page.emulate_media(color_scheme="light")
    assert page.evaluate(FAINT) == []
    page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


def say(page: Page, text: str) -> None:
    """Type a line into the chat."""
    page.locator("#chat-input").fill(text)
    page.locator("#chat-input").press("Enter")


def point(page: Page, x: float, y: float) -> tuple[float, float]:
    """The screen position of a point of the stage, which is 320 wide and 200 high."""
    box = page.locator("#stage").bounding_box()
    assert box, "the stage is not visible"
    return box["x"] + box["width"] * x / 320, box["y"] + box["height"] * y / 200


def standing_at(x: float, y: float) -> re.Pattern[str]:
    """The style attribute of an avatar at that position."""
    return re.compile(rf"--x: {x:g};.*--y: {y:g};")
