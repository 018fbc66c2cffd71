"""What all visitors with a browser have in common: requests over HTTP, each judged and reported."""

import random
from argparse import Namespace
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from gevent import joinall
from gevent.pool import Pool
from locust import FastHttpUser, between, events
from locust.contrib.fasthttp import FastResponse

from visitors import cache_status, outcomes, page, paths, verdict
from visitors.browser_cache import BrowserCache
from visitors.line import LineError, SocketLine
from visitors.samples import Samples
from visitors.seat import Seat

IDENTITY = "/admin/id"
# As many as a browser opens to one server over HTTP/1.1.
CONNECTIONS = 6

# URLs that were answered in this run, to any visitor of this process. Whoever comes first may meet
# a cold cache, and so may those whose requests were under way at that moment; nobody later may.
warm: set[str] = set()


def forget_warm_up(**_: Any) -> None:
    """A new run may have another target, or find the caches emptied."""
    warm.clear()


events.test_start.add_listener(forget_warm_up)  # type: ignore[no-untyped-call]


class Response(FastResponse):
    """An answer as Locust's client has it."""

    def unzipped(self, *args: Any, **kwargs: Any) -> bytes:
        """A 304 may name the encoding of the copy that it confirms: there is nothing here to unpack."""
        if self.status_code == 304:
            return b""
        return super().unzipped(*args, **kwargs)


class Visitor(FastHttpUser):
    """Fetches as a browser does, and fails every answer that the stack does not promise."""

    abstract = True
    wait_time = between(2, 5)
    concurrency = CONNECTIONS
    connection_timeout = 10.0
    network_timeout = 10.0
    # A redirect is an answer to judge; the one that signing in answers with need not be followed.
    max_redirects = 0
    default_headers = {"User-Agent": "Proscenium-Audience (Locust)"}  # noqa: RUF012

    def on_start(self) -> None:
        """Arrive with an empty browser cache."""
        # Statuses are for our own verdict: to report a wrong one, the client would first decode the
        # body as UTF-8, and break off at an error that comes as a picture.
        self.client.client.valid_response_codes = frozenset(range(1000))  # type: ignore[misc]
        self.client.client.redirect_response_codes = frozenset()  # type: ignore[misc]
        self.client.client.response_type = Response  # type: ignore[misc]
        assert self.environment.parsed_options
        self.options: Namespace = self.environment.parsed_options
        self.stage_url = self.url(f"/stages/{self.options.stage}")
        self.browser_cache = BrowserCache()
        self.assets: list[str] = []
        self.identity: dict[str, str] = {}

    def on_stop(self) -> None:
        """Close the connections now, not when the garbage is collected: the next run finds none."""
        self.client.client.close()

    def become_a_newcomer(self) -> None:
        """Somebody else takes over: new connections, no cookies, an empty browser cache."""
        self.client.client.close()
        self.client.cookiejar.clear()
        self.browser_cache = BrowserCache()

    def load_stage(self) -> bool:
        """Fetch the page, then all it names and the browser does not have, a few at a time.

        Answers whether there is a stage to join: a page, and a key.
        """
        self.identity = {}
        if not self.fetch(self.stage_url, self.read_stage):
            return False
        pool = Pool(CONNECTIONS)
        try:
            requests = [pool.spawn(self.fetch, self.url(IDENTITY), self.read_identity)]
            for url in self.assets:
                if not self.browser_cache.fresh(url):
                    requests.append(pool.spawn(self.fetch, url))
            joinall(requests, raise_error=True)
        finally:
            # If Locust stops this visitor in the middle, its requests must not go on without it.
            pool.kill()
        return "key" in self.identity

    def read_stage(self, html: str) -> str | None:
        """Take note of what the page names; answers with what is wrong with it."""
        self.assets = page.assets(html, self.stage_url)
        return verdict.stage_fault(self.assets)

    def read_identity(self, text: str) -> str | None:
        """Take note of who we are; answers with what is wrong with it."""
        fault = verdict.identity_fault(text)
        if not fault:
            self.identity = dict(parse_qsl(text, keep_blank_values=True))
        return fault

    def fetch(self, url: str, examine: Callable[[str], str | None] | None = None) -> bool:
        """Ask for one URL and report one sample; answers whether it was good.

        `examine` judges the text of a new body; a 304, which has none, leaves the old in force.
        """
        path = urlsplit(url).path
        conditions = self.browser_cache.conditions(url)
        was_warm = url in warm
        headers = {"Host": self.options.topology, **conditions}
        with self.client.get(url, name=paths.row(path), headers=headers, catch_response=True) as response:
            if response.request_meta["exception"]:
                return False  # no answer, or half of one: Locust reports why
            headers = {name.lower(): ", ".join(response.headers.getlist(name)) for name in response.headers}
            answer = verdict.Answer(
                path=path,
                status=response.status_code,
                length=len(response.content),
                cache_status=headers.get("cache-status", ""),
                conditional=bool(conditions),
                warm=was_warm,
            )
            saw(path, answer.cache_status, headers.get("server-timing", ""))
            fault = verdict.answer_fault(answer)
            if not fault and examine and response.status_code == 200:
                fault = examine(response.content.decode("utf-8", "replace"))
            if fault:
                response.failure(fault)
                return False
            warm.add(url)
            self.browser_cache.store(url, headers)
            return True

    def url(self, path: str) -> str:
        """Put a path on the target; with urljoin, because people end it with a slash or not."""
        return urljoin(self.host or "", path)


def saw(path: str, cache_status_field: str, server_timing: str = "") -> None:
    """Hand an answer to the cache statistics; a field that cannot be read counts as none."""
    try:
        members = cache_status.parse(cache_status_field)
    except ValueError:
        members = []
    # Without a cache to tell, nginx still does: static.localhost sends media from the disk.
    outcomes.saw(path, members, from_disk=not members and 'nginx;desc="self"' in server_timing)


class Spectator(Visitor):
    """A visitor who also takes a seat; what follows says by which line."""

    abstract = True
    row_type = "stage"

    def dial(self) -> SocketLine:
        """Open the line to the stage."""
        return SocketLine(address(self), self.options.stage_port)

    def seat(self) -> Seat:
        """A new seat."""
        return Seat(Samples(self.environment, self.row_type), self.options, self.dial)

    def visit(self, seconds: float) -> None:
        """Load the stage, take a seat and stay."""
        if self.load_stage():
            sit(self.seat(), self.identity["key"], seconds)

    def patience(self) -> float:
        """Seconds to stay: a few, or what an act lasts."""
        return random.uniform(3, 10) if self.options.audience == "reloads" else random.uniform(300, 600)


def sit(seat: Seat, key: str, seconds: float) -> None:
    """Take the seat, stay and leave. What goes wrong has been reported when it ends the visit."""
    try:
        seat.take(key)
        seat.stay(seconds)
    except LineError:
        pass
    finally:
        seat.leave()


def address(user: Any) -> str:
    """The name or address of the target, without its port."""
    return urlsplit(user.host or "").hostname or ""
