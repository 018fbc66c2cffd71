"""The pages: templates, the version of their assets, and the resources that fill them in."""

import hashlib
from http import HTTPStatus
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from twisted.web.resource import Resource
from twisted.web.server import Request

from upstage.house import House
from upstage.stage import Stage
from upstage.web.headers import redirect
from upstage.web.request import PAGE_CSP, ErrorPage, Node

# The same page for everybody, and it may be a second old: the show is on the socket, not in here.
SHARED = b"public, max-age=0, s-maxage=1"
PRIVATE = b"private, no-store"
ASSET_FOLDERS = ("style", "script", "image")

MESSAGES = {
    400: "The request cannot be understood.",
    403: "This form was sent from a page of another site.",
    404: "There is nothing here under this name.",
    405: "This address cannot be used in this way.",
    413: "That was too much at once.",
    415: "This form was sent in a form that is not understood.",
    500: "Something went wrong behind the scenes. It has been written down.",
}


class Pages:
    """Templates from `site/templates`; assets from `site/style`, `site/script` and `site/image`."""

    def __init__(self, site: Path) -> None:
        self.version = _version_of(site)
        # All scripts, so that a page can have them fetched at once.
        scripts = sorted((site / "script").rglob("*.js"))
        self.modules = [self.asset(path.relative_to(site).as_posix()) for path in scripts]
        self._templates = Environment(
            loader=FileSystemLoader(site / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
        )
        self._templates.globals["asset"] = self.asset

    def asset(self, name: str) -> str:
        """Return the URL of an asset in this release: `script/main.js` -> `/script/<version>/main.js`."""
        folder, _, rest = name.partition("/")
        return f"/{folder}/{self.version}/{rest}"

    def render(self, request: Request, template: str, **variables: object) -> bytes:
        """Fill in a template and say that it is HTML."""
        request.setHeader(b"content-type", b"text/html; charset=utf-8")
        return self._templates.get_template(template).render(**variables).encode()

    def error(self, request: Request, status: int) -> bytes:
        """Set the status and return its page, which no cache may keep."""
        request.setResponseCode(status)
        request.setHeader(b"cache-control", b"no-store")
        request.setHeader(b"content-security-policy", PAGE_CSP)
        for validator in (b"etag", b"last-modified", b"content-length"):
            request.responseHeaders.removeHeader(validator)
        title = HTTPStatus(status).phrase
        try:
            return self.render(request, "error.html", status=status, title=title, message=MESSAGES[status])
        except Exception:  # the template itself may be what is broken
            request.setHeader(b"content-type", b"text/plain; charset=utf-8")
            return f"{status} {title}\n".encode()


def _version_of(site: Path) -> str:
    """Return a hash over all page assets: equal releases share it, different ones never do."""
    digest = hashlib.sha256()
    for folder in ASSET_FOLDERS:
        for path in sorted((site / folder).rglob("*")):
            if path.is_file():
                content = path.read_bytes()
                digest.update(f"{path.relative_to(site).as_posix()} {len(content)}\n".encode())
                digest.update(content)
    return digest.hexdigest()[:12]


def stage_list(house: House) -> list[dict[str, object]]:
    """Return what the templates show of each stage, by name."""
    return [
        {"id": stage.id, "name": stage.name, "players": stage.players, "audience": stage.audience}
        for stage in sorted(house.stages.values(), key=lambda stage: stage.name)
    ]


class StagesPage(Node):
    """A page that lists the stages: the front page and `/stages/`."""

    def __init__(self, pages: Pages, house: House, template: str) -> None:
        super().__init__(pages)
        self._house = house
        self._template = template

    def render_GET(self, request: Request) -> bytes:
        """The page."""
        request.setHeader(b"cache-control", SHARED)
        return self.pages.render(request, self._template, stages=stage_list(self._house))


class StagePage(Node):
    """`/stages/NAME`."""

    def __init__(self, pages: Pages, stage: Stage) -> None:
        super().__init__(pages)
        self._stage = stage

    def render_GET(self, request: Request) -> bytes:
        """The page; what happens on the stage comes over its socket."""
        request.setHeader(b"cache-control", SHARED)
        preload = [{"url": thing.url, "kind": "image"} for thing in self._stage.pictures]
        preload += [{"url": audio.url, "kind": "audio"} for audio in self._stage.audios]
        stage = {"id": self._stage.id, "name": self._stage.name}
        return self.pages.render(
            request, "stage.html", stage=stage, preload=preload, modules=self.pages.modules
        )


class StagesFolder(Node):
    """`/stages` and what is below it."""

    def __init__(self, pages: Pages, house: House) -> None:
        super().__init__(pages)
        self._house = house
        self.putChild(b"", StagesPage(pages, house, "stages.html"))

    def getChild(self, path: bytes, request: Request) -> Resource:
        """A stage, by its ID."""
        stage = self._house.stages.get(path.decode("utf-8", "replace"))
        return StagePage(self.pages, stage) if stage else ErrorPage(self.pages, 404)

    def render_GET(self, request: Request) -> bytes:
        """`/stages` without a slash."""
        request.setHeader(b"cache-control", SHARED)
        return redirect(request, "/stages/")
