"""Pages on which a cache's work can be seen (lessons/): slow, in two parts, in several languages."""

import re
from datetime import UTC, datetime
from typing import Any, cast

from twisted.internet import task
from twisted.web.server import Request

from upstage.stage.stages import Stages
from upstage.web.headers import header
from upstage.web.request import Node, SiteRequest
from upstage.web.templates import Pages

SLOW = 0.3  # seconds; without blocking, so a thousand of these requests take no longer than one
MINUTE = b"max-age=0, s-maxage=60"
SECOND = b"max-age=0, s-maxage=1"

GREETINGS = {
    "en": "Welcome to the theatre.",
    "de": "Willkommen im Theater.",
    "fr": "Bienvenue au théâtre.",
    "mi": "Nau mai ki te whare tapere.",
}
# One range of Accept-Language with its weight, such as `de-AT;q=0.8`; RFC 9110, 12.5.4.
RANGE = re.compile(r"\s*([A-Za-z]{1,8}|\*)(?:-[0-9A-Za-z-]*)?\s*(?:;\s*q=([01](?:\.\d{1,3})?))?\s*")
MAX_RANGES = 20


def now() -> str:
    """The time of day in UTC, to the second: it shows how old a copy is."""
    return datetime.now(UTC).strftime("%H:%M:%S")


class Slow(Node):
    """`/slow`: a page that takes 300 ms, kept for a minute."""

    def __init__(self, pages: Pages, reactor: Any) -> None:
        super().__init__(pages)
        self._reactor = reactor

    def render_GET(self, request: Request) -> int:
        """The page, when the time has passed."""

        async def answer() -> bytes:
            await task.deferLater(self._reactor, SLOW)
            request.setHeader(b"cache-control", MINUTE)
            return self.pages.render(request, "slow.html", milliseconds=round(SLOW * 1000), made=now())

        return cast(SiteRequest, request).answer_later(answer())


class Playbill(Node):
    """`/playbill`: a page for a minute with a part for a second, for a cache that assembles pages (ESI).

    https://www.w3.org/TR/esi-lang/
    """

    def __init__(self, pages: Pages, stages: Stages) -> None:
        super().__init__(pages)
        self._stages = stages
        self.putChild(b"audience", Audience(pages, stages))

    def render_GET(self, request: Request) -> bytes:
        """The page. Surrogate-Control tells the cache in front that there are instructions for it."""
        request.setHeader(b"cache-control", MINUTE)
        request.setHeader(b"surrogate-control", b'content="ESI/1.0"')
        return self.pages.render(request, "playbill.html", audience=audience(self._stages), made=now())


class Audience(Node):
    """`/playbill/audience`: how many people are in the theatre, as a piece of HTML."""

    def __init__(self, pages: Pages, stages: Stages) -> None:
        super().__init__(pages)
        self._stages = stages

    def render_GET(self, request: Request) -> bytes:
        """The piece."""
        request.setHeader(b"cache-control", SECOND)
        return self.pages.render(request, "_audience.html", audience=audience(self._stages), made=now())


class Welcome(Node):
    """`/welcome`: a greeting in the language that the browser prefers."""

    def render_GET(self, request: Request) -> bytes:
        """The greeting. Vary says what it depends on: the whole header, as every cache must read that."""
        language = preferred(header(request, b"accept-language"))
        request.setHeader(b"cache-control", MINUTE)
        request.setHeader(b"vary", b"Accept-Language")
        request.setHeader(b"content-language", language.encode())
        greeting = GREETINGS[language]
        return self.pages.render(request, "welcome.html", language=language, greeting=greeting, made=now())


def audience(stages: Stages) -> int:
    """Return how many clients without an account are on all listed stages."""
    return sum(stage.audience for stage in stages.by_id.values() if stage.listed)


def preferred(accept_language: str) -> str:
    """Return the language among GREETINGS that a browser likes best; English if it names none of them."""
    best, weight = "en", 0.0
    for text in accept_language.split(",")[:MAX_RANGES]:
        found = RANGE.fullmatch(text)
        if found and found[1].lower() in GREETINGS and float(found[2] or 1) > weight:
            best, weight = found[1].lower(), float(found[2] or 1)
    return best
