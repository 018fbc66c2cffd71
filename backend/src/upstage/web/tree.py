"""Every URL of the site, in one place."""

from pathlib import Path

from twisted.web.server import Request

from upstage.accounts import Accounts
from upstage.connection import Connections
from upstage.sockets import WebSocketDoor
from upstage.web.admin import AdminFolder
from upstage.web.files import AssetFolder, MediaFolder, OneFile
from upstage.web.pages import ASSET_FOLDERS, Pages, StagesFolder, StagesPage
from upstage.web.request import Node, Site

ROBOTS = b"User-agent: *\nDisallow: /admin/\n"
# Flash content of other sites gets nothing here; our own needs no permission.
CROSSDOMAIN = b"""\
<?xml version="1.0"?>
<cross-domain-policy>
  <site-control permitted-cross-domain-policies="master-only"/>
</cross-domain-policy>
"""


def build_site(connections: Connections, accounts: Accounts, site: Path, media: Path) -> Site:
    """Return the web site; `site` holds templates and page assets, `media` the media files."""
    house = connections.house
    pages = Pages(site)
    root = Node(pages)
    root.putChild(b"", StagesPage(pages, house, "index.html"))
    root.putChild(b"stages", StagesFolder(pages, house))
    root.putChild(b"admin", AdminFolder(pages, house, accounts))
    root.putChild(b"media", MediaFolder(pages, media))
    for folder in ASSET_FOLDERS:
        root.putChild(folder.encode(), AssetFolder(pages, site / folder, pages.version))
    root.putChild(b"ws", WebSocketDoor(connections))
    root.putChild(b"health", Text(pages, b"ok\n", b"text/plain; charset=utf-8", b"no-store"))
    root.putChild(b"robots.txt", Text(pages, ROBOTS, b"text/plain; charset=utf-8"))
    root.putChild(b"crossdomain.xml", Text(pages, CROSSDOMAIN, b"application/xml"))
    root.putChild(b"favicon.ico", OneFile(pages, site / "image" / "favicon.svg"))
    return Site(root, pages)


class Text(Node):
    """A few fixed bytes."""

    def __init__(
        self, pages: Pages, body: bytes, kind: bytes, cache: bytes = b"public, max-age=3600"
    ) -> None:
        super().__init__(pages)
        self._body = body
        self._kind = kind
        self._cache = cache

    def render_GET(self, request: Request) -> bytes:
        """The bytes."""
        request.setHeader(b"content-type", self._kind)
        request.setHeader(b"cache-control", self._cache)
        return self._body
