"""The files that a browser fetches because an HTML page names them."""

from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit

# The values of <link rel> that make a browser fetch; rel=canonical and others do not.
FETCHED_LINKS = frozenset({"stylesheet", "modulepreload", "preload", "prefetch", "icon"})
TAGS_WITH_SRC = frozenset({"script", "img", "audio", "source"})


def assets(html: str, url: str) -> list[str]:
    """The absolute URLs of a page's style sheets, scripts, icons, pictures and sounds, once each. `url` is
    the page's own. Files on other servers are left out: the page's Content-Security-Policy keeps a
    browser from fetching them, and a load test must not load a server other than its target.
    """
    collector = _Collector()
    collector.feed(html)
    collector.close()
    home = urlsplit(url)
    found: dict[str, None] = {}
    for reference in collector.references:
        target = urldefrag(urljoin(url, reference)).url
        if urlsplit(target)[:2] == home[:2]:
            found[target] = None
    return list(found)


class _Collector(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        if tag == "link" and FETCHED_LINKS & set((named.get("rel") or "").lower().split()):
            reference = named.get("href")
        elif tag in TAGS_WITH_SRC:
            reference = named.get("src")
        else:
            return
        if reference:
            self.references.append(reference.strip())
