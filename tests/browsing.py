"""Helpers of the tests that use a real browser."""

import re
from collections.abc import Callable

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.stack import REPO

Visit = Callable[..., Page]
PICTURES = REPO / "test-results"
expect.set_options(timeout=30_000)  # milliseconds, for busy machines


def on_stage(page: Page) -> Page:
    """Wait until the stage is connected and its opening animation is over."""
    expect(page.locator("body[data-state=live]")).to_be_visible()
    page.evaluate("Promise.allSettled(document.getAnimations().map(motion => motion.finished))")
    return page


def sign_in(page: Page, url: str, name: str, password: str) -> None:
    """Sign in as a player at the address of /admin/."""
    page.goto(url)
    page.locator("input[name=username]").fill(name)
    page.locator("input[name=password]").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def wider(page: Page) -> int:
    """Return the pixels by which the page is wider than its window."""
    size = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    return page.evaluate(size)  # type: ignore[no-any-return]


def unreadable(page: Page) -> list[str]:
    """Return what axe finds in the page, in the light and in the dark scheme, except minor findings.

    Its rules: https://github.com/dequelabs/axe-core/blob/develop/doc/rule-descriptions.md
    """
    found = []
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        for rule in Axe().run(page).response["violations"]:
            places = ", ".join(node["html"][:120] for node in rule["nodes"][:3])
            if rule["impact"] != "minor":
                found.append(f"{scheme}: {rule['help']} ({rule['id']}): {places}")
    return found


def say(page: Page, text: str) -> None:
    """Type a line into the chat."""
    page.locator("#chat-input").fill(text)
    page.locator("#chat-input").press("Enter")


def point(page: Page, x: float, y: float) -> tuple[float, float]:
    """Return the screen position of a point of the stage, which is 320 wide and 200 high."""
    box = page.locator("#stage").bounding_box()
    assert box, "the stage is not visible"
    return box["x"] + box["width"] * x / 320, box["y"] + box["height"] * y / 200


def standing_at(x: float, y: float) -> re.Pattern[str]:
    """Return a pattern for the style attribute of an avatar at that position."""
    return re.compile(rf"--x: {x:g};.*--y: {y:g};")
