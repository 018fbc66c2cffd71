"""The cache in one visitor's browser: it decides what a reload asks the server for (RFC 9111)."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class _Copy:
    fresh_until: float
    etag: str
    last_modified: str


class BrowserCache:
    """Which answers a browser still has; it keeps their names and dates, not their bodies.

    `clock` gives seconds. Headers are mappings from lower-case names.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._copies: dict[str, _Copy] = {}

    def fresh(self, url: str) -> bool:
        """Whether the browser uses its copy without asking."""
        copy = self._copies.get(url)
        return copy is not None and self._clock() < copy.fresh_until

    def conditions(self, url: str) -> dict[str, str]:
        """The request headers that ask whether a stale copy is still good; none without a copy."""
        copy = self._copies.get(url)
        if copy is None:
            return {}
        headers = {"If-None-Match": copy.etag, "If-Modified-Since": copy.last_modified}
        return {name: value for name, value in headers.items() if value}

    def store(self, url: str, headers: Mapping[str, str]) -> None:
        """Take note of a 200, or of a 304 that renews a copy."""
        directives = _directives(headers.get("cache-control", ""))
        if "no-store" in directives:
            self._copies.pop(url, None)
            return
        lifetime = 0 if "no-cache" in directives else _seconds(directives.get("max-age", ""))
        # An answer may have spent part of its life in the caches on the way.
        left = lifetime - _seconds(headers.get("age", ""))
        earlier = self._copies.get(url, _Copy(0, "", ""))
        self._copies[url] = _Copy(
            fresh_until=self._clock() + left,
            etag=headers.get("etag", earlier.etag),
            last_modified=headers.get("last-modified", earlier.last_modified),
        )


def _directives(cache_control: str) -> dict[str, str]:
    pairs = (directive.partition("=") for directive in cache_control.lower().split(","))
    return {name.strip(): value.strip(' "') for name, _, value in pairs}


def _seconds(text: str) -> int:
    """What is not a number of seconds counts as none: a browser in doubt asks."""
    return int(text) if text.isascii() and text.isdigit() else 0
