"""The stage in a real browser."""

import pytest
from playwright.sync_api import expect

from browsing import PICTURES, Visit, looks_right, on_stage, sign_in
from stack import Stack

SCREENS = ((1280, 800), (390, 844))  # a laptop and a phone


def test_the_stage_is_drawn(stack: Stack, visit: Visit, complaints: list[str]) -> None:
    for width, height in SCREENS:
        page = on_stage(visit("/stages/demo", width, height, animated=True))
        assert page.locator(".avatar:visible").count() >= 3
        drawn = page.evaluate(
            "[...document.querySelectorAll('#stage img')].filter(i => i.checkVisibility())"
            ".map(i => [i.getAttribute('src'), i.complete && i.naturalWidth > 0])"
        )
        assert len(drawn) >= 4
        assert all(ok for _, ok in drawn), drawn
        page.screenshot(path=PICTURES / f"stage-{stack.mode}-{width}.png")
    assert complaints == []


def test_two_browsers_and_a_raw_socket_chat(stack: Stack, visit: Visit, complaints: list[str]) -> None:
    raw = stack.stage_client()
    raw.join()
    first, second = on_stage(visit("/stages/demo")), on_stage(visit("/stages/demo"))

    raw.send("TEXT", msg="a line from the raw socket <b>& more</b>")
    for page in (first, second):
        expect(page.locator("#chat-log")).to_contain_text("a line from the raw socket <b>& more</b>")

    first.locator("#chat-input").fill("a line from a browser")
    first.locator("#chat-input").press("Enter")
    for page in (first, second):
        expect(page.locator("#chat-log")).to_contain_text("a line from a browser")
    # No line is sent as markup, which an old client would render.
    assert raw.until("ANONTEXT")[-1]["text"] == "a line from the raw socket &lt;b&gt;& more&lt;/b&gt;"
    assert raw.until("ANONTEXT")[-1]["text"] == "a line from a browser"

    second.screenshot(path=PICTURES / f"chat-{stack.mode}.png")
    raw.close()
    assert complaints == []


@pytest.mark.parametrize("path", ["/", "/stages/", "/stages/demo/log", "/signup", "/admin/"])
def test_pages_look_right(stack: Stack, visit: Visit, complaints: list[str], path: str) -> None:
    name = path.strip("/").replace("/", "-") or "front"
    for width, height in SCREENS:
        looks_right(visit(path, width, height), f"{name}-{stack.mode}-{width}")
    assert complaints == []


def test_the_workshop_looks_right(stack: Stack, visit: Visit, complaints: list[str]) -> None:
    page = visit("/admin/")
    sign_in(page, stack, "admin", stack.admin_password)
    assert page.url == stack.url("/admin/")
    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        for path in ("", "/stages", "/stages/demo", "/media", "/media/harlequin.svg", "/players"):
            page.goto(stack.url(f"/admin/workshop{path}" if path else "/admin/"))
            looks_right(page, f"workshop{path.replace('/', '-')}-{stack.mode}-{width}")
    assert complaints == []
