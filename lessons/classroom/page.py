"""`make class-page`: a page for the projector, which says who is at which lesson, and for how long.

It has no passwords, and listens on 127.0.0.1 only. What a learner could have written is escaped.
"""

import socket
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from .status import Copy, EngineError, copies

EVERY = 10  # seconds after which the browser asks again
LONG = 15  # minutes at one lesson after which a row is marked
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="{every}">
<title>The class</title>
<style>
body {{ font: 1.2rem sans-serif; margin: 2rem; color: #222; background: #fff }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #bbb; text-align: left }}
.long {{ background: #fff0b8 }}
</style>
<h1>The class at {at}</h1>
<p>{summary}</p>
<table>
<tr><th>Copy<th>Lesson<th>For<th>Attempts<th>Done<th>The check's last words<th>Health
{rows}
</table>
</html>
"""
ROW = "<tr{mark}><td>{number}<td>{lesson}<td>{spent}<td>{attempts}<td>{done}<td>{said}<td>{health}"


def serve(folder: Path, port: int) -> None:
    """Serve the page of the class in a folder until Ctrl-C. Raise OSError if the port is taken."""
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(Handler, lambda: copies(folder)))
    except OSError as error:
        raise OSError(f"Port {port}: {error.strerror}. Choose another: CLASS_PAGE_PORT={port + 1}") from None
    print(f"The class: http://localhost:{port}/ (Ctrl-C ends it)")
    print(f"From your own machine: ssh -L {port}:localhost:{port} {socket.gethostname()}", flush=True)
    with server:
        server.serve_forever()


class Handler(BaseHTTPRequestHandler):
    """Answers every GET with the page as it is now."""

    def __init__(self, ask: Callable[[], list[Copy]], *arguments: object) -> None:
        self._ask = ask
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Send the page, or why there is none."""
        try:
            text = as_page(self._ask(), time.time())
        except EngineError as error:
            text = f"<meta http-equiv=refresh content={EVERY}><p>{escape(str(error))}"
        body = text.encode(errors="replace")
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""


def as_page(found: list[Copy], now: float) -> str:
    """The page: those first who have spent longest at their lesson."""
    at_work = Counter(copy.current.lesson for copy in found if copy.current and copy.current.working)
    counts = [f"lesson {lesson}: {number}" for lesson, number in sorted(at_work.items())]
    return PAGE.format(
        every=EVERY,
        at=time.strftime("%H:%M:%S", time.localtime(now)),
        summary=f"Learners at work: {'; '.join(counts) or 'none'}",
        rows="\n".join(row(copy, now) for copy in sorted(found, key=lambda one: -minutes(one, now))),
    )


def minutes(copy: Copy, now: float) -> int:
    """How long the learner has been at a lesson that is not done; -1: at none."""
    current = copy.current
    return max(0, int(now - current.newest) // 60) if current and current.working else -1


def row(copy: Copy, now: float) -> str:
    """One copy."""
    current, spent = copy.current, minutes(copy, now)
    cells = {
        "number": copy.number,
        "lesson": current.lesson if current else "-",
        "spent": f"{spent} min" if spent >= 0 else "done" if current else "-",
        "attempts": current.attempts if current else 0,
        "done": copy.numbers("done") or "-",
        "said": current.said if current and current.working else "",
        "health": copy.health,
    }
    mark = ' class="long"' if spent >= LONG else ""
    return ROW.format(mark=mark, **{name: escape(str(value)) for name, value in cells.items()})
