"""The base class of all users with a browser: HTTP requests, each checked and reported."""

from argparse import Namespace
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from gevent import joinall
from gevent.pool import Pool
from locust import FastHttpUser

import options
import topologies
from users import checks, http_client, page, paths, seen_files
from users.browser_cache import BrowserCache

IDENTITY = "/admin/id"
VISITED = "upstage_seen=1"  # set by the stage's script, for identified clients (varnish/anonymous.vcl)
PATIENCE = 10.0  # seconds without a byte until a request is given up
# For responses that the backend holds: a spoken line up to 15 s, a webcam picture up to 30 s.
LONG_PATIENCE = 40.0


class Browser(FastHttpUser):
    """Fetches as a browser does; a response with a fault (see `checks`) is a failed sample."""

    abstract = True

    def on_start(self) -> None:
        assert self.environment.parsed_options
        self.options: Namespace = self.environment.parsed_options
        self.host = topologies.base_url(
            self.host or "", self.options.topology, self.options.direct_port, self.options.app_port
        )
        self.stage_url = self.url(f"/stages/{self.options.stage}")
        self.browser_cache = BrowserCache()
        self.assets: list[str] = []
        self.identity: dict[str, str] = {}
        self.visited = False  # whether a stage's script has run
        self.client = http_client.session(self, PATIENCE)
        self.patient_client = http_client.session(self, LONG_PATIENCE)

    def on_stop(self) -> None:
        """Close the connections now, not at the next garbage collection, so that no run inherits them."""
        self.close_connections()

    def close_connections(self) -> None:
        for client in (self.client, self.patient_client):
            client.client.close()

    def become_newcomer(self) -> None:
        """Continue as a new visitor: new connections, no cookies, an empty browser cache."""
        self.close_connections()
        self.client.cookiejar.clear()
        self.visited = False
        self.clear_browser_cache()

    def clear_browser_cache(self) -> None:
        """Empty the cache: fetch everything again, without conditional requests."""
        self.browser_cache = BrowserCache()

    def load_page(self) -> bool:
        """Fetch the stage page, and note its files in `assets`; return False if that failed."""
        return self.fetch(self.stage_url, self.read_page)

    def load_stage(self) -> bool:
        """Fetch the page, the identity, and the files that the browser cache lacks, six at a time.

        Return False if there is no stage to join: no page, or no key.
        """
        self.identity = {}
        if not self.load_page():
            return False
        pool = Pool(http_client.CONNECTIONS)
        try:
            requests = [pool.spawn(self.fetch, self.url(IDENTITY), self.read_identity)]
            for url in self.assets:
                if not self.browser_cache.fresh(url):
                    requests.append(pool.spawn(self.fetch, url))
            joinall(requests, raise_error=True)
            self.visited = True
        finally:
            # If Locust stops this user in the middle, its requests must stop with it.
            pool.kill()
        return "key" in self.identity

    def read_page(self, html: str) -> str | None:
        """Store the URLs of the files that the stage page names; return its fault, if any."""
        self.assets = page.assets(html, self.stage_url)
        return checks.stage_fault(self.assets)

    def read_identity(self, text: str) -> str | None:
        """Store the fields of /admin/id; return their fault, if any."""
        fault = checks.identity_fault(text)
        if not fault:
            self.identity = dict(parse_qsl(text, keep_blank_values=True))
        return fault

    def fetch(self, url: str, examine: Callable[[str], str | None] | None = None) -> bool:
        """Request one URL and report one sample; return False if it failed.

        `examine` checks the text of a new body. A 304 has no body and leaves the earlier one valid.
        """
        path = urlsplit(url).path
        conditions = self.browser_cache.conditions(url)
        file = f"{self.options.topology} {url}"
        was_warm = seen_files.is_warm(file)
        client = self.patient_client if paths.held(path) else self.client
        asked = {"Host": self.options.topology, "Accept-Encoding": http_client.ENCODING, **conditions}
        has_run = self.visited or path == IDENTITY  # whether the script that sets the cookie has run
        if has_run and topologies.sets_cookie(self.options.topology) and not len(client.cookiejar):
            asked["Cookie"] = VISITED
        with client.get(url, name=paths.row(path), headers=asked, catch_response=True) as response:
            meta: dict[str, Any] = response.request_meta
            if paths.polled(path):
                meta["request_type"] = "poll"  # its time depends on the camera, not on the stack
            if meta["exception"]:
                return False  # no response, or a truncated one: Locust reports the reason
            body: http_client.Response = meta["response"]
            meta["response_length"] = body.length
            is_new = body.status_code == 200
            etag = body.fields.get("etag", "")
            parts = checks.Response(
                path=path,
                status=body.status_code,
                length=body.length,
                cache_status=body.fields.get("cache-status", ""),
                conditional=bool(conditions),
                # All clients request a spoken line at the same moment, but only one of them may get a miss.
                warm=(seen_files.has_missed(file) if paths.spoken(path) else was_warm)
                and self.options.misses == options.FAIL,
                differs=is_new and seen_files.differs(file, etag, body.checksum),
            )
            fault = checks.response_fault(parts)
            if not fault and examine and is_new:
                fault = examine(body.content.decode("utf-8", "replace"))
            if fault:
                response.failure(fault)
                return False
            if is_new and paths.stored(path):
                seen_files.remember(file, etag, body.checksum, missed=not checks.is_hit(parts.cache_status))
            if not paths.held(path):  # a held response is not requested again
                self.browser_cache.store(url, body.fields)
            return True

    def url(self, path: str) -> str:
        """Return the URL of a path on the target, whose own URL may end in a slash."""
        return urljoin(self.host or "", path)
