"""Looking at the house with a real browser: what the browser tests share."""

import re
import shlex
from collections.abc import Callable

from playwright.sync_api import Page, expect

from house import REPO, House

Visit = Callable[..., Page]
PICTURES = REPO / "test-results"
QUIET = shlex.split("""
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync
""")


def on_stage(page: Page) -> Page:
    """Wait until the stage is live and its curtain is up."""
    expect(page.locator("body[data-state=live]")).to_be_visible(timeout=20_000)
    page.evaluate("Promise.allSettled(document.getAnimations().map(motion => motion.finished))")
    return page


def sign_in(page: Page, house: House, name: str, password: str) -> None:
    """Sign in at the stage door."""
    page.goto(house.url("/admin/"))
    page.locator("input[name=username]").fill(name)
    page.locator("input[name=password]").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def say(page: Page, text: str) -> None:
    """Type a line into the chat."""
    page.locator("#chat-input").fill(text)
    page.locator("#chat-input").press("Enter")


def point(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where a place of the stage, 320 wide and 200 high, is on the screen."""
    box = page.locator("#stage").bounding_box()
    assert box, "the stage is not visible"
    return box["x"] + box["width"] * x / 320, box["y"] + box["height"] * y / 200


def standing_at(x: float, y: float) -> re.Pattern[str]:
    """What the style of an avatar says when it stands there."""
    return re.compile(rf"--x: {x:g};.*--y: {y:g};")
