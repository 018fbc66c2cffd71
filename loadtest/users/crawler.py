"""Crawlers: many addresses that walk a site's links, as uninvited bots do; an open model.

Each request is made on a new connection to nginx's port for crawlers. The connection begins with a line of
the PROXY protocol, version 1, that gives the crawler's address. Nothing is kept: no cookies, no cache.
https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt
"""

import http.client
import random
import time
import zlib
from argparse import Namespace
from collections import deque
from collections.abc import Iterable
from ipaddress import IPv4Address
from urllib.parse import quote, urlsplit
from urllib.robotparser import RobotFileParser

import gevent.socket
from gevent import Timeout
from gevent.pool import Pool

import options
import topologies
from caches import counters, table
from users import http_client, page, pages, paths
from users.browser import PATIENCE
from users.open_model import OpenModel
from users.samples import Samples
from verdict import rows

# The product token (RFC 9309) to which rules in robots.txt apply.
NAME = "ProsceniumCrawler"
USER_AGENT = f"Mozilla/5.0 (compatible; {NAME}/1.0)"
ROBOTS = "/robots.txt"
FIRST_ADDRESS = IPv4Address("198.18.0.1")  # of 198.18.0.0/15, which is for load tests (RFC 2544)
UNDER_WAY = 200  # requests of one process; each has a connection
FRONTIER = 5000  # URLs of one walk through the site
LONGEST_BODY = 1 << 20  # bytes; the rest of a longer body is not read
STALE = 0.1  # share of requests for pages that do not exist, because crawlers follow old links
STALE_ROW = "/stages/(stale link)"
SORTS, ORDERS, PAGES = ("name", "date", "price", "rating"), ("asc", "desc"), 500
# Statuses that a crawler meets on any site; every other one of 400 and above is a failure.
ORDINARY = (401, 403, 404, 410)
REFUSED = {429: "refused: 429, too many requests", 503: "refused: 503, unavailable"}
NOT_ASKED = f"not asked: {UNDER_WAY} requests were under way"
TIMEOUT = f"timeout: not over after {PATIENCE:g} s"


class Connection(http.client.HTTPConnection):
    """A connection of one address. It uses gevent's sockets, so that other requests go on meanwhile."""

    def __init__(self, host: str, port: int, address: str) -> None:
        super().__init__(host, port)
        self.line = f"PROXY TCP4 {address} 127.0.0.1 {random.randrange(1024, 65_536)} {port}\r\n".encode()
        self.named = {"X-Forwarded-For": address}  # for an nginx behind a proxy that names clients this way

    def connect(self) -> None:
        """Open the connection and state its address."""
        self.sock = gevent.socket.create_connection((self.host, self.port))
        self.sock.sendall(self.line)


class Addresses:
    """Addresses `share`, `share` + `shares`, ... of the first `number`, in turn.

    So several processes use different addresses, unless there are fewer addresses than processes.
    """

    def __init__(self, number: int, share: int = 0, shares: int = 1) -> None:
        mine = range(share, number, shares) or [share % number]
        self._turns = deque((str(FIRST_ADDRESS + each), 0.0) for each in mine)  # address, next time

    def take(self, now: float, delay: float = 0.0) -> str | None:
        """Return the next address, which then may not ask for `delay` seconds; None if it may not ask now."""
        address, free = self._turns[0]
        if free > now:
            return None
        self._turns.popleft()
        self._turns.append((address, now + delay))
        return address


class Frontier:
    """The URLs of a site that a walk has not requested yet, nearest to its start first (breadth first)."""

    def __init__(self, most: int = FRONTIER) -> None:
        self._most = most
        self._waiting: deque[str] = deque()
        self._seen: set[str] = set()

    def next(self) -> str:
        """Return the next URL, a path with its query. After the last one, the walk begins again."""
        if not self._waiting:
            self._seen.clear()
            self.add(["/"])
        return self._waiting.popleft()

    def add(self, urls: Iterable[str]) -> None:
        """Add the new URLs, as long as the walk has found fewer than `most`."""
        for url in urls:
            if url not in self._seen and len(self._seen) < self._most:
                self._seen.add(url)
                self._waiting.append(url)


class Rules:
    """The rules of robots.txt for crawlers of this name. Until there is a response, nothing is allowed.

    RFC 9309, 2.3.1: without a file (4xx) everything is allowed; while the server fails, nothing is. A
    redirect is not followed here, and counts as a missing file.
    """

    def __init__(self) -> None:
        self.known = False
        self.delay = 0.0  # seconds between two requests of one address; robotparser reads whole seconds only
        self._ask_again = 0.0
        self._parser = RobotFileParser()

    def due(self, now: float) -> bool:
        """Return whether to request the file now: once every PATIENCE until there is a response."""
        if self.known or now < self._ask_again:
            return False
        self._ask_again = now + PATIENCE
        return True

    def read(self, status: int, text: str) -> None:
        """Take the response to the request for the file."""
        if status >= 500 or status == 429:
            return
        self._parser.parse(text.splitlines() if status < 300 else [])
        self.delay = float(self._parser.crawl_delay(NAME) or 0)
        self.known = True

    def allow(self, url: str) -> bool:
        return self.known and self._parser.can_fetch(NAME, url)


def disguise(url: str, chance: random.Random) -> str:
    """Return the URL with a query like that of a sorted list, and with an argument that is never repeated."""
    arguments = [
        f"sort={chance.choice(SORTS)}",
        f"order={chance.choice(ORDERS)}",
        f"page={chance.randint(1, PAGES)}",
        f"ref={chance.getrandbits(64):016x}",
    ]
    chance.shuffle(arguments)
    return f"{url}{'&' if '?' in url else '?'}{'&'.join(arguments)}"


