"""Crawlers: their walk, their addresses, what they obey, and their samples beside those of visitors."""

import random
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import pytest
from gevent.pool import Pool

from caches import counters
from loadtest.tests.fake_site import FakeSite, Page
from loadtest.tests.locust_library import alone, create, samples
from locustfile import Crawler, Reader
from results import page
from tests.support.origin import response
from users import crawler
from users.crawler import Addresses, Frontier, Rules, disguise

HTML = {"content-type": "text/html; charset=utf-8"}


def test_a_walk_takes_the_nearest_pages_first_and_each_once() -> None:
    frontier = Frontier()
    walked = []
    links = {"/": ["/a", "/b"], "/a": ["/c", "/", "/b"], "/b": ["/d", "/c"]}
    for _ in range(7):
        walked.append(frontier.next())
        frontier.add(links.get(walked[-1], []))
    assert walked == ["/", "/a", "/b", "/c", "/d", "/", "/a"]


def test_a_walk_has_an_end_on_a_site_that_has_none() -> None:
    frontier, number = Frontier(most=100), 0
    walked = []
    for _ in range(201):
        walked.append(frontier.next())
        frontier.add(f"/{number + each}" for each in range(3))
        number += 3
    assert [place for place, url in enumerate(walked) if url == "/"] == [0, 100, 200]


def test_no_two_requests_have_the_same_query() -> None:
    chance = random.Random(1)
    asked = [parse_qsl(urlsplit(disguise("/stages", chance)).query) for _ in range(200)]
    assert all(dict(query).keys() == {"sort", "order", "page", "ref"} for query in asked)
    assert len({dict(query)["ref"] for query in asked}) == 200
    assert len({tuple(name for name, _ in query) for query in asked}) == 24  # all orders of the arguments
    assert {dict(query)["order"] for query in asked} == {"asc", "desc"}
    assert disguise("/list?page=2", chance).startswith("/list?page=2&")


def test_addresses_take_turns_and_processes_have_different_ones() -> None:
    addresses = Addresses(3)
    assert [addresses.take(0) for _ in range(4)] == [f"198.18.0.{last}" for last in (1, 2, 3, 1)]
    shared = [Addresses(5, share, 2) for share in (0, 1)]
    taken = [{process.take(0) for _ in range(5)} for process in shared]
    assert taken == [{f"198.18.0.{last}" for last in share} for share in ((1, 3, 5), (2, 4))]
    assert Addresses(1, 1, 2).take(0) == "198.18.0.1"
    most = Addresses(60_000)
    assert {most.take(0) for _ in range(60_000)} >= {"198.18.0.1", "198.18.234.96"}


def test_an_address_asks_at_most_once_in_a_delay() -> None:
    addresses = Addresses(2)
    taken = [addresses.take(now, delay=5.0) for now in (0.0, 1.0, 4.9, 5.0, 5.5, 6.0)]
    assert taken == ["198.18.0.1", "198.18.0.2", None, "198.18.0.1", None, "198.18.0.2"]


EVERYTHING, NOTHING = (True, True, True, 0.0), (False, False, False, 0.0)


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (200, "User-agent: *\nDisallow: /private\nCrawl-delay: 5", (True, False, True, 5.0)),
        (200, "User-agent: ProsceniumCrawler\nDisallow: /\n\nUser-agent: *\n", (True, False, False, 0.0)),
        (200, "User-agent: Mozilla\nDisallow: /", EVERYTHING),
        (200, "", EVERYTHING),
        (404, "User-agent: *\nDisallow: /", EVERYTHING),
        (503, "", NOTHING),
        (429, "", NOTHING),
    ],
)
def test_robots_txt_is_understood(status: int, text: str, expected: tuple[bool, bool, bool, float]) -> None:
    rules = Rules()
    rules.read(status, text)
    assert (rules.known, rules.allow("/private/x"), rules.allow("/"), rules.delay) == expected


def test_robots_txt_is_asked_for_until_there_is_a_response() -> None:
    rules = Rules()
    assert [rules.due(now) for now in (1.0, 2.0, 10.9, 11.0)] == [True, False, False, True]
    rules.read(200, "")
    assert not rules.due(99.0)


