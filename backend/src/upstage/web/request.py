"""How this site treats every request: bounded bodies, its own error pages, one journal line each."""

import inspect
import ipaddress
import re
import time
from collections.abc import Coroutine
from http import HTTPStatus
from io import BytesIO
from typing import Protocol, cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import ITCPTransport
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web import server
from twisted.web.http import Request
from twisted.web.resource import IResource, Resource

from upstage.state.records import NoRoom
from upstage.web.headers import PAGE_CSP, header, host_name
from upstage.web.templates import Pages

MAX_FORM = 64 * 1024  # bytes of a request body; no form of this site needs more
HEADERS = {
    b"server": b"UpStage",  # no version: it helps only attackers
    b"content-security-policy": PAGE_CSP,
    b"x-content-type-options": b"nosniff",
    # Not no-referrer: with that, browsers hide the origin of our own forms from us.
    b"referrer-policy": b"same-origin",
}
# Longer than nginx and Varnish keep an idle connection (60 s), so that they never send a request into
# one that is just being closed here.
IDLE_TIMEOUT = 75
REQUEST_ID = re.compile(r"[0-9a-zA-Z-]{16,64}")

log = Logger()


class Body(Protocol):
    """Takes the body of a request as it arrives, in place of our memory."""

    def write(self, data: bytes) -> None:
        """Take a piece, or let it go; never raise."""

    def discard(self) -> None:
        """The request is over, answered or not: leave nothing behind."""


class Intake(Protocol):
    """Says which requests bring a body that is not kept in memory."""

    def begin(self, request: "SiteRequest", path: bytes, length: int | None) -> Body | None:
        """The header has come. Return where the body goes, None for a form like any other."""


class SiteRequest(server.Request):
    """A request that keeps at most MAX_FORM bytes of body and never shows a traceback."""

    site: "Site"
    content: BytesIO
    transport: ITCPTransport
    began = 0.0
    body_size = 0
    body: Body | None = None
    gone = False  # the client left

    def gotLength(self, length: int | None) -> None:
        """The header has come; the body follows, of this length if it says so."""
        self.began = time.monotonic()
        self.content = BytesIO()
        # Twisted tells the request its site and its path only when the body is complete.
        intake: Intake | None = self.channel.site.intake  # type: ignore[attr-defined]
        if intake:
            self.body = intake.begin(self, self.channel._path.partition(b"?")[0], length)

    def handleContentChunk(self, data: bytes) -> None:
        """Keep a piece of the body, or let it go: 16 MB sent to a login form cost no memory."""
        if self.body:
            self.body.write(data)
            return
        self.body_size += len(data)
        if self.body_size <= MAX_FORM:
            self.content.write(data)

    def setResponseCode(self, code: int, message: bytes | None = None) -> None:
        """Set the status, with the standard's phrase also where Twisted does not know it."""
        super().setResponseCode(code, message or HTTPStatus(code).phrase.encode())

    def process(self) -> None:
        """The whole request is here: answer it. `OPTIONS *` is a path like any other."""
        if self.path == b"*":
            self.path = b"/*"
        super().process()

    def render(self, resource: IResource) -> None:
        """Render a resource and send its answer, without the body for HEAD."""
        body = resource.render(self)
        if body is server.NOT_DONE_YET:
            return
        self.answer(body)

    def answer_later(self, answer: Coroutine[Deferred[object], object, bytes]) -> int:
        """Send what a coroutine returns, when it does; for a resource that has to wait for something."""

        def send(body: bytes) -> None:
            if not self.gone:
                self.answer(body)

        def failed(reason: Failure) -> None:
            if self.gone:
                log.failure("a request failed", failure=reason, fields={"path": self.uri.decode("latin-1")})
            else:
                self.processingFailed(reason)

        Deferred.fromCoroutine(answer).addCallback(send).addErrback(failed)
        return server.NOT_DONE_YET

    def answer(self, body: bytes) -> None:
        """Send the whole answer; a resource may have set the length, as of a file that HEAD leaves out."""
        if self.code != 304 and not self.responseHeaders.hasHeader(b"content-length"):
            self.responseHeaders.setRawHeaders(b"content-length", [b"%d" % len(body)])
        self.write(b"" if self.method == b"HEAD" else body)
        self.finish()

    def processingFailed(self, reason: Failure) -> Failure:
        """Something of ours raised: the journal gets the traceback, the client gets a page."""
        if reason.check(NoRoom):
            log.warn("the disk is full", fields={"path": self.uri.decode("latin-1")})
            self.answer(self.site.pages.error(self, 507))
            return reason
        log.failure("a request failed", failure=reason, fields={"path": self.uri.decode("latin-1")})
        if self.startedWriting:
            self.transport.abortConnection()  # half an answer must not look like a whole one
            return reason
        self.answer(self.site.pages.error(self, 500))
        return reason

    def connectionLost(self, reason: Failure) -> None:
        """The client left before the answer was complete."""
        self.gone = True
        if self.body:
            self.body.discard()
        if self.path is not None:  # else it left before there was a request
            self.log_line(self.code, aborted=True)
        super().connectionLost(reason)

    def finish(self) -> None:
        """The answer is complete."""
        if self.body:
            self.body.discard()
        super().finish()

    @property
    def client_address(self) -> str:
        """The client as nginx saw it, or Varnish; the connection's own peer when nothing is in front.

        Of X-Forwarded-For the last one counts: it is the program in front that has added it, whatever the
        client said before. Who reaches this port past both can say anything, so only they must reach it.
        """
        claimed = header(self, b"x-real-ip") or header(self, b"x-forwarded-for").rpartition(",")[2].strip()
        try:
            return str(ipaddress.ip_address(claimed))
        except ValueError:
            return str(getattr(self.client, "host", "unknown"))

    @property
    def port(self) -> int:
        """The port that this request came to; who came to the Unix socket is told the web endpoint's."""
        return int(getattr(self.getHost(), "port", self.site.port))

    def log_line(self, status: int, aborted: bool = False) -> None:
        """Write this request's line; its ID is the one that nginx and Varnish write too."""
        fields: dict[str, object] = {
            "method": self.method.decode("latin-1"),
            "path": self.uri.decode("latin-1"),
            "status": status,
            "bytes": self.sentLength,
            "ms": round((time.monotonic() - self.began) * 1000, 1),
            "client": self.client_address,
        }
        request_id = header(self, b"x-request-id")
        if REQUEST_ID.fullmatch(request_id):
            fields["request_id"] = request_id
        if aborted:
            fields["aborted"] = True
        log.info("request", fields=fields)


