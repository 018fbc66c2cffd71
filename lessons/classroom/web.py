"""`make class-page`: a page on this machine that says which copy is at which lesson, live and read-only.

It is for the instructor's browser: it listens on 127.0.0.1 only, and answers only requests with a Host name
of that address, so that no page of another site can read it under its own name (DNS rebinding).
"""

import io
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

from lessons.checking.lesson import lessons
from lessons.classroom.class_state import ClassState
from lessons.classroom.engine import EngineError
from lessons.classroom.plan import PlanError
from lessons.classroom.results import Result
from lessons.classroom.status import states

EVERY = 5  # seconds between two questions to the engine, which take it one or two
HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.I)  # any port: a tunnel has its own
FILES = Path(__file__).parent / "page"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
Answer = tuple[HTTPStatus, bytes]


def serve(folder: Path, environment: Mapping[str, str], port: int) -> int:
    """Serve the page of the class in a folder until Ctrl-C. Raise PlanError if the port is taken."""
    try:
        server = PageServer(port, lambda: answer(folder, environment))
    except OSError as error:
        raise PlanError(
            f"Port {port}: {error.strerror}. Choose another, such as: CLASS_PAGE_PORT={port + 1}"
        ) from None
    print(f"The class: http://localhost:{port}/ (Ctrl-C ends it)")
    print(f"From your own machine: ssh -L {port}:localhost:{port} {socket.gethostname()}", flush=True)
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


def answer(folder: Path, environment: Mapping[str, str]) -> Answer:
    """The lessons, and each copy with its own and the current one, as JSON; or why there is none."""
    try:
        opened = ClassState.load(folder, environment)
        found = states(opened) if opened else []
    except (EngineError, PlanError, OSError, ValueError, KeyError) as error:
        return HTTPStatus.SERVICE_UNAVAILABLE, json.dumps({"error": str(error)}).encode()
    shown = {
        "at": time.time(),
        "lessons": [{"number": lesson.number, "title": lesson.title} for lesson in lessons()],
        "copies": [asdict(state) | {"current": current(state.lessons)} for state in found],
    }
    return HTTPStatus.OK, json.dumps(shown).encode()


def current(found: list[Result]) -> dict[str, Any] | None:
    """The lesson that was begun last; `working`, `again` (it was done before) or `done`, and since when."""
    begun = [result for result in found if result.newest]
    if not begun:
        return None
    last = max(begun, key=lambda result: result.newest)
    doing = "working" if last.state == "begun" else "again" if last.again else "done"
    return {
        "lesson": last.lesson,
        "doing": doing,
        "since": last.done if doing == "done" else last.newest,
        "said": "" if doing == "done" else last.said,
    }


class PageServer(ThreadingHTTPServer):
    """The page's files, and the state of the class; `ask` finds that out."""

    def __init__(self, port: int, ask: Callable[[], Answer]) -> None:
        """Listen. Raise OSError if the port is taken."""
        self._ask, self._until = ask, 0.0
        self._lock = threading.Lock()
        self._answer: Answer
        super().__init__(("127.0.0.1", port), partial(Handler, directory=FILES))

    def recent(self) -> Answer:
        """The latest answer, asked for at most once in EVERY seconds, however many want to know."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._answer = self._ask()
                self._until = time.monotonic() + EVERY
            return self._answer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Be silent about a browser that has gone."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Handler(SimpleHTTPRequestHandler):
    """GET and HEAD of the page's files and of state.json."""

    server: PageServer
    timeout = 10  # seconds for a client to send its request

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        """Send the head of a response, and return its body."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not HOST.fullmatch(hosts[0]):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "This page is for localhost.")
            return None
        if self.path.partition("?")[0] != "/state.json":
            return super().send_head()
        status, body = self.server.recent()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return io.BytesIO(body)

    def end_headers(self) -> None:
        """Add the headers of every response."""
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""
