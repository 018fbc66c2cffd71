"""An application with four pages, whose headers you write in headers.toml: python3 application.py.

A cache at work cannot be seen, so each page ends with the number of the response.
"""

import itertools
import sys
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HEADERS = Path(__file__).with_name("headers.toml")
PORT = Path(__file__).parents[2] / ".run" / "lesson-20-port"
GREETINGS = {"de": "Guten Abend", "fr": "Bonsoir", "en": "Good evening"}
number = itertools.count(1)


class Application(BaseHTTPRequestHandler):
    """Serves the pages."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the headers of headers.toml, or with 304 if the client has this ETag."""
        path = self.path.partition("?")[0]
        try:
            headers = tomllib.loads(HEADERS.read_text()).get(path, {})
        except tomllib.TOMLDecodeError as error:
            self.send_error(500, f"headers.toml: {error}")
            return
        own, text = self.page(path)
        unchanged = "ETag" in headers and self.headers.get("If-None-Match") == headers["ETag"]
        body = b"" if unchanged else f"{text}\nresponse number {next(number)}\n".encode()
        self.send_response(304 if unchanged else 200)
        for name, value in (headers | own).items():
            self.send_header(name, value)
        if not unchanged:
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def page(self, path: str) -> tuple[dict[str, str], str]:
        """Return the headers and the text that the page's program makes."""
        if path == "/greeting":
            language = self.headers.get("Accept-Language", "")[:2]
            language = language if language in GREETINGS else "en"
            return {"Content-Language": language}, GREETINGS[language]
        if path == "/news":
            origin = self.headers.get("Referer", "/")  # the page whose link was followed
            return {"Link": f"<{origin}>; rel=prev"}, "The news"
        return {}, path


def serve() -> None:
    """Listen on a free port, because other learners may share this machine; keep it for the next time."""
    port = int(PORT.read_text()) if PORT.exists() else 0
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Application)
    except OSError:
        sys.exit(f"Port {port} is taken. Unless the application runs already: rm {PORT}")
    PORT.parent.mkdir(exist_ok=True)
    PORT.write_text(str(server.server_port))
    print(f"make up EXTRAS=app APP=http://127.0.0.1:{server.server_port} WITH=upstage", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve()
