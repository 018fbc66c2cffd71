"""The lessons as pages: `/lessons/` lists them and what is done, `/lessons/NAME` is one of them.

They are the README.md of each folder, read at the start. The results come from the data folder.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from twisted.web.resource import Resource
from twisted.web.server import Request

from upstage.web.request import ErrorPage, Node, Page, redirect
from upstage.web.templates import Pages
from upstage.web.visit import Published

FOLDER = re.compile(r"\d\d-[a-z-]+")
TAG = "lessons"  # of every page here, for the cache in front: `upstage lessons` purges it
CACHE = b"max-age=0, s-maxage=60"  # a purge that is lost costs a minute
OTHER_LESSON = re.compile(r"\.\./(\d\d-[a-z-]+)(?:/(?:README\.md)?)?")

Progress = Callable[[], dict[int, str]]


@dataclass(frozen=True)
class Lesson:
    """One lesson; `goal` and `body` are HTML."""

    name: str  # the folder's, such as 01-first-hit
    title: str
    goal: str  # its first sentence
    body: str  # everything below the title

    @property
    def number(self) -> int:
        """The lesson's position in the course, from 1."""
        return int(self.name[:2])


def read_lessons(folder: Path | None, published: Published) -> list[Lesson]:
    """Read every lesson of a folder, in order; none if there is no folder. Raise OSError."""
    if folder is None or not folder.is_dir():
        return []
    pages = sorted(page for page in folder.glob("*/README.md") if FOLDER.fullmatch(page.parent.name))
    return [read_lesson(page.parent.name, page.read_text("utf-8"), published) for page in pages]


def read_lesson(name: str, text: str, published: Published) -> Lesson:
    """Make a lesson of its Markdown; its commands name the ports of this stack."""
    ports = {8080: published.http, 8443: published.https, 8089: published.locust, 9090: published.observe}
    for port, ours in ports.items():
        text = re.sub(rf"(?<=localhost:){port}\b", str(ours), text)
    heading, _, body = text.partition("\n")
    title = re.sub(r"^# (\d+\. )?", "", heading)
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = markdown.parse(body)
    for token in tokens:
        token.children = _with_links_of_the_site(token.children)
        if token.type in ("code_block", "fence"):
            token.attrSet("tabindex", "0")  # a long line scrolls, also by keyboard
    first = re.split(r"(?<=[.?])\s", body.strip(), maxsplit=1)[0]
    return Lesson(
        name, title, markdown.renderInline(first), markdown.renderer.render(tokens, markdown.options, {})
    )


def _with_links_of_the_site(tokens: list[Token] | None) -> list[Token] | None:
    """Point a link to another lesson at its page; turn one to a file that the site does not have into
    text."""
    if tokens is None:
        return None
    kept: list[Token] = []
    dropped = False
    for token in tokens:
        if token.type == "link_open":
            target = str(token.attrGet("href"))
            lesson = OTHER_LESSON.fullmatch(target)
            dropped = lesson is None and not re.match("https?:|#|/", target)
            if lesson:
                token.attrSet("href", f"/lessons/{lesson[1]}")
        if not (dropped and token.type in ("link_open", "link_close")):
            kept.append(token)
    return kept


class LessonsFolder(Node):
    """`/lessons`; `/lessons/` lists them, `/lessons/NAME` is one of them."""

    def __init__(self, pages: Pages, lessons: list[Lesson], progress: Progress) -> None:
        super().__init__(pages)
        self._lessons = lessons
        self._progress = progress
        self.putChild(b"", Page(pages, self._list))

    def getChild(self, path: bytes, request: Request) -> Resource:
        """A lesson, by the name of its folder."""
        for place, lesson in enumerate(self._lessons):
            if lesson.name.encode() == path:
                return Page(self.pages, partial(self._lesson, place))
        return ErrorPage(self.pages, 404)

    def render_GET(self, request: Request) -> bytes:
        request.setHeader(b"cache-control", CACHE)
        return redirect(request, "/lessons/")

    def _list(self, request: Request) -> bytes:
        cached(request)
        return self.pages.render(request, "lessons.html", lessons=self._lessons, progress=self._progress())

    def _lesson(self, place: int, request: Request) -> bytes:
        cached(request)
        lesson = self._lessons[place]
        before = self._lessons[place - 1] if place else None
        after = self._lessons[place + 1] if place + 1 < len(self._lessons) else None
        state = self._progress().get(lesson.number, "")
        return self.pages.render(
            request, "lesson.html", state=state, lesson=lesson, before=before, after=after
        )


def cached(request: Request) -> None:
    """Let the cache in front keep this response until `upstage lessons` purges it."""
    request.setHeader(b"cache-control", CACHE)
    request.setHeader(b"x-cache-tags", TAG.encode())
