"""A tiny front of house on loopback: the stage page, what it names, and the caches' headers."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from tiny_stage import Stage, serve_web_socket

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
<link rel="preload" as="audio" href="/media/audio/bell.mp3">
<script type="module" src="/script/v1/main.js"></script>
</head><body><img src="/media/castle.svg" alt=""></body></html>"""
IDENTITY = "player=nice+visitor&key=0123&canAct=False&canAdmin=False&canSu=False"
PLAYER = "player={}&key=4567&canAct=True&canAdmin=False&canSu=False"


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    # Sent instead of the length of the body.
    content_length: int | None = None


class Front:
    """What the server says, and what it has been asked; tests change the former at will."""

    def __init__(self) -> None:
        self.answers = {
            "/stages/demo": Answer(
                body=STAGE_PAGE.encode(), headers={"Cache-Control": "public, max-age=0, s-maxage=1"}
            ),
            "/admin/id": Answer(body=IDENTITY.encode(), headers={"Cache-Control": "private, no-store"}),
        }
        for path, kind in ASSETS.items():
            control = "no-cache" if path.startswith("/media/") else "max-age=31536000, immutable"
            self.answers[path] = Answer(
                body=path.encode(),
                headers={"Content-Type": kind, "Cache-Control": f"public, {control}"},
            )
        self.delay = 0.0
        self.miss = "varnish; fwd=uri-miss; stored"
        self.hit = "varnish; hit; ttl=43190"
        self.asked: Counter[str] = Counter()
        self.revalidated: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.in_flight = self.most_in_flight = 0
        self.lock = threading.Lock()
        self.address = ""
        self.hosts: set[str] = set()
        self.password = "sesame"
        self.signed_in_as = "ann"  # what /admin/id says to who has the cookie
        self.stage = Stage()


def handler(front: Front) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one write per answer, as a real server

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            with front.lock:
                front.asked[self.path] += 1
            good = form == {"username": ["ann"], "password": [front.password]}
            programme = not (self.headers["Cookie"] or self.headers["Origin"])
            self.send_response(302 if good and programme else 401)
            if good:
                self.send_header("Set-Cookie", "session=1; Path=/; HttpOnly")
                self.send_header("Location", "/admin/")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            with front.lock:
                front.hosts.add(self.headers["Host"])
            if self.path == "/ws":
                serve_web_socket(front.stage, self.connection, self.path, self.headers.items())
                self.close_connection = True
                return
            etag = f'"{self.path}"'
            same = self.headers.get("If-None-Match") == etag
            with front.lock:
                front.asked[self.path] += 1
                front.revalidated[self.path] += same
                front.in_flight += 1
                front.most_in_flight = max(front.most_in_flight, front.in_flight)
                # Harder than real life, where whoever waits for the same fetch gets a hit.
                known = front.answered[self.path] > 0
            time.sleep(front.delay)
            answer = front.answers.get(self.path, Answer(404, b"\xff\xfe not text"))
            stored = self.path in ASSETS and answer.status == 200
            status = 304 if same and answer.status == 200 else answer.status
            body = b"" if status == 304 else answer.body
            if self.path == "/admin/id" and self.headers["Cookie"]:
                body = PLAYER.format(front.signed_in_as).encode()
            self.send_response(status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            cache_status = (front.hit if known else front.miss) if stored else "varnish; fwd=bypass"
            if cache_status:
                self.send_header("Cache-Status", cache_status)
            if stored:
                self.send_header("ETag", etag)
            if status != 304:
                length = len(body) if answer.content_length is None else answer.content_length
                self.send_header("Content-Length", str(length))
            # Before the visitor can see the answer, and ask again.
            with front.lock:
                front.answered[self.path] += 1
                front.in_flight -= 1
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
            self.close_connection = answer.content_length is not None

        def log_message(self, *_: object) -> None:
            """Keep the tests' output to what matters."""

    return Handler


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """A visitor who is stopped in the middle of an answer is no error."""
