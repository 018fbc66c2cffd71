"""Every URL of the site."""

from twisted.web.resource import Resource
from twisted.web.server import Request

from upstage.web.admin import AdminFolder, Signup, SiteContext
from upstage.web.files import REVALIDATE, AssetFolder, MediaFolder, serve
from upstage.web.lesson_pages import playbill, slow_page, welcome_page
from upstage.web.lessons import LessonsFolder
from upstage.web.nodes import Node, Page
from upstage.web.pages import StagesFolder, stages_page
from upstage.web.request import Site
from upstage.web.speech import SpeechFolder
from upstage.web.templates import ASSET_FOLDERS, Pages
from upstage.web.tryout import try_folder
from upstage.web.upload import Uploads
from upstage.web.webcam import WebcamFolder
from upstage.web.websocket import WebSocketEndpoint
from upstage.web.workshop_media import MediaPage
from upstage.web.workshop_players import PlayersPage
from upstage.web.workshop_stages import StagesEditor

ROBOTS = b"User-agent: *\nDisallow: /admin/\nCrawl-delay: 1\n"  # in seconds; only some crawlers obey
# Grants nothing to Flash content from other sites; content from this site needs no grant.
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
        root.putChild(name, stages_page(pages, stages, "index.html"))
    root.putChild(b"signup", Signup(pages, context))
    root.putChild(b"stages", StagesFolder(pages, stages))
    root.putChild(b"admin", admin_folder(pages, context))
    root.putChild(b"media", media_folder(pages, context))
    root.putChild(b"speech", SpeechFolder(pages, context.speaker))
    for folder in ASSET_FOLDERS:
        root.putChild(folder.encode(), AssetFolder(pages, pages.site / folder, pages.version))
    if lessons:
        root.putChild(b"lessons", lessons)
    root.putChild(b"try", try_folder(pages, reactor))
    root.putChild(b"slow", slow_page(pages, reactor))
    root.putChild(b"playbill", playbill(pages, stages))
    root.putChild(b"welcome", welcome_page(pages))
    root.putChild(b"ws", WebSocketEndpoint(context.connections))
    root.putChild(b"health", text(pages, b"ok\n", b"text/plain; charset=utf-8", b"no-store"))
    root.putChild(b"robots.txt", text(pages, ROBOTS, b"text/plain; charset=utf-8"))
    root.putChild(b"crossdomain.xml", text(pages, CROSSDOMAIN, b"application/xml"))
    root.putChild(b"favicon.ico", icon(pages))
    slices = context.connections.shared.slices
    return Site(root, pages, slices, context.anonymous, Uploads(context), port)


def admin_folder(pages: Pages, context: SiteContext) -> AdminFolder:
    """Return `/admin`, with the workshop below it."""
    admin, workshop = AdminFolder(pages, context), Node(pages)
    admin.putChild(b"workshop", workshop)
    workshop.putChild(b"stages", StagesEditor(pages, context))
    workshop.putChild(b"media", MediaPage(pages, context))
    workshop.putChild(b"players", PlayersPage(pages, context))
    return admin


def media_folder(pages: Pages, context: SiteContext) -> "Overlay":
    """Return `/media`, with the webcams' pictures."""
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
        """Return the leaf, which reads the path from `postpath`. twisted.web calls this only if no other node
        is at the path.
        """
        request.postpath = [path, *(request.postpath or [])]
        return self._leaf

    def render(self, request: Request) -> bytes | int:
        """Pass the request for the bare path to the leaf."""
        return self._leaf.render(request)


def text(pages: Pages, body: bytes, kind: bytes, cache: bytes = b"max-age=3600") -> Page:
    """Return a page with a fixed body, of the type `kind`, and with the Cache-Control `cache`."""

    def get(request: Request) -> bytes:
        request.setHeader(b"content-type", kind)
        request.setHeader(b"cache-control", cache)
        return body

    return Page(pages, get)


def icon(pages: Pages) -> Page:
    """Return the icon of the pages, at the address where browsers look for it."""

    def get(request: Request) -> bytes | int:
        request.setHeader(b"cache-control", REVALIDATE)
        return serve(request, pages, pages.site / "image", [b"favicon.svg"])

    return Page(pages, get)
