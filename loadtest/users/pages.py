"""Users of any site of which only the paths are known: they fetch the paths and keep the site's cookies."""

import random
import time
from argparse import Namespace

from locust import FastHttpUser
from requests.cookies import create_cookie

import topologies
import walk
from caches import counters
from users import http_client

PATIENCE = 60.0  # seconds without a byte until a request is given up
ROWS = 150  # rows of Locust's table; further paths share one


class SiteVisitor(FastHttpUser):
    """Fetches one path of `--paths` after another, starting at a random one. A status of 400 or above fails.

    A redirect is not followed: it is the response for its path.

    Without `--paths` the class is left out of the run.
    """

    abstract = True

    @classmethod
    def lack(cls, options: Namespace) -> str | None:
        """Return the reason why these users cannot take part in a run, or None."""
        return None if options.paths else "there are no --paths"

    def on_start(self) -> None:
        """Start at a random path, with an analytics cookie and no other, as most visitors have one."""
        options = self.environment.parsed_options
        assert options
        topology: str = options.topology
        self.asked: str = options.app_host if topology in topologies.APPS else topology
        self.host = topologies.base_url(self.host or "", topology, options.direct_port, options.app_port)
        self.client = http_client.session(self, PATIENCE)
        visitor = f"GA1.1.{random.randrange(10**9)}.{time.time():.0f}"
        self.client.cookiejar.set_cookie(create_cookie("_ga", visitor))  # type: ignore[no-untyped-call]
        self.paths = walk.paths_of(options.paths)
        self.position = random.randrange(len(self.paths))

    def on_stop(self) -> None:
        """Close the connections, so that no run inherits them."""
        self.client.client.close()

    def fetch_next(self) -> None:
        """Request the next path; the row in Locust's table is the path without its query."""
        path = self.paths[self.position]
        self.position = (self.position + 1) % len(self.paths)
        row = row_of(path)
        headers = {"Host": self.asked, "Accept-Encoding": http_client.ENCODING}
        with self.client.get(path, name=row, headers=headers, catch_response=True) as response:
            meta = response.request_meta
            if meta["exception"]:
                return  # Locust reports the reason
            body: http_client.Response = meta["response"]
            meta["response_length"] = body.length
            if body.status_code >= 400:
                response.failure(f"status {body.status_code}")


_rows: dict[str, str] = {}


def row_of(path: str) -> str:
    """Return the row of a path; all paths after the first ROWS share one."""
    path = path.partition("?")[0]
    if path not in _rows:
        _rows[path] = path if len(_rows) < ROWS else counters.OTHER
    return _rows[path]
