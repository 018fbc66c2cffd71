"""`/media/video/NAME.jpg`: webcam frames by long poll, as in UpStage.

A client requests the next frame as soon as it has one. The parameter `s` identifies the client; `u`, new each
time, makes each URL unique for caches.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import LoopingCall

from upstage.net.slices import Slices
from upstage.web.files import MEDIA_CSP, SEGMENT, serve
from upstage.web.nodes import Node, held
from upstage.web.request import SiteRequest
from upstage.web.templates import Pages

EXAMINE = 0.67  # seconds between two checks of a file
TOO_OLD = 30.0  # seconds: an older frame is sent immediately, because the camera must have stopped
MAX_WAITING = 2000  # requests; further requests get the current frame immediately
MAX_VIEWERS = 5000  # values of `s` that are remembered; a forgotten one counts as new
MAX_VIEWER = 64  # characters of `s` that count

Version = tuple[int, int]  # a file's mtime in ns, and its inode, which a rename changes even within a tick


class Frames:
    """The frame that each viewer has seen, and the requests that wait for a new one."""

    def __init__(self, folder: Path, reactor: Any, now: Callable[[], float] = time.time) -> None:
        """`now` is the clock of file dates, in seconds."""
        self._folder = folder
        self._now = now
        self._seen: OrderedDict[tuple[str, str], Version] = OrderedDict()
        self._waiting: dict[Deferred[Path], tuple[str, str]] = {}
        self._slices = Slices(reactor)  # there may be thousands of requests
        self._loop = LoopingCall(self._examine)
        self._loop.clock = reactor

    @property
    def waiting(self) -> int:
        """The number of requests that wait."""
        return len(self._waiting)

    def next(self, name: str, viewer: str) -> Deferred[Path]:
        """Fire with the path of file `name` when there is a frame to send to `viewer`.

        It fires immediately if the viewer is new or unnamed or has not had this frame yet, if the frame is so
        old that the camera must have stopped, if too many requests wait, or if there is no frame (then the
        path does not exist).
        """
        viewer = viewer[:MAX_VIEWER]
        if self.waiting >= MAX_WAITING or self._due(name, viewer):
            return succeed(self._folder / name)
        ready: Deferred[Path] = Deferred(self._left)
        self._waiting[ready] = name, viewer
        if not self._loop.running:
            self._loop.start(EXAMINE, now=False)
        return ready

    def _left(self, ready: Deferred[Path]) -> None:
        del self._waiting[ready]

    def _examine(self) -> None:
        """Answer the requests that are due, a few at a time."""
        if not self._waiting:
            self._loop.stop()
        elif not self._slices:  # otherwise the previous round is not finished
            for ready in self._waiting:
                self._slices.add(partial(self._examine_one, ready))

    def _examine_one(self, ready: Deferred[Path]) -> None:
        if ready in self._waiting and self._due(*self._waiting[ready]):
            name, _ = self._waiting.pop(ready)
            ready.callback(self._folder / name)

    def _due(self, name: str, viewer: str) -> bool:
        """Return whether to answer a viewer now; if so, remember that it has seen the frame."""
        try:
            info = (self._folder / name).stat()
        except OSError:
            return True
        if not viewer:
            return True
        version = info.st_mtime_ns, info.st_ino
        if self._seen.get((name, viewer)) == version and self._now() - info.st_mtime <= TOO_OLD:
            return False
        self._seen[name, viewer] = version
        self._seen.move_to_end((name, viewer))
        if len(self._seen) > MAX_VIEWERS:
            self._seen.popitem(last=False)
        return True


class WebcamFolder(Node):
    """`/media/video`: frames as JPEG only, never cached."""

    isLeaf = True

    def __init__(self, pages: Pages, frames: Frames) -> None:
        super().__init__(pages)
        self._frames = frames

    async def render_GET(self, request: SiteRequest) -> bytes | int:
        path = request.postpath or []
        if len(path) != 1 or not SEGMENT.fullmatch(path[0]):
            return self.pages.error(request, 404)
        name = path[0].decode("ascii")
        if not name.endswith(".jpg"):
            return self.pages.error(request, 403)
        viewer = (request.args or {}).get(b"s", [b""])[0].decode("latin-1")
        if request.method == b"HEAD":
            viewer = ""  # the response to a HEAD shows no frame
        frame = await held(request, self._frames.next(name, viewer))
        request.setHeader(b"content-security-policy", MEDIA_CSP)
        request.setHeader(b"cache-control", b"no-store")
        return serve(request, self.pages, frame.parent, path)
