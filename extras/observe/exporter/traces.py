"""Puts the log records of nginx, Varnish and the backend about one request together, as a tree of spans.

nginx and the backend send a line for each request that was chosen at random, was slow or failed; varnishlog
writes its records of such requests into a named pipe. They arrive in any order, so a request waits for a few
seconds until it is put together.
"""

import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric

from logs.serverlogs import Line, backend_lines
from logs.spans import Span, tree
from logs.varnishlog import Request, requests

HOLD = 5.0  # seconds from the first piece of a request until the request is put together, ...
LATE = 20.0  # ... if nginx has given up: Varnish still waits (varnish/times.vcl), and logs at its end
MOST = 250  # failed requests that wait, and as many others; pieces of further requests are dropped
PIECES = 50  # pieces of one request
SHOWN = 10  # slow requests that the page shows, and as many failed ones
LONGEST = 5000  # lines of varnishlog that belong together
PERIOD = 1.0  # seconds


@dataclass
class Trace:
    """One request: nginx's line about it, and its spans."""

    line: Line
    root: Span

    def as_json(self) -> dict[str, Any]:
        """Return the trace as JSON, for the page."""
        title = f"{self.line.method} {self.line.host}{self.line.path}"
        known = {"id": f"{self.line.id}-{self.root.id}", "trace": self.line.id, "title": title}
        return {**known, "status": self.line.status, "root": asdict(self.root)}


@dataclass
class _Pieces:
    since: float
    failed: bool  # according to the first piece
    nginx: list[Line] = field(default_factory=list)
    varnish: list[Request] = field(default_factory=list)
    backend: list[Line] = field(default_factory=list)

    @property
    def patience(self) -> float:
        """Seconds from the first piece until the request is put together."""
        given_up = any(line.answered == "nginx:error" for line in self.nginx)
        return LATE if given_up and not self.varnish else HOLD


class Traces:
    """The waiting requests, and the last slow and failed ones. `send` is called with each finished trace."""

    def __init__(
        self, send: Callable[[Trace], None] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._send = send
        self._clock = clock
        self._lock = Lock()
        self._waiting: dict[str, _Pieces] = {}  # in the order of their first pieces
        self._places = {True: MOST, False: MOST}  # free places, for failed requests and for others
        self._shown: dict[str, deque[Trace]] = {kind: deque(maxlen=SHOWN) for kind in ("failed", "slow")}
        self._dropped = 0

    def nginx(self, text: bytes) -> None:
        """Take a line in the format `traced` (nginx/observe/http.conf.template); drop anything else."""
        with self._or_drop():
            line = Line(**json.loads(text.decode(errors="replace")))  # nginx does not encode bytes
            self._add(line.id, lambda pieces: pieces.nginx, line)

    def backend(self, text: bytes) -> None:
        """Take a line of the backend's log; drop anything else."""
        with self._or_drop():
            for line in backend_lines([text.decode(errors="replace")]):
                self._add(line.id, lambda pieces: pieces.backend, line)

    def varnish(self, log: list[str]) -> None:
        """Take one request, as varnishlog prints it; drop anything else."""
        with self._or_drop():
            for request in requests(log):
                self._add(request.id, lambda pieces: pieces.varnish, request)

    @contextmanager
    def _or_drop(self) -> Iterator[None]:
        """Count unreadable data: anything may arrive, and these threads must continue."""
        try:
            yield
        except Exception:
            self._dropped += 1

    def _add(self, id: str, kind: Callable[[_Pieces], list[Any]], piece: Line | Request) -> None:
        failed = piece.status >= 500
        with self._lock:
            if id not in self._waiting:
                if not self._places[failed]:
                    self._dropped += 1
                    return
                self._places[failed] -= 1
                self._waiting[id] = _Pieces(self._clock(), failed)
            some = kind(self._waiting[id])
            if len(some) < PIECES:
                some.append(piece)
            else:
                self._dropped += 1

    def put_together(self) -> None:
        """Put the requests together that have waited long enough; drop those without a line of nginx."""
        for trace in self._complete():
            if trace.line.traced in self._shown:
                self._shown[trace.line.traced].append(trace)
            if self._send:
                with self._or_drop():
                    self._send(trace)

    def _complete(self) -> list[Trace]:
        complete: list[Trace] = []
        with self._lock:
            now = self._clock()
            ready = [id for id, pieces in self._waiting.items() if now - pieces.since >= pieces.patience]
            taken = [self._waiting.pop(id) for id in ready]
            for pieces in taken:
                self._places[pieces.failed] += 1
        for pieces in taken:
            if not pieces.nginx:
                self._dropped += len(pieces.varnish) + len(pieces.backend)
            for line in pieces.nginx:
                with self._or_drop():
                    own = [each for each in pieces.varnish if line.span in each.header("traceparent")]
                    complete.append(Trace(line, tree(line, own, pieces.backend)))
        return complete

    def read(self) -> list[Metric]:
        """Return the number of dropped pieces."""
        text = "Log lines of requests to trace, when too many waited, and what is no such line"
        return [CounterMetricFamily("traces_dropped", text, self._dropped)]

    def shown(self) -> bytes:
        """Return the last failed and slow requests, as JSON, the newest first."""
        shown = {kind: [trace.as_json() for trace in list(some)[::-1]] for kind, some in self._shown.items()}
        return json.dumps(shown).encode()

    def work(self) -> None:
        """Put requests together, forever."""
        while True:
            time.sleep(PERIOD)
            self.put_together()

    def follow(self, folder: Path) -> None:
        """Read every named pipe in the folder, forever; each belongs to one Varnish."""
        known: set[Path] = set()
        while True:
            for pipe in folder.glob("*.pipe"):
                if pipe not in known:
                    known.add(pipe)
                    Thread(target=self._follow, args=(pipe,), daemon=True).start()
            time.sleep(PERIOD)

    def _follow(self, pipe: Path) -> None:
        while True:
            try:
                with pipe.open(errors="replace", newline="\n") as log:  # waits until varnishlog runs
                    for group in groups(log):
                        self.varnish(group)
            except OSError as error:
                print(f"{pipe}: {error}", file=sys.stderr, flush=True)
            time.sleep(PERIOD)


def groups(log: Iterable[str]) -> Iterator[list[str]]:
    """Yield the lines between two empty lines; yield nothing for a group that is too long."""
    group: list[str] = []
    for line in log:
        if line.strip():
            if len(group) <= LONGEST:
                group.append(line.rstrip("\n"))
        else:
            if 0 < len(group) <= LONGEST:
                yield group
            group = []
