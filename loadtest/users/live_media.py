"""Fetches the media of a running stage as a browser does: spoken lines and webcam pictures.

It works as the stage's own page (backend/src/upstage/site/script/speech.js and webcam.js) with sound on.
"""

import time
from collections.abc import Callable
from secrets import token_hex

from gevent import sleep
from gevent.pool import Group, Pool

LINES = 5  # spoken lines that a browser loads at once; if it has fallen behind, it drops further ones
EVERY = 1.5  # seconds from one webcam picture to the next, as in UpStage
PAUSE = 0.5  # seconds from a response to the next request, at least
MOST_FAILURES = 10  # failed requests in a row, after which the camera counts as stopped


class LiveMedia:
    """The requests of one session. `fetch` requests a path and returns whether that succeeded."""

    def __init__(self, fetch: Callable[[str], bool]) -> None:
        self._fetch = fetch
        self._lines = Pool(LINES)
        self._cameras = Group()

    def received(self, mode: str, fields: dict[str, str]) -> None:
        """Request the media that a frame names."""
        url, still = fields.get("url", ""), fields.get("thumbnail", "")
        if mode == "WAVE" and url.startswith("/speech/") and not self._lines.full():
            self._lines.spawn(self._fetch, url)
        elif mode == "LOAD_AV" and fields.get("medium") == "video":
            if still.startswith("/media/"):
                self._cameras.spawn(self._fetch, still)
            if url.startswith("/media/"):
                self._cameras.spawn(self._watch, url)

    def stop(self) -> None:
        """Cancel the requests under way."""
        self._lines.kill()
        self._cameras.kill()

    def _watch(self, url: str) -> None:
        """Request one webcam picture after another; the server responds when there is a newer one."""
        viewer = token_hex(4)  # tells the server which picture this client has
        failures = 0
        while failures < MOST_FAILURES:
            asked = time.monotonic()
            if self._fetch(f"{url}?s={viewer}&u={token_hex(4)}"):
                failures = 0
                sleep(max(PAUSE, EVERY - (time.monotonic() - asked)))
            else:
                failures += 1
                sleep(EVERY)
