"""The access logs of nginx and of the backend: one line for each request."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

# The formats are in nginx/logging/access.conf and, that of 2011, in nginx/sites/classic.localhost.conf.
NGINX = re.compile(
    r'^\S+ "(?P<method>\S+) (?P<url>\S+) (?P<protocol>\S+)" (?P<host>\S+) (?P<status>\d+) '
    r'(?P<bytes>\d+) (?P<seconds>[\d.]+)s answered=(?P<answered>\S+) cache="(?P<cache>[^"]*)" '
    r"visitor=(?P<visitor>\w+) at=(?P<ended>[\d.]+) id=(?P<id>\w+)$"
)
CLASSIC = re.compile(
    r'^(?P<host>classic\.localhost) \S+ - \S+ \[[^]]*\] "(?P<method>\S+) (?P<url>\S+) '
    r'(?P<protocol>\S+)" (?P<status>\d+) (?P<bytes>\d+) "[^"]*" "[^"]*" answered=(?P<answered>\S+) '
    r"id=(?P<id>\w+)$"
)


@dataclass(frozen=True)
class Line:
    """One request, as a server logged it."""

    method: str
    url: str
    status: int
    bytes: int  # bytes of the body
    id: str  # X-Request-Id
    protocol: str = ""  # nginx only: HTTP/1.1 or HTTP/2.0
    host: str = ""  # nginx only
    answered: str = ""  # nginx only: server:outcome (nginx/logging/outcome.conf)
    cache: str = ""  # nginx only: the Cache-Status that was sent; absent from the log of classic.localhost
    visitor: str = ""  # nginx only: anonymous, identified or personal (nginx/caching/micro_cache.conf)
    seconds: float | None = None  # how long the request took; absent from the log of classic.localhost
    ended: float | None = None  # seconds since 1970; absent from the log of classic.localhost
    span: str = ""  # nginx's own span in the trace `id`; absent from the access log
    parent: str = ""  # the span that sent the request
    flags: str = "00"  # 01: the trace is kept
    traced: str = ""  # why nginx reports it: failed, slow, or drawn at random
    # backend only: each step's name, and when the wait for it began and ended, in ms after the request began
    steps: Mapping[str, tuple[float, float]] = field(default_factory=dict, hash=False)

    @property
    def path(self) -> str:
        """The URL without its query."""
        return self.url.partition("?")[0]


def nginx_lines(log: Iterable[str]) -> Iterator[Line]:
    """Yield the requests in nginx's log; requests to classic.localhost have no times, because the format of
    2011 has whole seconds only. Other lines are left out.
    """
    kinds = {"status": int, "bytes": int, "seconds": float, "ended": float}
    for line in log:
        if found := NGINX.match(line) or CLASSIC.match(line):
            yield Line(**{name: kinds.get(name, str)(text) for name, text in found.groupdict().items()})


def backend_lines(log: Iterable[str]) -> Iterator[Line]:
    """Yield the requests in the backend's log; other lines are left out."""
    for entry in _entries(log):
        if "request_id" in entry:  # messages, and requests without a proxy, have none
            method, url, status, size = (entry[name] for name in ("method", "path", "status", "bytes"))
            yield Line(
                method,
                url,
                status,
                size,
                entry["request_id"],
                seconds=entry["ms"] / 1000,
                ended=_seconds(entry),
                parent=entry.get("parent", ""),
                steps=entry.get("steps", {}),
            )


def _entries(log: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the lines that are JSON objects with a time."""
    for line in log:
        with suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, dict) and "time" in entry:
                yield entry


def _seconds(entry: dict[str, Any]) -> float:
    return datetime.fromisoformat(entry["time"]).timestamp()
