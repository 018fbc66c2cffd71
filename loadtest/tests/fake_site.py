"""A site on loopback: the stage page, its files and a login. It answers as if behind a cache."""

import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from loadtest.tests.fake_stage import STILL, FakeStage, serve_web_socket
from tests.support.origin import Origin, Request, response

ASSETS = {
    "/style/v1/main.css": "text/css",
    "/script/v1/main.js": "text/javascript",
    "/script/v1/wire.js": "text/javascript",
    "/image/v1/icon.svg": "image/svg+xml",
    "/media/queen.svg": "image/svg+xml",
    "/media/castle.svg": "image/svg+xml",
    "/media/audio/bell.mp3": "audio/mpeg",
}
STAGE_PAGE = """<!doctype html><html><head><title>Demo</title>
<link rel="stylesheet" href="/style/v1/main.css">
<link rel="icon" type="image/svg+xml" href="/image/v1/icon.svg">
<link rel="modulepreload" href="/script/v1/wire.js">
<link rel="preload" as="image" href="/media/queen.svg">
<link rel="prefetch" href="/media/audio/bell.mp3">
<script type="module" src="/script/v1/main.js"></script>
</head><body><img src="/media/castle.svg" alt=""></body></html>"""
METRICS = b"upstage_http_request_seconds_count 5\nprocess_cpu_seconds_total 1\nupstage_clients 3\n"
CAMERA = "/media/video/camera.jpg"
IDENTITY = "player=nice+visitor&key=0123&canAct=False&canAdmin=False&canSu=False"
PLAYER = "player={}&key=4567&canAct=True&canAdmin=False&canSu=False"


@dataclass
class Page:
    """A resource that the site serves; assets can be revalidated."""

    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class FakeSite(Origin):
    """The site, with its stage at `stage`. Tests change the attributes at will."""

    def __init__(self) -> None:
        stage = Page(STAGE_PAGE.encode(), {"cache-control": "public, max-age=0, s-maxage=1"})
        self.pages = {
            "/stages/demo": stage,
            "/stages/load": stage,  # the default of the options
            "/admin/id": Page(IDENTITY.encode(), {"cache-control": "private, no-store"}),
        }
        for path, kind in ASSETS.items():
            control = "no-cache" if path.startswith("/media/") else "max-age=31536000, immutable"
            headers = {"content-type": kind, "cache-control": f"public, {control}"}
            self.pages[path] = Page(path.encode(), headers)
        for number in range(1, 1000):
            self.pages[f"/speech/utter-{number}.mp3"] = Page(b"spoken", {"content-type": "audio/mpeg"})
        self.pages[CAMERA] = Page(b"frame", {"content-type": "image/jpeg", "cache-control": "no-store"})
        self.pages[STILL] = Page(b"still", {"content-type": "image/jpeg"})
        self.instead: dict[str, bytes] = {}  # path -> a whole response, sent as it is
        self.latency = 0.0  # seconds before each response
        self.miss = "varnish; fwd=uri-miss; stored"
        self.hit = "varnish; hit; ttl=43190"
        self.password = "sesame"
        self.signed_in_as = "ann"  # the name in /admin/id for a request with the session cookie
        self.most_in_flight = 0
        self.cached: set[str] = set()  # paths that have been answered
        self.said: list[str] = []  # the lines of the PROXY protocol with which crawlers' connections begin
        self.stage = FakeStage()
        self._in_flight = 0
        self._lock = threading.Lock()
        super().__init__("site")
        self.respond = self._respond

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    @property
    def asked(self) -> Counter[str]:
        """The number of requests for each path."""
        return Counter(self.targets)

    @property
    def revalidated(self) -> Counter[str]:
        """The number of requests, for each path, that revalidate a copy which is still valid."""
        usable = (each for each in self.requests if each.headers.get("if-none-match") == etag(each))
        return Counter(request.target for request in usable)

    def close(self) -> None:
        super().close()
        self.stage.close()

    def serve(self, connection: socket.socket, number: int) -> None:
        """Act as both ports of nginx: with a line of the PROXY protocol in front, or without it."""
        if connection.recv(6, socket.MSG_PEEK | socket.MSG_WAITALL) == b"PROXY ":
            line = b""
            while not line.endswith(b"\n"):
                line += connection.recv(1)
            self.said.append(line.decode())
        super().serve(connection, number)

    def upgraded(self, connection: socket.socket, request: Request) -> None:
        serve_web_socket(self.stage, connection, request.target, list(request.headers.items()))

    def _respond(self, request: Request) -> bytes:
        if request.target == "/ws":
            return b""  # the WebSocket handshake follows
        with self._lock:
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
            # Stricter than a real cache, where all requests that wait for the same fetch are hits.
            cached = request.target in self.cached
        time.sleep(self.latency)
        sent = self._response_for(request, cached)
        with self._lock:
            self.cached.add(request.target)
            self._in_flight -= 1
        return sent

    def _response_for(self, request: Request, cached: bool) -> bytes:
        path = request.target.partition("?")[0]
        if path in self.instead:
            return self.instead[path]
        if request.method == "POST":
            return self._log_in(request)
        if path not in self.pages:
            return response(b"\xff\xfe not text", "404 Not Found", cache_status="varnish; fwd=bypass")
        page = self.pages[path]
        is_stored = path in ASSETS or path.startswith(("/speech/", "/media/video-still/"))
        if path == "/admin/id" and "session" in request.headers.get("cookie", ""):
            return response(PLAYER.format(self.signed_in_as), cache_status="varnish; fwd=bypass")
        headers = {"cache-status": "varnish; fwd=bypass", **page.headers}
        if is_stored:
            headers |= {"etag": etag(request), "cache-status": self.hit if cached else self.miss}
        if not headers["cache-status"]:
            del headers["cache-status"]
        if is_stored and request.headers.get("if-none-match") == etag(request):
            return response("", "304 Not Modified", **headers).replace(b"content-length: 0\r\n", b"")
        return response(page.body, **headers)

    def _log_in(self, request: Request) -> bytes:
        """Accept the password from a program: a request without cookies and Origin."""
        form = parse_qs(request.body.decode())
        program = not {"cookie", "origin"} & request.headers.keys()
        if not program or form != {"username": ["ann"], "password": [self.password]}:
            return response("", "401 Unauthorized")
        return response("", "302 Found", set_cookie="session=1; Path=/; HttpOnly", location="/admin/")


def etag(request: Request) -> str:
    return f'"{request.target}"'
