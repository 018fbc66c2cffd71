"""The references of an HTML page: the files that a browser fetches, and the pages to which it links."""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit

# The values of <link rel> for which a browser fetches the file; rel=canonical and others cause no fetch.
FETCHED_LINKS = frozenset({"stylesheet", "modulepreload", "preload", "prefetch", "icon"})
TAGS_WITH_SRC = frozenset({"script", "img", "audio", "source"})


Attributes = Mapping[str, str | None]


def assets(html: str, url: str) -> list[str]:
    """Return the absolute URLs of a page's style sheets, scripts, icons, pictures and sounds, once each.
    `url` is the page's own URL. Files on other servers are left out: the page's Content-Security-Policy keeps
    a browser from fetching them, and a load test must not load a server other than its target.
    """
    return same_server(_references(html, _fetched), url)


def links(html: str, url: str) -> list[str]:
    """Return the absolute URLs on a page's own server to which the page links, once each and in order."""
    return same_server(_references(html, _linked), url)


def same_server(references: Iterable[str], url: str) -> list[str]:
    """Return these references of a page as absolute URLs without fragments, once each, on its own server."""
    home = urlsplit(url)
    found: dict[str, None] = {}
    for reference in references:
        with contextlib.suppress(ValueError):  # such as http://[
            target = urldefrag(urljoin(url, reference)).url
            if urlsplit(target)[:2] == home[:2]:
                found[target] = None
    return list(found)


def _fetched(tag: str, named: Attributes) -> str | None:
    """Return the URL that a browser fetches because of a tag, as the page writes it."""
    if tag == "link" and FETCHED_LINKS & set((named.get("rel") or "").lower().split()):
        return named.get("href")
    return named.get("src") if tag in TAGS_WITH_SRC else None


def _linked(tag: str, named: Attributes) -> str | None:
    """Return the URL that a tag links to, as the page writes it."""
    return named.get("href") if tag == "a" else None


def _references(html: str, wanted: Callable[[str, Attributes], str | None]) -> list[str]:
    collector = _Collector(wanted)
    with contextlib.suppress(AssertionError):  # html.parser raises it for text that it cannot parse
        collector.feed(html)
        collector.close()
    return collector.references


class _Collector(HTMLParser):
    def __init__(self, wanted: Callable[[str, Attributes], str | None]) -> None:
        super().__init__()
        self.references: list[str] = []
        self._wanted = wanted

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if reference := self._wanted(tag, dict(attributes)):
            self.references.append(reference.strip())
