"""The nasty application: every kind of response that a cache can get wrong. `python3 app.py PORT`.

It counts what it is asked for (GET /asked), and fails or is slow on demand (GET /set?fail=1&slow=0.5).
"""

import base64
import hashlib
import itertools
import json
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

LARGE = random.Random(1).randbytes(20 << 20)  # they do not compress
TYPES = {"css": "text/css", "png": "image/png", "js": "text/javascript"}
BELIEVED = (
    "X-Forwarded-Prefix",
    "X-Forwarded-Scheme",
    "X-Forwarded-Server",
    "X-Host",
    "X-Original-URL",
    "X-Rewrite-URL",
)
STREAMS = {"/sse": "text/event-stream", "/ndjson": "application/x-ndjson", "/parts": "text/html"}
WEBSOCKET = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # https://www.rfc-editor.org/rfc/rfc6455#section-1.3

number = itertools.count(1)
asked: dict[str, int] = {}
state = {"fail": 0.0, "slow": 0.0}
lock = threading.Lock()


class Application(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the tests are told by /asked."""

    def reply(self, body: bytes | str, status: int = 200, /, **headers: str) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 304:
            self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD" and status != 304:
            self.wfile.write(data)
            with lock:
                asked[f"sent {self.path}"] = asked.get(f"sent {self.path}", 0) + 1
        self.close_connection = True

    def user(self) -> str:
        cookie = self.headers.get("Cookie", "")
        return cookie.partition("user=")[2].partition(";")[0] or "visitor"

    def answer(self) -> None:
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        with lock:
            asked[url.path] = asked.get(url.path, 0) + 1
        if url.path == "/asked":
            return self.reply(json.dumps(asked), Cache_Control="no-store")
        if url.path == "/set":
            state.update({name: float(value) for name, value in query.items()})
            return self.reply(json.dumps(state), Cache_Control="no-store")
        time.sleep(state["slow"])
        kind = url.path.split("/")[1].partition("-")[0]
        method = getattr(self, f"answer_{kind.partition('.')[0]}", None)
        if method is None:
            return self.reply("no such page", 404)
        method(url.path, query, f"{next(number)} for {self.user()}")
        return None

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_PROPFIND = do_MKCOL = answer

    def answer_page(self, path: str, query: dict[str, str], text: str) -> None:
        """Storable; it repeats what it was told in headers, as frameworks do in their links."""
        if state["fail"]:
            return self.reply(f"the application says 500 {text}", 500)
        told = "".join(self.headers.get(name, "") for name in BELIEVED)
        lifetime = f"max-age={query.get('age', '60')}"
        return self.reply(
            f"page {text} {told}", Cache_Control=lifetime, X_Cache_Tags="news page", Content_Type="text/html"
        )

    def answer_dynamic(self, path: str, query: dict[str, str], text: str) -> None:
        self.reply(f"dynamic {text}", Content_Type="text/html")

    def answer_setcookie(self, path: str, query: dict[str, str], text: str) -> None:
        self.reply(f"hello {text}", Set_Cookie="id=1; Path=/", Cache_Control="max-age=60")

    def answer_private(self, path: str, query: dict[str, str], text: str) -> None:
        self.reply(f"private {text}", Cache_Control="private, max-age=60")

    def answer_vary(self, path: str, query: dict[str, str], text: str) -> None:
        self.reply(f"vary {text}", Vary="Cookie", Cache_Control="max-age=60")

    def answer_secret(self, path: str, query: dict[str, str], text: str) -> None:
        """A picture for those who are signed in."""
        if self.user() == "visitor":
            return self.reply("no", 403)
        return self.reply(f"secret {text}", Content_Type="image/png")

    def answer_static(self, path: str, query: dict[str, str], text: str) -> None:
        extra = {"Cache_Control": query["control"]} if "control" in query else {}
        kind = TYPES[path.rpartition(".")[2]]
        self.reply(f"static {text} " + "a" * 3000, Content_Type=kind, ETag='"1"', **extra)

    def answer_wiki(self, path: str, query: dict[str, str], text: str) -> None:
        """A page whose address ends like a picture's."""
        self.reply(f"wiki {text}", Content_Type="text/html", Cache_Control="max-age=60")

    def answer_large(self, path: str, query: dict[str, str], text: str) -> None:
        extra = {"Cache_Control": f"max-age={query['age']}"} if "age" in query else {}
        if self.headers.get("If-None-Match") == '"large"':
            return self.reply(b"", 304, ETag='"large"', **extra)
        first, dash, last = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        if not dash:
            return self.reply(LARGE, ETag='"large"', Accept_Ranges="bytes", **extra)
        begin, end = int(first), int(last or len(LARGE) - 1)
        place = f"bytes {begin}-{end}/{len(LARGE)}"
        return self.reply(LARGE[begin : end + 1], 206, ETag='"large"', Content_Range=place, **extra)

    def answer_echo(self, path: str, query: dict[str, str], text: str) -> None:
        heard = {name.lower(): value for name, value in self.headers.items()}
        told = {"method": self.command, "url": self.path, **heard}
        self.reply(json.dumps(told), Content_Type="application/json")

    def answer_upload(self, path: str, query: dict[str, str], text: str) -> None:
        left = int(self.headers.get("Content-Length", 0))
        digest = hashlib.sha256()
        while left > 0 and (part := self.rfile.read(min(left, 1 << 20))):
            digest.update(part)
            left -= len(part)
        self.reply(digest.hexdigest())

    def answer_down(self, path: str, query: dict[str, str], text: str) -> None:
        self.reply("the application's own 503 page", 503, Retry_After="77")

    def answer_stream(self, path: str, query: dict[str, str], text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", STREAMS[path.removeprefix("/stream")])
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in range(4):
            data = f"data: {part}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            time.sleep(0.4)
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def answer_ws(self, path: str, query: dict[str, str], text: str) -> None:
        """A WebSocket that sends one short frame back."""
        key = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + WEBSOCKET).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(key).decode())
        self.end_headers()
        first, length = self.rfile.read(2)
        mask = self.rfile.read(4)
        data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.rfile.read(length & 127)))
        self.wfile.write(bytes([first, len(data)]) + data)
        self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 200


if __name__ == "__main__":
    Server(("0.0.0.0", int(sys.argv[1])), Application).serve_forever()
