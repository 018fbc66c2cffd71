"""`/lessons`: files that the lessons' own program writes (lessons/pages/), and how long caches keep them."""

import re
import subprocess
import sys
from pathlib import Path
from typing import TextIO

from twisted.web.server import Request

from upstage.net.purge import ALL_LESSONS
from upstage.web.files import MEDIA_CSP, REVALIDATE, serve
from upstage.web.nodes import Node, redirect
from upstage.web.templates import Pages

CACHE = b"max-age=0, s-maxage=60"  # if a purge is lost, the old pages stay for a minute at most
# The cheat sheet is a document with a style of its own, and without scripts.
SHEET_CSP = (
    b"default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; "
    b"form-action 'none'; frame-ancestors 'none'"
)
FILE = re.compile(rb".+\.[a-z]+")
NUMBERED = re.compile(rb"\d\d-[a-z-]+(\.html)?\Z")


def write_lessons(lessons: Path, data: Path, results: TextIO | int = subprocess.DEVNULL) -> str:
    """Write the pages into the data folder, with these results of the learner, or those stored earlier.

    Return the error message, or an empty string. The program runs beside the lessons' folder, and reads this
    server's environment.
    """
    command = [sys.executable, "-m", "lessons.pages", str(data)]
    done = subprocess.run(
        command,
        cwd=lessons.parent,
        stdin=results,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    return done.stderr.strip() if done.returncode else ""


class LessonsFolder(Node):
    """`/lessons`, and the URLs below it: `/lessons/course` is the file `course.html`."""

    isLeaf = True

    def __init__(self, pages: Pages, folder: Path) -> None:
        super().__init__(pages)
        self._folder = folder

    def render_GET(self, request: Request) -> bytes | int:
        request.setHeader(b"cache-control", CACHE)
        path = list(request.postpath or [])
        if not path:
            return redirect(request, "/lessons/")
        request.setHeader(b"x-cache-tags", ALL_LESSONS.encode())  # `upstage lessons` purges it
        if path == [b"cheat-sheet"]:
            request.setHeader(b"content-security-policy", SHEET_CSP)
        elif path[0] == b"pictures":
            request.setHeader(b"cache-control", REVALIDATE)
            request.setHeader(b"content-security-policy", MEDIA_CSP)
        if not FILE.fullmatch(path[-1]):
            path[-1] = (path[-1] or b"index") + b".html"
        if NUMBERED.match(path[0]) and (renamed := self._renamed(path[0].decode())):
            return redirect(request, f"/lessons/{renamed}")
        return serve(request, self.pages, self._folder, path)

    def _renamed(self, name: str) -> str:
        """Return the present name of a lesson's renamed page, found by its number; else an empty string."""
        if (self._folder / name).with_suffix(".html").exists():
            return ""
        return next((file.stem for file in self._folder.glob(f"{name[:3]}*.html")), "")
