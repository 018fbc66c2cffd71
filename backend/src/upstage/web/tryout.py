"""`/try/`: an origin that says what it is told to, and the page on which one sees what caches make of it.

    /try/origin/RUN/SCENARIO   the page that the caches are asked for; SCENARIO says how it is served
    /try/log/RUN               what this origin was asked for in that run, as JSON

RUN is a new word for each run of the page, so no copy of an earlier one answers. SCENARIO is a query string
as base64url (RFC 4648, 5): the address of the page has the same string, readable, behind its `#`.
"""

import base64
import binascii
import json
import re
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qsl

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.web.server import Request

from upstage.net.lane import Lane
from upstage.web.headers import header
from upstage.web.lesson_pages import now
from upstage.web.nodes import Node, Page
from upstage.web.request import SiteRequest
from upstage.web.templates import Pages

RUN = re.compile(r"[a-z0-9]{8,32}")
LONGEST = 600  # characters of a scenario
# Each field of a scenario: what its value may be, and how to say so.
FIELDS = {
    "control": (re.compile(r"[ -~]{0,200}"), "Cache-Control can have 200 printable characters"),
    "vary": (
        re.compile(r"\*|[A-Za-z-]{1,40}(, ?[A-Za-z-]{1,40}){0,5}"),
        "Vary can be * or up to six names of headers",
    ),
    "etag": (re.compile("1"), "etag can be 1"),
    "cookie": (re.compile("1"), "cookie can be 1"),
    "status": (re.compile("200|404|500"), "the status can be 200, 404 or 500"),
    "delay": (re.compile("[1-9][0-9]{0,2}|1000"), "the delay can be up to 1000 milliseconds"),
    "fail": (re.compile("[1-9]"), "the first request that fails can be 1 to 9"),
}
RUNS, OF_CLIENT = 512, 8  # runs that are remembered, and those of one client
REQUESTS = 64  # in one run; further ones get 429
PLACES = 8  # slow responses at a time, for all clients: the others wait in their turn
TAG = '"first"'


@dataclass
class Run:
    """What the origin was asked for."""

    began: float = field(default_factory=time.monotonic)
    log: list[dict[str, Any]] = field(default_factory=list)


class Runs:
    """The runs of all clients: each has room for its own newest."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, OrderedDict[str, Run]] = OrderedDict()

    def get(self, client: str, name: str) -> Run:
        """A client's run, a new one if there is none of this name."""
        mine = self._of.setdefault(client, OrderedDict())
        self._of.move_to_end(client)
        run = mine.setdefault(name, Run())
        while len(mine) > OF_CLIENT:
            mine.popitem(last=False)
        while len(self._of) > RUNS // OF_CLIENT:
            self._of.popitem(last=False)
        return run


def scenario(segment: bytes) -> dict[str, str]:
    """What the origin is to say. Raise ValueError with a sentence for people."""
    try:
        text = base64.b64decode(segment + b"=" * (-len(segment) % 4), altchars=b"-_", validate=True).decode(
            "ascii"
        )
        fields = dict(parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=20))
    except (binascii.Error, ValueError):
        raise ValueError("This is no scenario: a query string as base64url.") from None
    if len(text) > LONGEST:
        raise ValueError(f"A scenario can have {LONGEST} characters.")
    for name, value in fields.items():
        allowed, sentence = FIELDS.get(name, (None, f"A scenario has no field '{name[:20]}'"))
        if allowed is None or not allowed.fullmatch(value):
            raise ValueError(f"{sentence[:1].upper()}{sentence[1:]}.")
    return fields


class Origin(Node):
    """`/try/origin/RUN/SCENARIO`."""

    isLeaf = True

    def __init__(self, pages: Pages, runs: Runs, reactor: Any) -> None:
        super().__init__(pages)
        self._runs, self._reactor = runs, reactor
        self._lane = Lane(reactor, PLACES)

    async def render_GET(self, request: SiteRequest) -> bytes:
        path = list(request.postpath or [])
        if foreign(request):
            return self.pages.error(request, 403)
        if len(path) != 2 or not RUN.fullmatch(path[0].decode("latin-1")):
            return self.pages.error(request, 404)
        try:
            said = scenario(path[1])
        except ValueError as error:
            return self.pages.error(request, 400, str(error))
        run = self._runs.get(request.client_address, path[0].decode())
        if len(run.log) >= REQUESTS:
            return self.pages.error(request, 429)
        entry = {
            "id": header(request, b"x-request-id"),
            "at": round(1000 * (time.monotonic() - run.began)),
            "conditional": bool(header(request, b"if-none-match")),
            "cookie": bool(header(request, b"cookie")),
        }
        run.log.append(entry)
        number = len(run.log)
        if "delay" in said and not await self._after(int(said["delay"]) / 1000, request.client_address):
            entry["status"] = 503
            return self.pages.error(request, 503)
        entry["status"] = self._say(request, said, number)
        return b"" if entry["status"] == 304 else self._body(number)

    async def _after(self, seconds: float, client: str) -> bool:
        """Wait, in one of the places for that; return whether there was one."""
        place: Deferred[bool] = Deferred()
        self._lane.enter(client, lambda: place.callback(True), lambda: place.callback(False))
        if not await place:
            return False
        try:
            await deferLater(self._reactor, seconds)
        finally:
            self._lane.leave()
        return True

    def _say(self, request: SiteRequest, said: dict[str, str], number: int) -> int:
        """Set the status and the headers; return the status."""
        status = 503 if "fail" in said and number >= int(said["fail"]) else int(said.get("status", 200))
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        request.setHeader(b"cross-origin-resource-policy", b"same-origin")
        for name, key in ((b"cache-control", "control"), (b"vary", "vary")):
            request.responseHeaders.removeHeader(name)
            if said.get(key):
                request.setHeader(name, said[key].encode())
        if "cookie" in said:
            request.setHeader(b"set-cookie", b"try=1; Path=/try/; Max-Age=60; SameSite=Strict; HttpOnly")
        if "etag" in said and status == 200:
            request.setHeader(b"etag", TAG.encode())
            if TAG in header(request, b"if-none-match"):
                status = 304
        request.setResponseCode(status)
        return status

    def _body(self, number: int) -> bytes:
        return f"Response {number} of this origin, made at {now()} UTC.\n{'.' * 400}\n".encode()


def foreign(request: Request) -> bool:
    """Whether another site's page asks: https://www.w3.org/TR/fetch-metadata/"""
    return header(request, b"sec-fetch-site") in ("cross-site", "same-site")


def try_folder(pages: Pages, reactor: Any) -> Node:
    """`/try/` and the URLs below it."""
    runs, folder = Runs(), Node(pages)

    def get_page(request: Request) -> bytes:
        request.setHeader(b"cache-control", b"max-age=0, s-maxage=60")
        return pages.render(request, "try.html")

    def get_log(request: Request) -> bytes:
        request.setHeader(b"cache-control", b"no-store")
        request.setHeader(b"content-type", b"application/json")
        name = (request.postpath or [b""])[0].decode("latin-1")
        if foreign(request):
            return pages.error(request, 403)
        if not RUN.fullmatch(name):
            return pages.error(request, 404)
        return json.dumps(runs.get(cast(SiteRequest, request).client_address, name).log).encode()

    folder.putChild(b"", Page(pages, get_page))
    folder.putChild(b"origin", Origin(pages, runs, reactor))
    log = Page(pages, get_log)
    log.isLeaf = True
    folder.putChild(b"log", log)
    return folder
