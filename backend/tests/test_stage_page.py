"""The stage page in a real browser: the parts that must be in view, and its behaviour without a script."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from backend.tests.running_backend import PASSWORD, Backend


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    backend = Backend(tmp_path_factory.mktemp("stage-page"), UPSTAGE_ADMIN_PASSWORD=PASSWORD)
    yield f"http://127.0.0.1:{backend.web_port}"
    backend.end()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(reduced_motion="reduce")
    yield page
    page.context.close()


def act(page: Page, address: str, avatar: str) -> None:
    """Sign in and take an avatar on the demo stage."""
    page.goto(f"{address}/admin/")
    page.locator("input[name=username]").fill("admin")
    page.locator("input[name=password]").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"{address}/stages/demo")
    page.locator("#avatar-tray .thing", has_text=avatar).click()
    expect(page.locator(".avatar.mine")).to_be_visible()


def test_house_lights_name_what_was_broken_on_purpose(page: Page, address: str) -> None:
    """nginx, which does not run here, would serve the note."""
    note = {"title": "Varnish hangs", "users": "Pages wait.", "broken": 1e9, "mended": 0}
    page.route("**/.nginx/fault", lambda route: route.fulfill(json=note))
    page.goto(f"{address}/stages/demo")
    page.locator("#served-switch").click()
    line = page.locator("#served-fault")
    expect(line).to_have_text(re.compile(r"^Broken on purpose since \S+: Varnish hangs\. Pages wait\.$"))
    note["mended"] = page.evaluate("Date.now() / 1000")
    expect(line).to_have_text(re.compile(r"^Broken on purpose at \S+, and mended: Varnish hangs\.$"))
    expect(line).to_have_class("mended")  # red means now
    expect(page.locator("#served-rows")).not_to_contain_text("/.nginx/fault")
    note["mended"] = 2e9 / 2
    expect(line).to_be_hidden()


def test_a_lost_script_is_requested_again(page: Page, address: str) -> None:
    loads: list[str] = []
    page.on("framenavigated", lambda frame: loads.append(frame.url))
    page.route("**/geometry.js", lambda route: route.continue_() if len(loads) > 2 else route.abort())
    page.goto(f"{address}/stages/demo")
    expect(page.locator("body[data-state=live]")).to_be_visible(timeout=30_000)
    expect(page.locator("#lost")).to_have_count(0)
    assert len(loads) == 3


def test_a_page_whose_script_stays_lost_says_what_to_do(page: Page, address: str) -> None:
    page.route("**/recover.js", lambda route: route.abort())
    page.route("**/geometry.js", lambda route: route.abort())
    page.goto(f"{address}/stages/demo")
    link = page.get_by_role("link", name="load this page again")
    expect(link).to_be_visible()
    page.unroute_all()
    link.click()
    expect(page.locator("body[data-state=live]")).to_be_visible(timeout=30_000)


@pytest.mark.parametrize(("width", "height"), [(844, 390), (667, 375)])
def test_a_phone_on_its_side_shows_the_stage_the_tools_and_the_chat(
    page: Page, address: str, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    act(page, address, "Harlequin")
    for part in (
        *("#stage", "#audience-row", "#served-switch", "#tabs", "#panel-avatars", "#chat-log"),
        "#chat-input",
    ):
        expect(page.locator(part)).to_be_in_viewport(ratio=0.99)
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_a_bubble_stays_inside_the_frame(page: Page, address: str) -> None:
    act(page, address, "Mister Fox")  # in front of the others
    stage = page.locator("#stage").bounding_box()
    assert stage
    for x in (4, 75, 245, 316):
        drag_to(page, stage["x"] + stage["width"] * x / 320)
        expect(page.locator(".avatar.mine")).to_have_attribute("style", re.compile(rf"--x: {x};"))
        page.locator("#chat-input").fill(f"{x}: a sentence of some length, said at the edge of the stage")
        page.locator("#chat-input").press("Enter")
        box = page.locator(".avatar.mine .bubble", has_text=f"{x}:").bounding_box()
        assert box
        assert stage["x"] <= box["x"], x
        assert box["x"] + box["width"] <= stage["x"] + stage["width"], x


def drag_to(page: Page, x: float) -> None:
    """Drag the player's avatar to a place at the same height."""
    box = page.locator(".avatar.mine > img").first.bounding_box()
    assert box
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(x, middle[1], steps=3)
    page.mouse.up()