class Site(server.Site):
    """The web site: headers that every answer carries, and the journal."""

    def __init__(self, root: Resource, pages: Pages, intake: Intake | None = None, port: int = 0) -> None:
        super().__init__(
            root, requestFactory=SiteRequest, parsePOSTFormSubmission=False, timeout=IDLE_TIMEOUT
        )
        self.pages = pages
        self.intake = intake
        self.port = port

    def getResourceFor(self, request: SiteRequest) -> IResource:
        """Find who answers; called for each request before anything else is decided."""
        for name, value in HEADERS.items():
            request.responseHeaders.setRawHeaders(name, [value])
        if request.body_size > MAX_FORM:
            return ErrorPage(self.pages, 413)
        found: IResource = super().getResourceFor(request)
        return found

    def log(self, request: Request) -> None:
        """Called by Twisted when an answer is complete."""
        # Varnish and the engine ask for /health every few seconds: their lines would hide all others.
        if isinstance(request, SiteRequest) and request.path != b"/health":
            request.log_line(request.code)


class Node(Resource):
    """A place in the URL tree: answers its own methods, HEAD like GET, everything else by a page."""

    def __init__(self, pages: Pages) -> None:
        super().__init__()
        self.pages = pages

    def getChild(self, path: bytes, request: server.Request) -> Resource:
        """Nothing here under this name."""
        return ErrorPage(self.pages, 404)

    def render(self, request: server.Request) -> bytes | int:
        """Call `render_GET` or `render_POST`, if there is one."""
        verb = "GET" if request.method == b"HEAD" else request.method.decode("latin-1")
        method = getattr(self, f"render_{verb}", None)
        if method is None:
            methods = {"GET": "GET, HEAD", "POST": "POST"}
            allowed = [text for verb, text in methods.items() if hasattr(self, f"render_{verb}")]
            if not allowed:  # only a step on the way to others
                return self.pages.error(request, 404)
            request.setHeader(b"allow", ", ".join(allowed).encode())
            return self.pages.error(request, 405)
        answer: bytes | int | Coroutine[Deferred[object], object, bytes] = method(request)
        if inspect.iscoroutine(answer):
            return cast(SiteRequest, request).answer_later(answer)
        return cast(bytes | int, answer)


class ErrorPage(Node):
    """An error from the template `error.html`, whatever the method."""

    def __init__(self, pages: Pages, status: int) -> None:
        super().__init__(pages)
        self.isLeaf = True
        self._status = status

    def render(self, request: server.Request) -> bytes:
        """The page."""
        return self.pages.error(request, self._status)


def redirect(request: Request, path: str) -> bytes:
    """Answer 302 to `path` on our own bound port, as UpStage does: the front of house repairs it.

    The body names no URL, because nobody would repair that. An invalid Host gets 400.
    """
    name = host_name(request)
    request.setHeader(b"content-type", b"text/plain; charset=utf-8")
    if name is None:
        request.setResponseCode(400)
        request.setHeader(b"cache-control", b"no-store")
        return b"The Host header is missing or not valid.\n"
    port = cast(SiteRequest, request).port
    request.setResponseCode(302)
    request.setHeader(b"location", f"http://{name}:{port}{path}".encode())
    return b"Moved.\n"
