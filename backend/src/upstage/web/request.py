"""The rules for every request: bounded bodies, our own error pages, one log line each."""

import ipaddress
import re
import secrets
import time
from collections.abc import Coroutine
from contextvars import copy_context
from http import HTTPStatus
from io import BytesIO
from typing import Any, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import ITCPTransport
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web import server
from twisted.web.http import Request
from twisted.web.resource import IResource, Resource

from upstage.net.lane import Lane
from upstage.net.slices import Slices
from upstage.stage.limits import client_of
from upstage.state.records import NotWritten
from upstage.state.steps import Steps, current
from upstage.web.channel import Channel
from upstage.web.headers import PAGE_CSP, header
from upstage.web.templates import ErrorPage, Pages

MAX_FORM = 64 * 1024  # bytes of a request body; no form of this site needs more
HEADERS = {
    b"server": b"UpStage",  # without a version, which would only help attackers
    b"content-security-policy": PAGE_CSP,
    b"x-content-type-options": b"nosniff",
    # Not no-referrer: with it, browsers would also hide the origin of this site's own forms.
    b"referrer-policy": b"same-origin",
}
# Longer than nginx (30 s) and Varnish (60 s) keep an idle connection, so that they never send a request on a
# connection that this server is just closing.
IDLE_TIMEOUT = 75
HEALTH = b"/health"  # the path that probes request
# The headers in which nginx and Varnish describe a request. Sent by a client, they would be mere claims.
FROM_PROXIES = (
    b"x-real-ip",
    b"x-forwarded-for",
    b"x-forwarded-proto",
    b"x-accel-media",
    b"x-request-id",
    b"x-anonymous",
    b"traceparent",
)
# Responses that are held back: a webcam's next picture, a line that is being spoken, a page that is told to
# be slow. In the lane of anonymous clients each would occupy a place for seconds.
HELD_BACK = (b"/media/video/", b"/speech/", b"/try/")
REQUEST_ID = re.compile(r"[0-9a-zA-Z-]{16,64}")
# The parent span's ID and the sampled flag (https://www.w3.org/TR/trace-context/#traceparent-header).
TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-([0-9a-f]{16})-(0[01])")
# Milliseconds from which a request is traced, unless it was meant to wait: a little less than in nginx
# (nginx/observe/http.conf.template), whose time includes this server's.
SLOW = 90

Later = Coroutine[Deferred[Any], Any, bytes | int]  # a response that is not ready yet

log = Logger()


class Body(Protocol):
    """Receives the body of a request piece by piece, so that it need not be kept in memory."""

    def write(self, data: bytes) -> None:
        """Take or drop a piece; never raise."""

    def discard(self) -> None:
        """Remove the data; called at the end of the request."""


class BodyRouter(Protocol):
    """Decides which bodies are received by a Body, not kept in memory."""

    def begin(self, request: "SiteRequest", path: bytes, length: int | None) -> Body | None:
        """Return the receiver of the body, None to keep it in memory; called after the header."""


