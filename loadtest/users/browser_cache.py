"""The cache of one user's browser: decides which requests a reload needs (RFC 9111)."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class _Copy:
    fresh_until: float
    etag: str
    last_modified: str


class BrowserCache:
    """The responses that the browser has: their validators and lifetimes, not their bodies.

    `clock` returns seconds. Headers are mappings from lower-case names.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._copies: dict[str, _Copy] = {}

    def fresh(self, url: str) -> bool:
        """Return whether the browser uses its copy without a request."""
        copy = self._copies.get(url)
        return copy is not None and self._clock() < copy.fresh_until

    def conditions(self, url: str) -> dict[str, str]:
        """Return the request headers that revalidate a stale copy; none without a copy."""
        copy = self._copies.get(url)
        if copy is None:
            return {}
        headers = {"If-None-Match": copy.etag, "If-Modified-Since": copy.last_modified}
        return {name: value for name, value in headers.items() if value}

    def store(self, url: str, headers: Mapping[str, str]) -> None:
        """Store a 200, or renew a copy after a 304."""
        directives = _directives(headers.get("cache-control", ""))
        if "no-store" in directives:
            self._copies.pop(url, None)
            return
        lifetime = 0 if "no-cache" in directives else _seconds(directives.get("max-age", ""))
        # Part of the lifetime may have passed in other caches.
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
    """Return a number of seconds, or 0 if the text is not a number: an unreadable max-age makes the copy
    stale, an unreadable Age is ignored.
    """
    return int(text) if text.isascii() and text.isdigit() else 0
