"""Every URL of the site, in one place."""

from twisted.web.resource import Resource
from twisted.web.server import Request

from upstage.web.admin import AdminFolder, Signup, SiteContext
from upstage.web.files import AssetFolder, MediaFolder, OneFile
from upstage.web.lesson_pages import Playbill, Slow, Welcome
from upstage.web.lessons import LessonsFolder
from upstage.web.pages import StagesFolder, StagesPage
from upstage.web.request import Node, Site
from upstage.web.speech import SpeechFolder
from upstage.web.templates import ASSET_FOLDERS, Pages
from upstage.web.upload import Uploads
from upstage.web.webcam import WebcamFolder
from upstage.web.websocket import WebSocketEndpoint
from upstage.web.workshop_media import MediaPage
from upstage.web.workshop_players import PlayersPage
from upstage.web.workshop_stages import StagesEditor

ROBOTS = b"User-agent: *\nDisallow: /admin/\n"
# Grants nothing to Flash content of other sites; content of this site needs no grant.
CROSSDOMAIN = b"""\
<?xml version="1.0"?>
<cross-domain-policy>
  <site-control permitted-cross-domain-policies="master-only"/>
</cross-domain-policy>
"""


def build_site(pages: Pages, context: SiteContext, lessons: LessonsFolder | None, port: int) -> Site:
    """Return the web site; redirects name `port`."""
    stages, reactor = context.stages, context.connections.reactor
    root = Node(pages)
    for name in (b"", b"home"):
        root.putChild(name, StagesPage(pages, stages, "index.html"))
    root.putChild(b"signup", Signup(pages, context))
    root.putChild(b"stages", StagesFolder(pages, stages))
    root.putChild(b"admin", admin_folder(pages, context))
    root.putChild(b"media", media_folder(pages, context))
    root.putChild(b"speech", SpeechFolder(pages, context.speaker))
    for folder in ASSET_FOLDERS:
        root.putChild(folder.encode(), AssetFolder(pages, pages.site / folder, pages.version))
    if lessons:
        root.putChild(b"lessons", lessons)
    root.putChild(b"slow", Slow(pages, reactor))
    root.putChild(b"playbill", Playbill(pages, stages))
    root.putChild(b"welcome", Welcome(pages))
    root.putChild(b"ws", WebSocketEndpoint(context.connections))
    root.putChild(b"health", Text(pages, b"ok\n", b"text/plain; charset=utf-8", b"no-store"))
    root.putChild(b"robots.txt", Text(pages, ROBOTS, b"text/plain; charset=utf-8"))
    root.putChild(b"crossdomain.xml", Text(pages, CROSSDOMAIN, b"application/xml"))
    root.putChild(b"favicon.ico", OneFile(pages, pages.site / "image" / "favicon.svg"))
    return Site(root, pages, context.connections.shared.slices, Uploads(context), port)


def admin_folder(pages: Pages, context: SiteContext) -> AdminFolder:
    """`/admin` and the workshop."""
    admin, workshop = AdminFolder(pages, context), Node(pages)
    admin.putChild(b"workshop", workshop)
    workshop.putChild(b"stages", StagesEditor(pages, context))
    workshop.putChild(b"media", MediaPage(pages, context))
    workshop.putChild(b"players", PlayersPage(pages, context))
    return admin


def media_folder(pages: Pages, context: SiteContext) -> "Overlay":
    """`/media`, with the webcams' pictures."""
    media = Overlay(pages, MediaFolder(pages, context.media))
    media.putChild(b"video", WebcamFolder(pages, context.frames))
    media.putChild(b"video-still", MediaFolder(pages, context.media / "video", b"video/"))
    return media


class Overlay(Node):
    """A leaf, with other nodes at some of its paths."""

    def __init__(self, pages: Pages, leaf: Node) -> None:
        super().__init__(pages)
        self._leaf = leaf

    def getChild(self, path: bytes, request: Request) -> Resource:
        """Pass all other paths to the leaf, which reads them from `postpath`."""
        request.postpath = [path, *(request.postpath or [])]
        return self._leaf

    def render(self, request: Request) -> bytes | int:
        """Pass the bare path to the leaf."""
        return self._leaf.render(request)


class Text(Node):
    """A fixed text."""

    def __init__(self, pages: Pages, body: bytes, kind: bytes, cache: bytes = b"max-age=3600") -> None:
        super().__init__(pages)
        self._body = body
        self._kind = kind
        self._cache = cache

    def render_GET(self, request: Request) -> bytes:
        """The text."""
        request.setHeader(b"content-type", self._kind)
        request.setHeader(b"cache-control", self._cache)
        return self._body
