"""Record the moving picture of README.md, docs/images/proscenium.webp, from the running stack.

    .venv/bin/python -m docs.record

The demo stage is brought back to its start (`make reset`). A player speaks and walks; House lights show which
server sent each file on a first visit and on a second one, then while the backend hangs (`make break`) and
when it is mended. Each frame is taken while something is waited for. A long wait is shown for three seconds,
so the picture is as long on a slow machine.
"""

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browsing import on_stage, point, say
from tests.stack import REPO
from tests.support.chromium import chromium

TARGET = REPO / "docs" / "images" / "proscenium.webp"
LARGEST = 500_000  # bytes
SITE = f"http://localhost:{os.environ.get('HTTP_PORT', '8080')}"
SIZE, CAPTION = (960, 560), 40  # of the page, and the height of the line below it
FRAME, READ = 200, 1400  # milliseconds: between two frames, and to read what a frame shows
MOST = 3000 // FRAME  # frames of one event
PATIENCE = 60  # seconds for an event
CURTAIN_IS_OPEN = "document.getAnimations().every(({ playState }) => playState === 'finished')"
HARLEQUIN = '.avatar[data-id="1"]'


class Film:
    """A page's frames, each with a line of text below it and the milliseconds for which it is shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.caption = ""
        self.frames: list[tuple[Image.Image, int]] = []
        self._font = ImageFont.load_default(19)

    def shoot(self, milliseconds: int = FRAME) -> None:
        """Take a frame; one that shows what the last one did makes that last longer."""
        frame = Image.new("RGB", (SIZE[0], SIZE[1] + CAPTION), "#15132a")
        frame.paste(Image.open(io.BytesIO(self.page.screenshot())))
        ImageDraw.Draw(frame).text((16, SIZE[1] + 8), self.caption, "#f6e7cb", self._font)
        if self.frames and self.frames[-1][0].tobytes() == frame.tobytes():
            self.frames[-1] = frame, self.frames[-1][1] + milliseconds
        else:
            self.frames.append((frame, milliseconds))

    def until(self, happened: Callable[[], bool]) -> None:
        """Film until something has happened. Raise AssertionError if it does not."""
        deadline, left = time.monotonic() + PATIENCE, MOST
        while not happened():
            assert time.monotonic() < deadline, f"not within {PATIENCE} s: {self.caption}"
            began = time.monotonic()
            if left:
                self.shoot()
                left -= 1
            self.page.wait_for_timeout(max(1.0, FRAME - 1000 * (time.monotonic() - began)))
        self.shoot()

    def save(self) -> None:
        """Write the file, in the best quality that fits."""
        first, *others = [frame for frame, _ in self.frames]
        durations = [milliseconds for _, milliseconds in self.frames]
        for quality in range(85, 15, -10):
            file = io.BytesIO()
            first.save(
                file, "WEBP", save_all=True, append_images=others, duration=durations, loop=0,
                quality=quality, method=4, minimize_size=True,
            )  # fmt: skip
            if file.tell() <= LARGEST:
                TARGET.write_bytes(file.getvalue())
                shown = f"{len(durations)} frames, {sum(durations) / 1000:.1f} s, {file.tell() / 1000:.0f} kB"
                print(f"{TARGET.relative_to(REPO)}: {shown}, quality {quality}")
                return
        sys.exit(f"More than {LARGEST} bytes in any quality: {len(durations)} frames")


def run(*command: str) -> str:
    """Run a command of the stack; return what it printed."""
    return subprocess.run(command, cwd=REPO, check=True, stdout=subprocess.PIPE, text=True).stdout


def there(locator: Locator) -> Callable[[], bool]:
    return lambda: locator.count() > 0


def open_player(browser: Browser) -> Page:
    """The stage in a window of the admin, who plays Harlequin."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page.goto(f"{SITE}/admin/")
    page.locator("input[name=username]").fill("admin")
    password = run("docker", "compose", "exec", "-T", "backend", "upstage", "admin-password").strip()
    page.locator("input[name=password]").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"{SITE}/stages/demo")
    on_stage(page).locator("#avatar-tray .thing", has_text="Harlequin").click()
    expect(page.locator(".avatar.mine")).to_be_visible()
    return page


def show_lights(film: Film) -> None:
    """Open House lights when the page's scripts have started; wait until they list the stage's pictures."""
    expect(film.page.locator("#served-switch")).to_be_visible()
    expect(film.page.locator("#lost")).to_have_count(0)
    film.page.locator("#served-switch").click()
    film.until(there(film.page.locator("#served-rows tr", has_text="/media/fox.svg")))


def play(film: Film, player: Page) -> None:
    """All that the picture shows."""
    page = film.page
    live, fault = page.locator("body[data-state=live]"), page.locator("#served-fault")

    film.caption = "A stage in the browser: a player speaks and walks, the audience answers."
    on_stage(page)
    film.shoot(FRAME * 2)
    say(player, "Good evening! May I cross the garden?")
    film.until(there(page.locator(f"{HARLEQUIN} .bubble.speech")))
    player.mouse.click(*point(player, 88, 186))
    film.until(there(page.locator(f"{HARLEQUIN}.walking")))
    say(page, "Mind the Diva!")
    film.until(there(page.locator("#chat-log", has_text="Mind the Diva!")))
    film.until(there(page.locator(f"{HARLEQUIN}:not(.walking)")))
    film.shoot(FRAME * 2)

    film.caption = "House lights: which server sent each file. On a first visit, UpStage has to work."
    show_lights(film)
    film.shoot(READ)
    film.caption = "The same page again: nginx and Varnish answer, from their copies."
    page.reload(wait_until="commit")
    film.until(there(live))
    show_lights(film)
    film.shoot(READ)

    film.caption = "$ make break FAULT=backend-frozen"
    try:
        run("make", "break", "FAULT=backend-frozen")
        film.until(there(fault.filter(has_text="Broken on purpose since")))
        film.shoot(READ)
        film.caption = "UpStage hangs, and the page still loads, from copies."
        page.reload(wait_until="commit")
        show_lights(film)
        film.until(there(fault.filter(has_text="Broken on purpose since")))
        film.shoot(READ)
        film.caption = "$ make mend"
    finally:
        run("make", "mend")
    film.until(there(fault.filter(has_text="and mended")))
    film.shoot(READ // 2)
    film.caption = "Nothing is lost: Harlequin stands where he was, and the chat goes on."
    page.reload(wait_until="commit")
    film.until(there(live))
    film.until(lambda: bool(page.evaluate(CURTAIN_IS_OPEN)))
    film.shoot(READ)


def main() -> None:
    run("make", "reset", "STAGE=demo")
    with chromium() as browser:
        player = open_player(browser)
        run("make", "purge", "TAG=media")  # so that the first visit finds no copies
        page = browser.new_page(
            viewport={"width": SIZE[0], "height": SIZE[1]}, reduced_motion="no-preference"
        )
        page.goto(f"{SITE}/stages/demo")
        film = Film(page)
        play(film, player)
    film.save()


if __name__ == "__main__":
    main()
