"""Somebody in the audience: a browser that opens the demo stage and reloads it now and then."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin, urlsplit

from gevent import joinall
from gevent.pool import Pool
from locust import FastHttpUser, between, events, task

from visitors import page, paths, verdict
from visitors.browser_cache import BrowserCache

STAGE = "/stages/demo"
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


class Audience(FastHttpUser):
    """Loads the stage as a browser does, and fails every answer that the stack does not promise."""

    wait_time = between(3, 10)
    concurrency = CONNECTIONS
    connection_timeout = 10.0
    network_timeout = 10.0
    # None of these URLs may redirect, so a redirect is a wrong status.
    max_redirects = 0
    default_headers = {"User-Agent": "Proscenium-Audience (Locust)"}  # noqa: RUF012

    def on_start(self) -> None:
        """Arrive with an empty browser cache."""
        # Statuses are for our own verdict: to report a wrong one, the client would first decode the
        # body as UTF-8, and break off at an error that comes as a picture.
        self.client.client.valid_response_codes = frozenset(range(1000))  # type: ignore[misc]
        self.browser_cache = BrowserCache()
        self.assets: list[str] = []

    def on_stop(self) -> None:
        """Close the connections now, not when the garbage is collected: the next run finds none."""
        self.client.client.close()

    @task(1)
    def leave_the_seat_to_a_newcomer(self) -> None:
        """Somebody else loads the stage: new connections, no cookies, an empty browser cache."""
        self.client.client.close()
        self.client.cookiejar.clear()
        self.browser_cache = BrowserCache()
        self.load_stage()

    @task(3)
    def load_stage(self) -> None:
        """Fetch the page, then all it names and the browser does not have, a few at a time."""
        if not self.fetch(self.url(STAGE), self.read_stage):
            return
        pool = Pool(CONNECTIONS)
        try:
            requests = [pool.spawn(self.fetch, self.url(IDENTITY), verdict.identity_fault)]
            for url in self.assets:
                if not self.browser_cache.fresh(url):
                    requests.append(pool.spawn(self.fetch, url))
            joinall(requests, raise_error=True)
        finally:
            # If Locust stops this visitor in the middle, its requests must not go on without it.
            pool.kill()

    def read_stage(self, html: str) -> str | None:
        """Take note of what the page names; answers with what is wrong with it."""
        self.assets = page.assets(html, self.url(STAGE))
        return verdict.stage_fault(self.assets)

    def fetch(self, url: str, examine: Callable[[str], str | None] | None = None) -> bool:
        """Ask for one URL and report one sample; answers whether it was good.

        `examine` judges the text of a new body; a 304, which has none, leaves the old in force.
        """
        path = urlsplit(url).path
        conditions = self.browser_cache.conditions(url)
        was_warm = url in warm
        with self.client.get(url, name=paths.row(path), headers=conditions, catch_response=True) as response:
            if response.request_meta["exception"]:
                return False  # no answer, or half of one: Locust reports why
            headers = {name.lower(): ", ".join(response.headers.getlist(name)) for name in response.headers}
            fault = verdict.answer_fault(
                verdict.Answer(
                    path=path,
                    status=response.status_code,
                    length=len(response.content),
                    cache_status=headers.get("cache-status", ""),
                    conditional=bool(conditions),
                    warm=was_warm,
                )
            )
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