class Walk:
    """Crawlers without a runner; a test says when a request is due. `samples`: name, milliseconds, fault."""

    def __init__(self, user: Crawler, clock: SimpleNamespace) -> None:
        self.user, self.clock, self.samples = user, clock, samples(user, "crawl")

    @property
    def taken(self) -> list[tuple[str, str | None]]:
        """The samples without their times."""
        return [(name, fault) for name, _, fault in self.samples]

    def ask(self, *instants: float, at_once: int = 1) -> None:
        """Let requests be due at these instants, each after the earlier ones have ended."""
        for now in instants:
            self.clock.now = self.user.due = now
            self.user.schedule = iter([now] * (at_once - 1) + [1e9])
            self.user.ask_due()
            self.user.pool.join()


Start = Callable[..., Walk]


@pytest.fixture
def start(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Return a function that starts crawlers, without stale links, on a site of five pages."""
    clock = SimpleNamespace(now=0.0)
    fake = SimpleNamespace(monotonic=lambda: clock.now, perf_counter=time.perf_counter)
    monkeypatch.setattr(crawler, "time", fake)
    monkeypatch.setattr(crawler, "STALE", 0.0)
    site.pages["/"] = Page(
        b'<a href="/a">a</a> <a href="/b?x=1">b</a> <a href="http://elsewhere.example/">c</a>',
        {**HTML, "set-cookie": "session=1", "cache-status": "varnish; fwd=uri-miss; stored"},
    )
    site.pages["/a"] = Page(b'<a href="/private/c">c</a><a href="/d">d</a>', HTML)
    for path in ("/b", "/private/c", "/d"):
        site.pages[path] = Page(b"<p>No link</p>", HTML)
    return lambda *arguments: Walk(alone(site, Crawler, "--crawl=1", *arguments), clock)


def paths(site: FakeSite) -> list[str]:
    return [target.partition("?")[0] for target in site.targets]


def test_each_request_has_a_connection_an_address_and_a_query_of_its_own_and_no_cookie(
    site: FakeSite, start: Start
) -> None:
    walk = start("--crawl-addresses=3")
    walk.ask(*range(7))
    assert paths(site) == ["/", "/a", "/b", "/private/c", "/d", "/", "/a"]
    assert len(set(site.targets)) == 7
    assert site.targets[2].startswith("/b?x=1&")
    assert [line.split()[:4] for line in site.said] == [
        ["PROXY", "TCP4", f"198.18.0.{last}", "127.0.0.1"] for last in (1, 2, 3, 1, 2, 3, 1)
    ]
    assert all(line.endswith(f" {site.port}\r\n") for line in site.said)
    assert len({request.connection for request in site.requests}) == 7
    sent = {"host": "upstage.localhost", "user-agent": crawler.USER_AGENT, "accept-encoding": "gzip"}
    stated = [request.headers.pop("x-forwarded-for") for request in site.requests]
    assert stated == [line.split()[2] for line in site.said]
    assert [request.headers for request in site.requests] == [sent | {"connection": "close"}] * 7
    names = ("/", "/a", "/b", "/private/c", "/d", "/", "/a")
    assert walk.taken == [(name, None) for name in names]


def test_their_responses_are_counted_beside_those_of_visitors(site: FakeSite, start: Start) -> None:
    start().ask(0, 1)
    tiers = {(tier, said) for tier in ("client", "varnish", "backend") for said in ("miss", "pass")}
    expected = dict.fromkeys(tiers, 1) | {("status", "200"): 2}
    assert counters.counts == {("(crawlers) page", *each): count for each, count in expected.items()}


def test_some_requests_follow_links_to_pages_that_are_gone_which_is_no_failure(
    site: FakeSite, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawler, "STALE", 1.0)
    walk = start()
    walk.ask(0, 1)
    assert all(path.startswith("/stages/") for path in paths(site))
    assert len(set(paths(site))) == 2
    assert walk.taken == [("/stages/(stale link)", None)] * 2


def test_a_redirect_is_followed_on_the_same_server_only(site: FakeSite, start: Start) -> None:
    site.instead["/"] = response("", "302 Found", location="/a")
    site.instead["/a"] = response("", "302 Found", location="http://elsewhere.example/")
    start().ask(*range(3))
    assert paths(site) == ["/", "/a", "/"]


def test_a_robot_that_obeys_asks_for_robots_txt_then_as_often_as_it_may_for_what_it_may(
    site: FakeSite, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawler, "STALE", 1.0)  # a robot that obeys invents none
    site.pages["/robots.txt"] = Page(b"User-agent: *\nDisallow: /private/\nCrawl-delay: 5\n")
    walk = start("--robots=obey", "--crawl-addresses=2")
    walk.ask(*range(20))
    # The first request was before the delay was known; then each of two addresses asks every five seconds.
    allowed = ["/", "/a", "/b?x=1", "/d"]
    assert site.targets == ["/robots.txt", *allowed, *allowed]
    assert [line.split()[2][-1] for line in site.said] == ["1", "2", "1", "2", "1", "2", "1", "2", "1"]
    assert {fault for _, fault in walk.taken} == {None}


def test_without_a_response_for_robots_txt_a_robot_that_obeys_asks_for_nothing_else(
    site: FakeSite, start: Start
) -> None:
    site.instead["/robots.txt"] = response("", "503 Service Unavailable")
    walk = start("--robots=obey")
    walk.ask(0, 1, 9, 10)
    assert paths(site) == ["/robots.txt"] * 2
    site.instead["/robots.txt"] = response("", "404 Not Found")
    walk.ask(20, 21)
    assert site.targets[2:] == ["/robots.txt", "/"]


NOT_GZIP = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-type: text/html\r\n\r\nnot gzip"


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        (response("", "429 Too Many Requests"), "refused: 429, too many requests"),
        (response("", "503 Service Unavailable"), "refused: 503, unavailable"),
        (response("", "502 Bad Gateway"), "status 502"),
        (response("", "400 Bad Request"), "status 400"),
        (response("", "403 Forbidden"), None),
        (NOT_GZIP, "no response: error"),
        (None, "no response: ConnectionRefusedError"),
    ],
    ids=["429", "503", "502", "400", "403", "not gzip", "no server"],
)
def test_what_the_stack_refuses_or_does_not_answer_is_a_failed_sample(
    site: FakeSite, start: Start, sent: bytes | None, fault: str | None
) -> None:
    walk = start()
    site.instead["/"] = sent or b""
    if not sent:
        site.close()
    walk.ask(0)
    assert walk.taken == [("/", fault)]


def test_a_request_that_takes_too_long_or_finds_no_place_fails(
    site: FakeSite, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawler, "PATIENCE", 0.2)
    over = threading.Event()
    site.respond = lambda _: response("late") if over.wait(30) else b""
    walk = start()
    walk.user.pool = Pool(1)
    walk.ask(1, at_once=2)
    over.set()
    late, refused = "timeout: not over after 10 s", "not asked: 200 requests were under way"
    assert walk.taken == [("/", refused), ("/", late)]


def test_of_a_long_response_only_the_beginning_is_read(
    site: FakeSite, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawler, "LONGEST_BODY", 30)
    walk = start()
    site.pages["/"] = Page(b'<a href="/near">near</a> a long page <a href="/far">far</a>', HTML)
    lengths: list[int] = []
    walk.user.environment.events.request.add_listener(
        lambda response_length, **_: lengths.append(response_length)
    )
    walk.ask(0, 1, 2)
    assert paths(site) == ["/", "/near", "/"]
    assert (lengths[0], lengths[2]) == (30, 30)


def test_the_report_says_that_there_were_crawlers(site: FakeSite) -> None:
    without, with_them = (
        page.settings(create(site, Reader, Crawler, arguments=(f"--crawl={crawl}",))) for crawl in (0, 30)
    )
    assert "(Reader) on the stage" in without
    assert "(Crawler, Reader), beside 30 requests per second of crawlers, on the stage" in with_them