class SiteRequest(server.Request):
    """A request that keeps at most MAX_FORM bytes of body and never shows a traceback."""

    site: "Site"
    content: BytesIO
    transport: ITCPTransport
    began = 0.0
    steps: Steps
    waits = False  # whether it waits for an event, and is therefore slow on purpose
    body_size = 0
    body: Body | None = None
    gone = False  # whether the client has disconnected
    refusal = 0  # the error status of a request that is not valid HTTP

    def gotLength(self, length: int | None) -> None:
        """Prepare for the body; called after the header. `length` is the body's, None if unknown."""
        self.began = time.monotonic()
        self.steps = Steps(self.began)
        self.content = BytesIO()
        # Twisted sets the request's own site and path only when the body is complete.
        site: Site = self.channel.site  # type: ignore[attr-defined]
        if site.direct:
            self._forget_claims()
        if site.bodies and not self.refusal:
            self.body = site.bodies.begin(self, self.channel._path.partition(b"?")[0], length)

    def refuse(self, status: int, method: bytes, target: bytes) -> None:
        """Answer with an error page, however much of the request has arrived."""
        self.refusal = status
        self.responseHeaders.setRawHeaders(b"connection", [b"close"])
        if not self.began:
            self.gotLength(0)
        self.method, self.uri, self.path, self.clientproto = method, target, target, b"HTTP/1.1"
        self.process()

    def _forget_claims(self) -> None:
        """Drop the headers that only proxies may send, and give the request an ID, as nginx would."""
        for name in FROM_PROXIES:
            self.requestHeaders.removeHeader(name)
        request_id = [secrets.token_hex(16).encode()]
        self.requestHeaders.setRawHeaders(b"x-request-id", request_id)
        self.responseHeaders.setRawHeaders(b"x-request-id", request_id)

    def handleContentChunk(self, data: bytes) -> None:
        """Keep a piece of the body, or drop it: 16 MB sent to a login form must use no memory."""
        if self.body:
            self.body.write(data)
            return
        self.body_size += len(data)
        if self.body_size <= MAX_FORM:
            self.content.write(data)

    def setResponseCode(self, code: int, message: bytes | None = None) -> None:
        """Set the status with its standard phrase, also for statuses that Twisted does not know."""
        super().setResponseCode(code, message or HTTPStatus(code).phrase.encode())

    def process(self) -> None:
        """Serve the complete request in its client's turn, so that no page delays the chat or other clients.

        Varnish says which client is anonymous: one without a cookie (varnish/anonymous.vcl). A probe is
        served immediately: a server that is busy with many clients is not sick. `OPTIONS *` is answered by
        the front page.
        """
        site: Site = self.channel.site  # type: ignore[attr-defined]
        if self.path == b"*":
            self.path = b"/"
        if self.path == HEALTH:
            # Not within this call, in which Twisted would serve all of a client's requests in a row.
            site.reactor.callLater(0, self._process, time.monotonic())
            return
        asked, client = time.monotonic(), client_of(self.client_address)

        def begin() -> None:
            site.slices.add(lambda: self._process(asked), client)

        def begin_anonymous() -> None:
            if self.gone:
                site.anonymous.leave()
                return
            self.notifyFinish().addBoth(lambda _: site.anonymous.leave())
            begin()

        def refuse_anonymous() -> None:
            self.refusal = 503
            self.responseHeaders.setRawHeaders(b"retry-after", [b"5"])
            begin()

        may_wait = self.method in (b"GET", b"HEAD") and not self.path.startswith(HELD_BACK)
        if header(self, b"x-anonymous") and may_wait:
            site.anonymous.enter(client, begin_anonymous, refuse_anonymous)
        else:
            begin()

    def _process(self, asked: float) -> None:
        if not self.gone:
            self.steps.add("queue", asked)
            super().process()

    def render(self, resource: IResource) -> None:
        """Render a resource; send its response, unless the resource sends it later."""
        body = resource.render(self)
        if body is server.NOT_DONE_YET:
            return
        self.respond(body)

    def respond_later(self, response: Later) -> int:
        """Send the body that a coroutine returns, once it does; NOT_DONE_YET: it has sent the body itself."""

        def send(body: bytes | int) -> None:
            if isinstance(body, bytes) and not self.gone:
                self.respond(body)

        def failed(reason: Failure) -> None:
            if reason.check(CancelledError):  # see `held`
                return
            if self.gone:
                log.failure("a request failed", failure=reason, fields={"path": self.uri.decode("latin-1")})
            else:
                self.processingFailed(reason)

        context = copy_context()
        context.run(current.set, self.steps)
        context.run(Deferred.fromCoroutine, response).addCallback(send).addErrback(failed)
        return server.NOT_DONE_YET

    def respond(self, body: bytes) -> None:
        """Send the whole response; a resource may have set the length already, as for HEAD of a file."""
        if self.code != 304 and not self.responseHeaders.hasHeader(b"content-length"):
            self.responseHeaders.setRawHeaders(b"content-length", [b"%d" % len(body)])
        self.write(b"" if self.method == b"HEAD" else body)
        self.finish()

    def processingFailed(self, reason: Failure) -> Failure:
        """Handle an exception of a resource: traceback to the log, error page to the client."""
        if isinstance(problem := reason.value, NotWritten):
            path = self.uri.decode("latin-1")
            log.warn("nothing was written", fields={"path": path, "reason": str(problem)})
            self.respond(self.site.pages.error(self, problem.status))
            return reason
        log.failure("a request failed", failure=reason, fields={"path": self.uri.decode("latin-1")})
        if self.startedWriting:
            self.transport.abortConnection()  # so that a truncated response does not look complete
            return reason
        self.respond(self.site.pages.error(self, 500))
        return reason

    def connectionLost(self, reason: Failure) -> None:
        """Discard the request: the client disconnected before the response was complete."""
        self.gone = True
        if self.body:
            self.body.discard()
        if self.path is not None:  # otherwise it disconnected before there was a request
            self.log_line(self.code, aborted=True)
        super().connectionLost(reason)

    def finish(self) -> None:
        """End the complete response; remove what a Body has received."""
        if self.body:
            self.body.discard()
        super().finish()

    @property
    def client_address(self) -> str:
        """The client's address as seen by nginx or Varnish; without a proxy, that of the connection's peer.

        In X-Forwarded-For the last address counts: the proxy in front has added it; the client may have sent
        the others. A client could forge both headers, so it may only reach the direct listener.
        """
        claimed = header(self, b"x-real-ip") or header(self, b"x-forwarded-for").rpartition(",")[2].strip()
        try:
            return str(ipaddress.ip_address(claimed))
        except ValueError:
            return str(getattr(self.client, "host", "unknown"))

    @property
    def port(self) -> int:
        """The port at which this request arrived; on a Unix socket or the direct listener, the site's."""
        return self.site.port if self.site.direct else int(getattr(self.getHost(), "port", self.site.port))

    def log_line(self, status: int, aborted: bool = False) -> None:
        """Write this request's log line; nginx and Varnish log the same request ID."""
        fields: dict[str, object] = {
            "method": self.method.decode("latin-1"),
            "path": self.uri.decode("latin-1"),
            "status": status,
            "bytes": self.sentLength,
            "ms": (taken := round((time.monotonic() - self.began) * 1000, 1)),
            "client": self.client_address,
        }
        request_id = header(self, b"x-request-id")
        if REQUEST_ID.fullmatch(request_id):
            fields["request_id"] = request_id
        if self.steps:
            fields["steps"] = self.steps
        if aborted:
            fields["aborted"] = True
        traced = False
        if asked_by := TRACEPARENT.fullmatch(header(self, b"traceparent")):
            fields["parent"] = asked_by[1]
            traced = asked_by[2] == "01" or status >= 500 or (taken >= SLOW and not self.waits)
        log.info("request", fields=fields, traced=traced)


