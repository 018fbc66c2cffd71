"""The public pages: the front page, the stages and their chat logs."""

from twisted.web.resource import Resource
from twisted.web.server import Request

from upstage.stage.stage import Stage
from upstage.stage.stages import Stages
from upstage.web.request import ErrorPage, Node, redirect
from upstage.web.templates import Pages

# All visitors get the same page, which may be a second old: live content comes over the socket.
SHARED = b"max-age=0, s-maxage=1"


def stage_list(stages: Stages, unlisted: bool = False) -> list[dict[str, object]]:
    """Return the stages for the templates, sorted by name: the listed ones, or all."""
    return [
        {"id": stage.id, "name": stage.name, "players": stage.players, "audience": stage.audience}
        for stage in sorted(stages.by_id.values(), key=lambda stage: stage.name)
        if stage.listed or unlisted
    ]


class StagesPage(Node):
    """A page that lists the stages: the front page and `/stages/`."""

    def __init__(self, pages: Pages, stages: Stages, template: str) -> None:
        super().__init__(pages)
        self._stages = stages
        self._template = template

    def render_GET(self, request: Request) -> bytes:
        """The page."""
        request.setHeader(b"cache-control", SHARED)
        return self.pages.render(request, self._template, stages=stage_list(self._stages))


class StagePage(Node):
    """`/stages/NAME`."""

    def __init__(self, pages: Pages, stage: Stage) -> None:
        super().__init__(pages)
        self._stage = stage
        self.putChild(b"log", LogPage(pages, stage))

    def render_GET(self, request: Request) -> bytes:
        """The page; live content comes over the socket."""
        request.setHeader(b"cache-control", SHARED)
        preload = [{"url": thing.url, "kind": "image"} for thing in self._stage.pictures]
        preload += [{"url": audio.url, "kind": "audio"} for audio in self._stage.audios]
        stage = {"id": self._stage.id, "name": self._stage.name}
        return self.pages.render(
            request, "stage.html", stage=stage, preload=preload, modules=self.pages.modules
        )


class LogPage(Node):
    """`/stages/NAME/log`: the chat log, as far as it is kept."""

    def __init__(self, pages: Pages, stage: Stage) -> None:
        super().__init__(pages)
        self._stage = stage

    def render_GET(self, request: Request) -> bytes:
        """The page."""
        request.setHeader(b"cache-control", SHARED)
        stage = {"id": self._stage.id, "name": self._stage.name}
        return self.pages.render(request, "log.html", stage=stage, lines=list(self._stage.chat))


class StagesFolder(Node):
    """`/stages` and the URLs below it."""

    def __init__(self, pages: Pages, stages: Stages) -> None:
        super().__init__(pages)
        self._stages = stages
        self.putChild(b"", StagesPage(pages, stages, "stages.html"))

    def getChild(self, path: bytes, request: Request) -> Resource:
        """A stage, by its ID."""
        stage = self._stages.by_id.get(path.decode("utf-8", "replace"))
        return StagePage(self.pages, stage) if stage else ErrorPage(self.pages, 404)

    def render_GET(self, request: Request) -> bytes:
        """`/stages` without a slash."""
        request.setHeader(b"cache-control", SHARED)
        return redirect(request, "/stages/")
