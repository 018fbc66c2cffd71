"""A foreign application for tests: slow pages, large files, uploads, event streams.

Its arguments: an address, a port, and for https the files of a certificate and its key.
"""

import hashlib
import socket
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHUNK = b"x" * 1_000_000


class Handler(BaseHTTPRequestHandler):
    """Answers by the first word of the path; the second is a number."""

    protocol_version = "HTTP/1.1"
    failing = most = 0  # requests for /broken in progress
    worker = threading.Lock()

    def do_GET(self) -> None:
        _, what, *rest = self.path.partition("?")[0].split("/")
        getattr(self, f"send_{what or 'page'}")(int(rest[0]) if rest else 0)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(hashlib.sha256(body).hexdigest().encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def reply(self, body: bytes, *fields: tuple[str, str], status: int = 200) -> None:
        self.send_response(status)
        given = {"Content-Length": str(len(body)), "Content-Type": "text/html"} | dict(fields)
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_page(self, _: int) -> None:
        self.reply(f"from {socket.gethostname()}".encode(), ("Cache-Control", "max-age=60"))

    def send_port(self, _: int) -> None:
        """Its own."""
        self.reply(sys.argv[2].encode(), ("Cache-Control", "max-age=60"))

    def send_file(self, size: int) -> None:
        """A file for all; the cache answers what is conditional."""
        date = ("Last-Modified", "Thu, 26 Nov 2026 10:00:00 GMT")
        picture = ("Content-Type", "image/png"), ("Cache-Control", "public, max-age=60")
        self.reply(b"x" * size, ("ETag", '"tag"'), date, *picture)

    def send_slow(self, seconds: int) -> None:
        time.sleep(seconds)
        self.reply(b"at last")

    def send_broken(self, number: int) -> None:
        """Fail after half a second; with a number, the most that have failed at the same time."""
        if not number:
            Handler.failing += 1
            Handler.most = max(Handler.most, Handler.failing)
            time.sleep(0.5)
            Handler.failing -= 1
        self.reply(str(Handler.most).encode(), status=200 if number else 500)

    def send_parts(self, number: int) -> None:
        """A page without a lifetime, part by part."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in range(number):
            self.wfile.write(b"8\r\npart %02d\n\r\n" % part)
            time.sleep(0.5)
        self.wfile.write(b"0\r\n\r\n")

    def send_large(self, megabytes: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(megabytes * len(CHUNK)))
        self.send_header("Cache-Control", "max-age=60")
        self.end_headers()
        for _ in range(megabytes):
            self.wfile.write(CHUNK)

    def send_one(self, megabytes: int) -> None:
        """A file or a page from the only worker."""
        with Handler.worker:
            if megabytes:
                self.send_large(megabytes)
            else:
                self.reply(b"the next")

    def send_events(self, seconds: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number in range(seconds):
            self.wfile.write(f"data: {number}\n\n".encode())
            time.sleep(1)


if __name__ == "__main__":
    server = ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler)
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*sys.argv[3:])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()
