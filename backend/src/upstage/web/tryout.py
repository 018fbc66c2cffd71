"""`/try/`: an origin that responds as it is told, and a page that shows what caches make of the responses.

    /try/origin/RUN/SCENARIO   the page that the caches request; SCENARIO says how it is served
    /try/log/RUN               the requests that this origin has received in that run, as JSON

RUN is a new word for each run of the page, so that no copy of an earlier run is served. SCENARIO is a query
string as base64url (RFC 4648, 5); the address of the page has the same string, readable, after its `#`.
"""

import base64
import binascii
import json
import re
from collections import OrderedDict
from typing import Any, cast
from urllib.parse import parse_qsl

from twisted.internet.task import deferLater
from twisted.web.server import Request

from upstage.stage.limits import client_of
from upstage.web.headers import header
from upstage.web.lesson_pages import now
from upstage.web.nodes import Node, Page, redirect
from upstage.web.request import SiteRequest
from upstage.web.templates import Pages

NAME = "[A-Za-z-]{1,40}"
RUN = re.compile(r"[a-z0-9]{8,32}")
LONGEST = 600  # characters of a scenario
# Each field of a scenario: its valid values, and a description of them.
FIELDS = {
    "control": (re.compile(r"[ -~]{0,200}"), "Cache-Control can have 200 printable characters"),
    "vary": (re.compile(rf"\*|{NAME}(, ?{NAME}){{0,5}}"), "Vary can be * or up to six names of headers"),
    "etag": (re.compile("1"), "etag can be 1"),
    "cookie": (re.compile("1"), "cookie can be 1"),
    "status": (re.compile("200|404|500"), "the status can be 200, 404 or 500"),
    "delay": (re.compile("[1-9][0-9]?|[1-7][0-9]{2}|800"), "the delay can be up to 800 milliseconds"),
    "fail": (re.compile("[1-9]"), "the first request that fails can be 1 to 9"),
}
RUNS = 2048  # remembered, of all clients; beyond that, the client with the most runs loses its oldest one
REQUESTS = 40  # requests in one run; further ones get 429
TAG = '"first"'
COOKIE = b"try=1; Path=/try/origin/; Max-Age=60; SameSite=Strict; HttpOnly"

Log = list[dict[str, Any]]  # the requests that the origin has received in a run


class Runs:
    """The logs of the newest runs of each client."""

    def __init__(self) -> None:
        self._of: dict[str, OrderedDict[str, Log]] = {}
        self._count = 0

    def get(self, address: str, name: str) -> Log:
        """Return the log of a client's run; make a new one if there is none with this name."""
        mine = self._of.setdefault(client_of(address), OrderedDict())
        if name not in mine:
            mine[name] = []
            self._count += 1
        if self._count > RUNS:
            most = max(self._of, key=lambda client: len(self._of[client]))
            self._of[most].popitem(last=False)
            self._count -= 1
            if not self._of[most]:
                del self._of[most]
        return mine.get(name, [])


def scenario(segment: bytes) -> dict[str, str]:
    """Return the fields of a scenario, which say how the origin responds; raise ValueError with a message."""
    try:
        padded = segment + b"=" * (-len(segment) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
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
        log = self._runs.get(request.client_address, path[0].decode())
        if len(log) >= REQUESTS:
            return self.pages.error(request, 429)
        conditional = bool(header(request, b"if-none-match"))
        log.append(entry := {"id": header(request, b"x-request-id"), "conditional": conditional})
        number = len(log)
        request.waits = True  # it is slow on purpose
        await deferLater(self._reactor, int(said.get("delay", 0)) / 1000)
        entry["status"] = self._say(request, said, number)
        text = f"Response {number} of this origin, made at {now()} UTC.\n{'.' * 400}\n"
        return b"" if entry["status"] == 304 else text.encode()

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
            request.setHeader(b"set-cookie", COOKIE)
        if "etag" in said and status == 200:
            request.setHeader(b"etag", TAG.encode())
            if TAG in header(request, b"if-none-match"):
                status = 304
        request.setResponseCode(status)
        return status


def foreign(request: Request) -> bool:
    """Return whether the request comes from another site's page: https://www.w3.org/TR/fetch-metadata/

    Browsers send Sec-Fetch-Site over https and to this machine only. Without it, another page can send the
    request, but not read the response (CORP).
    """
    return header(request, b"sec-fetch-site") in ("cross-site", "same-site")


def try_folder(pages: Pages, reactor: Any) -> Node:
    """`/try/` and the URLs below it."""
    runs, folder = Runs(), Page(pages, lambda request: redirect(request, "/try/"))

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
        return json.dumps(runs.get(cast(SiteRequest, request).client_address, name)).encode()

    folder.putChild(b"", Page(pages, get_page))
    folder.putChild(b"origin", Origin(pages, runs, reactor))
    log = Page(pages, get_log)
    log.isLeaf = True
    folder.putChild(b"log", log)
    return folder
