"""An application that does what proxies often break: `python3 app.py ADDRESS PORT`."""

import base64
import hashlib
import itertools
import json
import random
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

LARGE = random.Random(1).randbytes(20 << 20)  # random, so that it does not compress
STREAMS = {"/sse": "text/event-stream", "/ndjson": "application/x-ndjson", "/parts": "text/html"}
WEBSOCKET = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # https://www.rfc-editor.org/rfc/rfc6455#section-1.3

number = itertools.count(1)
sent: list[str] = []  # the addresses whose responses are sent completely


class Application(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def reply(self, body: bytes | str, status: int = 200, times: int = 1, /, **headers: str) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 304:
            self.send_header("Content-Length", str(len(data) * times))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD" and status != 304:
            for _ in range(times):
                self.wfile.write(data)
            sent.append(self.path)
        self.close_connection = True

    def respond(self) -> None:
        """Call the method that the first word of the path names, up to a dash or a dot."""
        url = urlsplit(self.path)
        kind = url.path.split("/")[1].partition("-")[0].partition(".")[0]
        getattr(self, f"respond_{kind or 'page'}")(url.path, dict(parse_qsl(url.query)))

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_PROPFIND = do_MKCOL = respond

    def respond_sent(self, path: str, query: dict[str, str]) -> None:
        self.reply(json.dumps(sent), Cache_Control="no-store")

    def respond_page(self, path: str, query: dict[str, str]) -> None:
        """Send a new text each time, after as many seconds as `wait` in the query says."""
        time.sleep(float(query.get("wait", 0)))
        text = f"page {next(number)}{' ' * 1000}from {socket.gethostname()}:{sys.argv[2]}"
        lifetime = f"max-age={query.get('age', '60')}"
        self.reply(text, Cache_Control=lifetime, X_Cache_Tags="news page", Content_Type="text/html")

    def respond_file(self, path: str, query: dict[str, str]) -> None:
        """Send a file that is the same for all; the cache answers conditional requests."""
        self.reply(
            b"x" * 2000,
            ETag='"tag"',
            Last_Modified="Thu, 26 Nov 2026 10:00:00 GMT",
            Content_Type="image/png",
            Cache_Control="public, max-age=60",
        )

    def respond_large(self, path: str, query: dict[str, str]) -> None:
        fields = {"ETag": '"large"', "Cache_Control": "max-age=60"}
        if self.headers.get("If-None-Match") == '"large"':
            return self.reply(b"", 304, 1, **fields)
        first, dash, last = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        if not dash:
            return self.reply(LARGE, 200, int(query.get("times", 1)), Accept_Ranges="bytes", **fields)
        begin, end = int(first), int(last or len(LARGE) - 1)
        place = f"bytes {begin}-{end}/{len(LARGE)}"
        return self.reply(LARGE[begin : end + 1], 206, 1, Content_Range=place, **fields)

    def respond_echo(self, path: str, query: dict[str, str]) -> None:
        heard = {name.lower(): value for name, value in self.headers.items()}
        self.reply(json.dumps({"method": self.command, **heard}), Content_Type="application/json")

    def respond_upload(self, path: str, query: dict[str, str]) -> None:
        left = int(self.headers.get("Content-Length", 0))
        digest = hashlib.sha256()
        while left > 0 and (part := self.rfile.read(min(left, 1 << 20))):
            digest.update(part)
            left -= len(part)
        self.reply(digest.hexdigest())

    def respond_down(self, path: str, query: dict[str, str]) -> None:
        self.reply("the application's own 503 page", 503, Retry_After="77")

    def respond_stream(self, path: str, query: dict[str, str]) -> None:
        """Send five parts in two seconds. `extended`: with extensions of chunks, and a trailer."""
        self.send_response(200)
        self.send_header("Content-Type", STREAMS[path.removeprefix("/stream")])
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in range(5):
            data = f"data: {part}\n\n".encode()
            extension = b";part" if "extended" in query else b""
            self.wfile.write(b"%x%s\r\n%s\r\n" % (len(data), extension, data))
            time.sleep(0.5)
        trailer = b"Server-Timing: app;dur=2000\r\n" if "extended" in query else b""
        self.wfile.write(b"0\r\n%s\r\n" % trailer)
        self.close_connection = True

    def respond_ws(self, path: str, query: dict[str, str]) -> None:
        """Open a WebSocket that sends one short frame back."""
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
    Server((sys.argv[1], int(sys.argv[2])), Application).serve_forever()
