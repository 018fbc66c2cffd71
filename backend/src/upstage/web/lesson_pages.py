"""Pages on which a cache's effect can be seen (lessons/): slow, in two parts, in several languages."""

import re
from datetime import UTC, datetime
from typing import Any

from twisted.internet.task import deferLater
from twisted.web.server import Request

from upstage.stage.stages import Stages
from upstage.web.headers import header
from upstage.web.nodes import Page
from upstage.web.templates import Pages

SLOW = 0.3  # seconds, without blocking: a thousand of these requests take no longer than one
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
    """Return the time of day in UTC, to the second: it shows the age of a copy."""
    return datetime.now(UTC).strftime("%H:%M:%S")


def slow_page(pages: Pages, reactor: Any) -> Page:
    """Return `/slow`, a page that takes 300 ms and may be cached for a minute."""

    async def get(request: Request) -> bytes:
        await deferLater(reactor, SLOW)
        request.setHeader(b"cache-control", MINUTE)
        return pages.render(request, "slow.html", milliseconds=round(SLOW * 1000), made=now())

    return Page(pages, get)


def playbill(pages: Pages, stages: Stages) -> Page:
    """Return `/playbill`, fresh for a minute, with a part fresh for a second, for caches that assemble pages.

    The part is `/playbill/audience`: the size of the audience, as a piece of HTML.
    https://www.w3.org/TR/esi-lang/
    """

    def get(request: Request) -> bytes:
        request.setHeader(b"cache-control", MINUTE)
        # Tells the cache in front that the page contains ESI instructions.
        request.setHeader(b"surrogate-control", b'content="ESI/1.0"')
        return pages.render(request, "playbill.html", audience=audience(stages), made=now())

    def get_part(request: Request) -> bytes:
        request.setHeader(b"cache-control", SECOND)
        return pages.render(request, "_audience.html", audience=audience(stages), made=now())

    page = Page(pages, get)
    page.putChild(b"audience", Page(pages, get_part))
    return page


def welcome_page(pages: Pages) -> Page:
    """Return `/welcome`, a greeting in the language that the browser prefers."""

    def get(request: Request) -> bytes:
        language = preferred(header(request, b"accept-language"))
        request.setHeader(b"cache-control", MINUTE)
        request.setHeader(b"vary", b"Accept-Language")  # the whole header, because every cache understands it
        request.setHeader(b"content-language", language.encode())
        greeting = GREETINGS[language]
        return pages.render(request, "welcome.html", language=language, greeting=greeting, made=now())

    return Page(pages, get)


def audience(stages: Stages) -> int:
    """Return the size of the audience: the number of members, on all listed stages, that do not count as
    players.
    """
    return sum(stage.audience for stage in stages.by_id.values() if stage.listed)


def preferred(accept_language: str) -> str:
    """Return the language in GREETINGS that a browser prefers; English if it accepts none of them."""
    best, weight = "en", 0.0
    for text in accept_language.split(",")[:MAX_RANGES]:
        found = RANGE.fullmatch(text)
        if found and found[1].lower() in GREETINGS and float(found[2] or 1) > weight:
            best, weight = found[1].lower(), float(found[2] or 1)
    return best
