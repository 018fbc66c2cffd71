"""Templates, the version of the page assets, and the error pages."""

import hashlib
from http import HTTPStatus
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from twisted.web.resource import Resource
from twisted.web.server import Request

from upstage.web.headers import PAGE_CSP
from upstage.web.visit import TOPOLOGIES, Published, Visit

# The scripts that the stage page does not import: other pages' scripts, and one that reloads lost modules.
NOT_OF_THE_STAGE = {"headers.js", "recover.js", "try.js"}
ASSET_FOLDERS = ("style", "script", "image")

MESSAGES = {
    400: "This request is not valid.",
    401: "Please sign in first.",
    403: "You are not allowed to do this, or the form has expired or was sent from another site.",
    404: "There is no page at this address.",
    405: "This address does not support that method.",
    412: "This file is another version than the one that the request is meant for.",
    413: "This request is too large. A player who may edit stages can upload files of 1 MB, an administrator "
    "of 2 MB, after signing in. Any other form may have 20 fields and 64 kB.",
    414: "This address is too long.",
    415: "This form's encoding is not supported.",
    421: "This address is not encrypted: it begins with http.",
    429: "Too many requests. Please wait a moment.",
    431: "The header of this request is too large.",
    500: "Something went wrong on our side. The error has been logged.",
    501: "This server does not support that method or transfer coding.",
    503: "The server is too busy at the moment. Please try again in a minute.",
    505: "This server speaks HTTP/1.1.",
    507: "The server's disk is full. Your change was not saved. Please tell the operator.",
}


class Pages:
    """Templates from `site/templates`; assets from `site/style`, `site/script` and `site/image`."""

    def __init__(self, site: Path, published: Published | None = None, has_lessons: bool = False) -> None:
        self.site = site
        self._published = published or Published()
        self.version = _version_of(site)
        scripts = sorted(path.name for path in (site / "script").glob("*.js"))
        self.modules = [self.asset(f"script/{name}") for name in scripts if name not in NOT_OF_THE_STAGE]
        self._templates = Environment(
            loader=FileSystemLoader(site / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
        )
        self._templates.globals["asset"] = self.asset
        self._templates.globals["TOPOLOGIES"] = TOPOLOGIES
        self._templates.globals["has_lessons"] = has_lessons

    def asset(self, name: str) -> str:
        """Return the URL of an asset in this release: `script/main.js` -> `/script/<version>/main.js`."""
        folder, _, rest = name.partition("/")
        return f"/{folder}/{self.version}/{rest}"

    def render(self, request: Request, template: str, **variables: object) -> bytes:
        request.setHeader(b"content-type", b"text/html; charset=utf-8")
        visit = Visit(request, self._published)
        return self._templates.get_template(template).render(visit=visit, **variables).encode()

    def error(self, request: Request, status: int, message: str = "") -> bytes:
        """Set the status and return its page, with the usual message or `message`; no cache may store it."""
        request.setResponseCode(status)
        request.setHeader(b"cache-control", b"no-store")
        request.setHeader(b"content-security-policy", PAGE_CSP)
        for name in (b"etag", b"last-modified", b"content-length", b"x-cache-tags"):
            request.responseHeaders.removeHeader(name)
        title = HTTPStatus(status).phrase
        try:
            message = message or MESSAGES[status]
            return self.render(request, "error.html", status=status, title=title, message=message)
        except Exception:  # perhaps the template itself is broken
            request.setHeader(b"content-type", b"text/plain; charset=utf-8")
            return f"{status} {title}\n".encode()


def _version_of(site: Path) -> str:
    """Return a hash over all page assets, different for each set of assets."""
    digest = hashlib.sha256()
    for folder in ASSET_FOLDERS:
        for path in sorted((site / folder).rglob("*")):
            if path.is_file():
                content = path.read_bytes()
                digest.update(f"{path.relative_to(site).as_posix()} {len(content)}\n".encode())
                digest.update(content)
    return digest.hexdigest()[:12]


class ErrorPage(Resource):
    """An error page from the template `error.html`, for every method."""

    def __init__(self, pages: Pages, status: int) -> None:
        super().__init__()
        self.isLeaf = True
        self._pages = pages
        self._status = status

    def render(self, request: Request) -> bytes:
        return self._pages.error(request, self._status)
