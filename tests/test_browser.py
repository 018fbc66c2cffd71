"""The stage in a real browser."""

import pytest

from lessons.checking.lesson import lessons
from tests.browsing import PICTURES, Visit, looks_right, on_stage, sign_in
from tests.stack import Stack

SCREENS = ((1280, 800), (390, 844))  # a laptop and a phone
LESSONS = ["/lessons/", f"/lessons/{lessons()[0].folder.name}", "/lessons/course"]  # the others are alike


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


@pytest.mark.parametrize("path", ["/", "/stages/", "/stages/demo/log", "/signup", "/admin/", *LESSONS])
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
