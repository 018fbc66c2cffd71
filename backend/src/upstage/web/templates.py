"""Templates, the version of the page assets they name, and the page for every error."""

import hashlib
from http import HTTPStatus
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from twisted.web.server import Request

from upstage.web.headers import PAGE_CSP

ASSET_FOLDERS = ("style", "script", "image")

MESSAGES = {
    400: "The request cannot be understood.",
    401: "Please sign in first.",
    403: "You may not do this: the form was sent from elsewhere, it is too old, or it is not for you.",
    404: "There is nothing here under this name.",
    405: "This address cannot be used in this way.",
    413: "This is more than is taken: a form may have 20 fields and 64 kB, a file 1 MB, or 2 MB from an "
    "administrator. A file needs somebody who is signed in.",
    415: "This form was sent in a form that is not understood.",
    429: "That was too often. Please wait a little.",
    500: "Something went wrong behind the scenes. It has been written down.",
    503: "There is too much to do at the moment. Please try again in a minute.",
    507: "The disk is full: nothing was changed, and nothing is lost. Whoever runs this server has to make "
    "room on it.",
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
        for name in (b"etag", b"last-modified", b"content-length", b"x-cache-tags"):
            request.responseHeaders.removeHeader(name)
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