class Site(server.Site):
    """The web site: adds common headers to each response, and logs it.

    `direct`: clients reach it without a proxy that speaks HTTP, so no header of a request is trusted.
    """

    protocol = Channel  # type: ignore[assignment] # Twisted's own is a wrapper that can change to HTTP/2

    def __init__(
        self,
        root: Resource,
        pages: Pages,
        slices: Slices,
        anonymous: Lane,
        bodies: BodyRouter | None = None,
        port: int = 0,
        direct: bool = False,
    ) -> None:
        super().__init__(
            root, requestFactory=SiteRequest, parsePOSTFormSubmission=False, timeout=IDLE_TIMEOUT
        )
        self.pages = pages
        self.slices = slices
        self.anonymous = anonymous
        self.bodies = bodies
        self.port = port
        self.direct = direct

    def without_proxy(self, port: int) -> "Site":
        """Return the same site for a listener that clients reach directly; redirects name `port`."""
        return Site(self.resource, self.pages, self.slices, self.anonymous, self.bodies, port, direct=True)

    def getResourceFor(self, request: SiteRequest) -> IResource:
        """Set the common headers and return the resource for a request; called first for each request."""
        for name, value in HEADERS.items():
            request.responseHeaders.setRawHeaders(name, [value])
        if request.refusal:
            return ErrorPage(self.pages, request.refusal)
        if request.body_size > MAX_FORM:
            return ErrorPage(self.pages, 413)
        found: IResource = super().getResourceFor(request)
        return found

    def log(self, request: Request) -> None:
        """Log a complete response; called by Twisted."""
        # Varnish and the container engine request /health every few seconds: those lines would hide all
        # others.
        if isinstance(request, SiteRequest) and request.path != HEALTH:
            request.log_line(request.code)
