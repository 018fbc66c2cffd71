"""A fake of Prometheus: its API with made-up figures, and the page at /user/ as nginx sends it."""

import json
import mimetypes
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import sin
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

PAGE = Path(__file__).parents[1] / "page"
POLICY = "default-src 'self'; frame-ancestors 'none'"  # without 'unsafe-inline': the page needs none
Series = list[tuple[dict[str, str], float]]  # labels and a value


class FakePrometheus:
    """The figures that the API returns, and a record of what the page has requested."""

    def __init__(self) -> None:
        self.url = ""
        self.figures: dict[str, Series] = {}  # expression -> its series
        self.other: Series = [({}, 1)]  # the series of any other expression
        self.alerts: list[dict[str, Any]] = []
        self.exemplars: Series = []
        self.note: dict[str, Any] = {}  # of a fault; nginx has it
        self.up = True
        self.answering = Event()  # cleared: requests wait
        self.answering.set()
        self.asked: Counter[str] = Counter()  # by path
        self.waiting = self.most_waiting = 0  # requests to the API that are in progress

    def alert(self, name: str, state: str, **annotations: str) -> None:
        """Add an alert; state: pending or firing."""
        self.alerts.append({"state": state, "labels": {"alertname": name}, "annotations": annotations})

    def data(self, path: str, query: dict[str, str]) -> object:
        """The API's answer to one request, without the envelope."""
        if path == "alerts":
            return {"alerts": self.alerts}
        if path == "query_exemplars":
            return [
                {"seriesLabels": {}, "exemplars": [{"labels": labels, "value": str(value)}]}
                for labels, value in self.exemplars
            ]
        series = self.figures.get(query["query"], self.other)
        if path == "query":
            return {
                "result": [{"metric": labels, "value": [time.time(), str(value)]} for labels, value in series]
            }
        start, end, step = (float(query[name]) for name in ("start", "end", "step"))
        times = [start + step * i for i in range(round((end - start) / step) + 1)]
        return {"result": [{"metric": labels, "values": wave(times, value)} for labels, value in series]}


def wave(times: list[float], value: float) -> list[tuple[float, str]]:
    """A line that ends at `value`, and varies a little before."""
    last = times[-1]
    return [(at, str(value * (1 + 0.1 * sin((at - last) / 20)))) for at in times]


@contextmanager
def fake_prometheus() -> Iterator[FakePrometheus]:
    """Serve on a port of its own."""
    fake = FakePrometheus()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            fake.asked[url.path] += 1
            if url.path.startswith("/api/v1/"):
                fake.waiting += 1
                fake.most_waiting = max(fake.most_waiting, fake.waiting)
                fake.answering.wait()
                fake.waiting -= 1
                if not fake.up:
                    return self.send(502, "text/html", b"<h1>502 Bad Gateway</h1>")
                data = fake.data(url.path.removeprefix("/api/v1/"), dict(parse_qsl(url.query)))
                return self.send(
                    200, "application/json", json.dumps({"status": "success", "data": data}).encode()
                )
            if url.path == "/.nginx/fault":
                note = json.dumps(fake.note).encode() if fake.note else b""
                return self.send(200 if note else 204, "application/json", note)
            file = PAGE / (url.path.removeprefix("/user/") or "index.html")
            if not file.is_file():
                return self.send(404, "text/plain", b"404")
            return self.send(200, mimetypes.guess_type(file)[0] or "text/plain", file.read_bytes())

        def send(self, status: int, kind: str, body: bytes) -> None:
            with suppress(ConnectionError):  # the browser has closed the page, and with it the connection
                self.write(status, kind, body)

        def write(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_port}/user/"
    Thread(target=server.serve_forever, daemon=True).start()
    yield fake
    fake.answering.set()
    server.shutdown()
    server.server_close()
