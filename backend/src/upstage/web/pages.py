"""The public pages: the front page, the stages and their chat logs."""

from twisted.web.resource import Resource
from twisted.web.server import Request

from upstage.stage.stage import Stage
from upstage.stage.stages import Stages
from upstage.web.nodes import Node, Page, redirect
from upstage.web.templates import ErrorPage, Pages

# All visitors get the same page, which may be a second old: live content comes over the socket.
SHARED = b"max-age=0, s-maxage=1"


def stage_list(stages: Stages, unlisted: bool = False) -> list[dict[str, object]]:
    """Return the stages for the templates, sorted by name: the listed ones, or all of them."""
    return [
        {"id": stage.id, "name": stage.name, "players": stage.players, "audience": stage.audience}
        for stage in sorted(stages.by_id.values(), key=lambda stage: stage.name)
        if stage.listed or unlisted
    ]


def stages_page(pages: Pages, stages: Stages, template: str) -> Page:
    """Return a page that lists the stages: the front page or `/stages/`."""

    def get(request: Request) -> bytes:
        request.setHeader(b"cache-control", SHARED)
        return pages.render(request, template, stages=stage_list(stages))

    return Page(pages, get)


def stage_page(pages: Pages, stage: Stage) -> Page:
    """Return `/stages/NAME`, with `/stages/NAME/log` below it: the chat log, as far as it is kept."""
    named = {"id": stage.id, "name": stage.name}

    def get(request: Request) -> bytes:
        request.setHeader(b"cache-control", SHARED)
        preload = [{"url": thing.url, "kind": "image"} for thing in stage.pictures]
        preload += [{"url": audio.url, "kind": "audio"} for audio in stage.audios]
        return pages.render(request, "stage.html", stage=named, preload=preload, modules=pages.modules)

    def get_log(request: Request) -> bytes:
        request.setHeader(b"cache-control", SHARED)
        return pages.render(request, "log.html", stage=named, lines=list(stage.chat))

    page = Page(pages, get)
    page.putChild(b"log", Page(pages, get_log))
    return page


class StagesFolder(Node):
    """`/stages` and the URLs below it."""

    def __init__(self, pages: Pages, stages: Stages) -> None:
        super().__init__(pages)
        self._stages = stages
        self.putChild(b"", stages_page(pages, stages, "stages.html"))

    def getChild(self, path: bytes, request: Request) -> Resource:
        stage = self._stages.by_id.get(path.decode("utf-8", "replace"))
        return stage_page(self.pages, stage) if stage else ErrorPage(self.pages, 404)

    def render_GET(self, request: Request) -> bytes:
        request.setHeader(b"cache-control", SHARED)
        return redirect(request, "/stages/")