def fault_of(status: int) -> str | None:
    """Return the reason why a response with this status is a failure, or None."""
    return None if status < 400 or status in ORDINARY else REFUSED.get(status, f"status {status}")


class Crawl(OpenModel):
    """Makes its share of `--crawl` requests a second when they are due, at most UNDER_WAY at a time.

    Samples have the type `crawl` and the row of their path as name, and last from opening the connection to
    the end of the body. They are not visitors' samples: the verdict does not judge them, and the tab Caches
    has a row for crawlers.
    """

    abstract = True

    @classmethod
    def lack(cls, given: Namespace) -> str | None:
        """Return the reason why a run has no crawlers, or None."""
        if not given.crawl:
            return "there is no --crawl"
        return None if topologies.by_name(given.topology) else f"{given.topology} has no port for crawlers"

    def on_start(self) -> None:
        given = self.environment.parsed_options
        assert given
        self.asked = given.app_host if given.topology in topologies.APPS else given.topology
        self.server = urlsplit(self.host or "").hostname or ""
        self.port: int = given.proxy_port
        index = getattr(self.environment.runner, "worker_index", 0)
        shares = given.processes_of_run
        self.addresses = Addresses(given.crawl_addresses, index % shares, shares)
        self.rules = Rules() if given.robots == options.OBEY else None
        self.frontier = Frontier()
        self.chance = random.Random()
        self.pool = Pool(UNDER_WAY)
        self.samples = Samples(self.environment, rows.CRAWL)
        self.begin(given.crawl, options.CONSTANT)

    def on_stop(self) -> None:
        """End the requests under way; they do not count."""
        self.pool.kill()

    def ask_due(self) -> None:
        """Make the requests that are due. One without a free place is a failure; one without a free address
        does not count. Neither is made later.
        """
        now = time.monotonic()
        for _ in self.due_until(now):
            address = self.addresses.take(now, self.rules.delay if self.rules else 0.0)
            url, row = self.choose(now) if address else ("", "")
            if not url or not address:
                continue
            if self.pool.free_count():
                self.pool.spawn(self.ask, url, row, address)
            else:
                self.samples.record(row, 0.0, NOT_ASKED)

    def choose(self, now: float) -> tuple[str, str]:
        """Return the next URL and its row; empty if there is no URL that a robot may request now."""
        if self.rules:
            if not self.rules.known:
                return (ROBOTS, ROBOTS) if self.rules.due(now) else ("", "")
            url = self.frontier.next()
            return (url, row_of(url)) if self.rules.allow(url) else ("", "")
        if self.chance.random() < STALE:
            return disguise(f"/stages/{self.chance.getrandbits(32):08x}", self.chance), STALE_ROW
        url = self.frontier.next()
        return disguise(url, self.chance), row_of(url)

    def ask(self, url: str, row: str, address: str) -> None:
        """Make one request from an address, on a connection of its own, and report its sample."""
        began = time.perf_counter()
        length, fault = 0, None
        try:
            with Timeout(PATIENCE):
                length, fault = self.exchange(url, address)
        except Timeout:
            fault = TIMEOUT
        except (OSError, http.client.HTTPException, zlib.error) as error:
            fault = f"no response: {type(error).__name__}"
        except Exception as error:  # Locust reports only tasks' exceptions, and this is no task
            self.environment.events.user_error.fire(
                user_instance=self, exception=error, tb=error.__traceback__
            )
            fault = "an exception"
        self.samples.record(row, (time.perf_counter() - began) * 1000, fault, length)

    def exchange(self, url: str, address: str) -> tuple[int, str | None]:
        """Send a request, read the response and its links; return its bytes, and its fault or None."""
        connection = Connection(self.server, self.port, address)
        try:
            fields = {"Host": self.asked, "User-Agent": USER_AGENT, "Connection": "close"}
            fields |= connection.named | {"Accept-Encoding": http_client.ENCODING}
            connection.request("GET", url, headers=fields)
            response = connection.getresponse()
            body = response.read(LONGEST_BODY)
        finally:
            connection.close()
        report, timing = (response.getheader(name, "") for name in ("cache-status", "server-timing"))
        counters.count(table.row_of_crawlers(url), report, timing, response.status)
        if url == ROBOTS and self.rules:
            self.rules.read(response.status, unpacked(body, response).decode("utf-8", "replace"))
        elif response.status < 400:
            html = response.headers.get_content_type() == "text/html"
            text = unpacked(body, response).decode("utf-8", "replace") if html else ""
            self.follow(text, url, response.getheader("location", ""))
        return len(body), fault_of(response.status)

    def follow(self, text: str, url: str, location: str) -> None:
        """Add the links on a page, or the target of a redirect, to the walk."""
        here = f"http://{self.asked}{url}"
        targets = [*page.same_server([location] if location else [], here), *page.links(text, here)]
        found = (relative(target) for target in targets)
        self.frontier.add(each for each in found if not self.rules or self.rules.allow(each))


def unpacked(body: bytes, response: http.client.HTTPResponse) -> bytes:
    """Return at most LONGEST_BODY bytes of a body, which may be incomplete. Raise zlib.error."""
    if response.getheader("content-encoding") != http_client.ENCODING:
        return body
    return zlib.decompressobj(http_client.GZIP).decompress(body, LONGEST_BODY)


def relative(url: str) -> str:
    """Return path and query of an absolute URL, in the form that a request needs."""
    parts = urlsplit(url)
    return quote(f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", safe="/?%:@!$&'()*+,;=~")


def row_of(url: str) -> str:
    """Return the row of a URL in Locust's table: its path, as for visitors, or one for all further URLs."""
    return pages.row_of(paths.row(url.partition("?")[0]))
