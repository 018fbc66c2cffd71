"""The stage in a real browser. (Other pages: backend/tests/test_looks.py.)"""

from tests.browsing import PICTURES, Visit, on_stage
from tests.stack import Stack

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
