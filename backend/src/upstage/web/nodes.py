"""The nodes of the URL tree, and the values that their functions return in place of a page."""

import inspect
from collections.abc import Callable
from typing import TypeVar, cast

from twisted.internet.defer import Deferred
from twisted.web import server
from twisted.web.http import Request
from twisted.web.resource import Resource

from upstage.web.headers import host_name
from upstage.web.request import Later, SiteRequest
from upstage.web.templates import ErrorPage, Pages

T = TypeVar("T")


class Node(Resource):
    """A node of the URL tree: serves its own methods, HEAD like GET, and an error page for all others."""

    def __init__(self, pages: Pages) -> None:
        super().__init__()
        self.pages = pages

    def getChild(self, path: bytes, request: server.Request) -> Resource:
        return ErrorPage(self.pages, 404)

    def render(self, request: server.Request) -> bytes | int:
        """Return what `render_GET` or `render_POST` returns; without such a method answer 404, 405 or
        OPTIONS.
        """
        verb = "GET" if request.method == b"HEAD" else request.method.decode("latin-1")
        method = getattr(self, f"render_{verb}", None)
        if method is None:
            methods = {"GET": "GET, HEAD", "POST": "POST"}
            allowed = [text for verb, text in methods.items() if hasattr(self, f"render_{verb}")]
            if not allowed:  # an inner node without a page of its own
                return self.pages.error(request, 404)
            request.setHeader(b"allow", ", ".join(allowed).encode())
            if verb == "OPTIONS":
                return b""
            return self.pages.error(request, 405)
        response: bytes | int | Later = method(request)
        if inspect.iscoroutine(response):
            return cast(SiteRequest, request).respond_later(response)
        return cast(bytes | int, response)


class Page(Node):
    """A page: the function `get` returns its response to GET and HEAD."""

    def __init__(self, pages: Pages, get: Callable[[server.Request], bytes | int | Later]) -> None:
        super().__init__(pages)
        self.render_GET = get


async def held(request: SiteRequest, ready: Deferred[T]) -> T:
    """Wait for `ready` while the request stays open (a long poll); cancel it if the client disconnects."""
    request.waits = True
    request.notifyFinish().addErrback(lambda _: ready.cancel())
    return await ready


def redirect(request: Request, path: str) -> bytes:
    """Answer 302 to `path` on this server's own bound port, as UpStage does; nginx rewrites the Location.

    The body contains no URL, because nginx would not rewrite it. HTTP/1.0 without Host gets 400.
    """
    name = host_name(request)
    request.setHeader(b"content-type", b"text/plain; charset=utf-8")
    if name is None:
        request.setResponseCode(400)
        request.setHeader(b"cache-control", b"no-store")
        return b"The Host header is missing.\n"
    port = cast(SiteRequest, request).port
    request.setResponseCode(302)
    request.setHeader(b"location", f"http://{name}:{port}{path}".encode())
    return b"Moved.\n"
