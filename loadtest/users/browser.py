"""The base class of all users with a browser: HTTP requests, each checked and reported."""

from argparse import Namespace
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from gevent import joinall
from gevent.pool import Pool
from locust import FastHttpUser
from locust.contrib.fasthttp import FastResponse
from locust.env import Environment

import options
import topologies
from caches import counters
from users import checks, page, paths
from users.browser_cache import BrowserCache

IDENTITY = "/admin/id"
CONNECTIONS = 6  # a browser's limit for one server over HTTP/1.1

# URLs that any user of this process has received in this run. The first request may find a cold cache, and so
# may those under way at that moment; every later one must not.
warm: set[str] = set()


def register(environment: Environment) -> None:
    """Forget the warm-up when a run starts: its target may be another one, or its caches empty."""
    environment.events.test_start.add_listener(lambda **_: warm.clear())


class Response(FastResponse):
    """A response as Locust's client has it."""

    def unzipped(self, *args: Any, **kwargs: Any) -> bytes:
        """A 304 has no body, but it may name the encoding of the copy it confirms; do not decompress it."""
        if self.status_code == 304:
            return b""
        return super().unzipped(*args, **kwargs)


class Browser(FastHttpUser):
    """Fetches as a browser does; a response with a fault (see `checks`) is a failed sample."""

    abstract = True
    connection_timeout = 10.0
    network_timeout = 10.0
    # A redirect is a response to check; the one after signing in need not be followed.
    max_redirects = 0
    default_headers = {"User-Agent": "Proscenium-Audience (Locust)"}  # noqa: RUF012

    def on_start(self) -> None:
        """Start with an empty browser cache."""
        # checks.py judges the status. To report a wrong one, the client would first decode the body as UTF-8,
        # which raises an error if the body of a 404 is a picture.
        self.client.client.valid_response_codes = frozenset(range(1000))  # type: ignore[misc]
        self.client.client.redirect_response_codes = frozenset()  # type: ignore[misc]
        self.client.client.response_type = Response  # type: ignore[misc]
        assert self.environment.parsed_options
        self.options: Namespace = self.environment.parsed_options
        self.host = topologies.base_url(self.host or "", self.options.topology, self.options.direct_port)
        self.stage_url = self.url(f"/stages/{self.options.stage}")
        self.browser_cache = BrowserCache()
        self.assets: list[str] = []
        self.identity: dict[str, str] = {}

    def on_stop(self) -> None:
        """Close the connections now, not at the next garbage collection, so that no run inherits them."""
        self.client.client.close()

    def become_newcomer(self) -> None:
        """Continue as a new visitor: new connections, no cookies, an empty browser cache."""
        self.client.client.close()
        self.client.cookiejar.clear()
        self.clear_browser_cache()

    def clear_browser_cache(self) -> None:
        """Fetch everything again, without conditional requests."""
        self.browser_cache = BrowserCache()

    def load_page(self) -> bool:
        """Fetch the stage page, for `assets`; False if it failed."""
        return self.fetch(self.stage_url, self.read_page)

    def load_stage(self) -> bool:
        """Fetch the page, the identity and the files that the browser cache lacks, six at a time.

        False if there is no stage to join: no page, or no key.
        """
        self.identity = {}
        if not self.load_page():
            return False
        pool = Pool(CONNECTIONS)
        try:
            requests = [pool.spawn(self.fetch, self.url(IDENTITY), self.read_identity)]
            for url in self.assets:
                if not self.browser_cache.fresh(url):
                    requests.append(pool.spawn(self.fetch, url))
            joinall(requests, raise_error=True)
        finally:
            # Locust may stop this user in the middle; its requests must stop with it.
            pool.kill()
        return "key" in self.identity

    def read_page(self, html: str) -> str | None:
        """Store the files that the stage page names; return its fault, if any."""
        self.assets = page.assets(html, self.stage_url)
        return checks.stage_fault(self.assets)

    def read_identity(self, text: str) -> str | None:
        """Store the fields of /admin/id; return their fault, if any."""
        fault = checks.identity_fault(text)
        if not fault:
            self.identity = dict(parse_qsl(text, keep_blank_values=True))
        return fault

    def fetch(self, url: str, examine: Callable[[str], str | None] | None = None) -> bool:
        """Request one URL and report one sample; False if it failed.

        `examine` checks the text of a new body. A 304 has none and leaves the earlier one valid.
        """
        path = urlsplit(url).path
        row = paths.row(path)
        conditions = self.browser_cache.conditions(url)
        was_warm = url in warm
        headers = {"Host": self.options.topology, **conditions}
        with self.client.get(url, name=row, headers=headers, catch_response=True) as response:
            if response.request_meta["exception"]:
                return False  # no response, or a truncated one: Locust reports the reason
            headers = {name.lower(): ", ".join(response.headers.getlist(name)) for name in response.headers}
            answer = checks.Answer(
                path=path,
                status=response.status_code,
                length=len(response.content),
                cache_status=headers.get("cache-status", ""),
                conditional=bool(conditions),
                warm=was_warm and self.options.misses == options.FAIL,
            )
            counters.count(row, answer.cache_status, headers.get("server-timing", ""))
            fault = checks.answer_fault(answer)
            if not fault and examine and response.status_code == 200:
                fault = examine(response.content.decode("utf-8", "replace"))
            if fault:
                response.failure(fault)
                return False
            warm.add(url)
            self.browser_cache.store(url, headers)
            return True

    def url(self, path: str) -> str:
        """The URL of a path on the target, which may be written with or without a final slash."""
        return urljoin(self.host or "", path)
