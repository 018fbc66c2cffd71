"""Crawlers: their walk, their addresses, what they obey, and their samples beside those of visitors."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from gevent.pool import Pool
from locust.runners import WorkerNode

import topologies
from caches import counters
from comparison.compare import Compare
from loadtest.tests.fake_site import FakeSite, Page
from loadtest.tests.locust_library import create, parse, run
from locustfile import Arrivals, Crawler, Reader
from results import page
from tests.support.origin import response
from users import crawler, taking_part
from users.crawler import Addresses, Frontier, Rules, disguise
from verdict import rows, this_run
from verdict.judge import Line, Thresholds, judge

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


@pytest.mark.parametrize(
    ("status", "text", "known", "private", "public", "delay"),
    [
        (200, "User-agent: *\nDisallow: /private\nCrawl-delay: 5", True, False, True, 5.0),
        (
            200,
            "User-agent: ProsceniumCrawler\nDisallow: /\n\nUser-agent: *\nDisallow:",
            True,
            False,
            False,
            0.0,
        ),
        (200, "User-agent: Mozilla\nDisallow: /", True, True, True, 0.0),
        (200, "", True, True, True, 0.0),
        (404, "User-agent: *\nDisallow: /", True, True, True, 0.0),
        (503, "", False, False, False, 0.0),
        (429, "", False, False, False, 0.0),
    ],
)
def test_robots_txt_is_understood(
    status: int, text: str, known: bool, private: bool, public: bool, delay: float
) -> None:
    rules = Rules()
    rules.read(status, text)
    assert (rules.known, rules.allow("/private/x"), rules.allow("/"), rules.delay) == (
        known,
        private,
        public,
        delay,
    )


def test_robots_txt_is_asked_for_until_there_is_an_answer() -> None:
    rules = Rules()
    assert [rules.due(now) for now in (1.0, 2.0, 10.9, 11.0)] == [True, False, False, True]
    rules.read(200, "")
    assert not rules.due(99.0)


Ask = Callable[[float], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock of crawlers: `now`, in seconds, which a test sets."""
    clock = SimpleNamespace(now=0.0)
    fake = SimpleNamespace(monotonic=lambda: clock.now, perf_counter=time.perf_counter)
    monkeypatch.setattr(crawler, "time", fake)
    return clock


Start = Callable[..., Crawler]


@pytest.fixture
def start(site: FakeSite, monkeypatch: pytest.MonkeyPatch, clock: SimpleNamespace) -> Iterator[Start]:
    """Makes crawlers without a runner, who follow no stale links; a test says when a request is due."""
    monkeypatch.setattr(Crawler, "host", site.url)
    monkeypatch.setattr(crawler, "STALE", 0.0)
    site.pages["/"] = Page(
        b'<a href="/a">a</a> <a href="/b?x=1">b</a> <a href="http://elsewhere.example/">c</a>',
        {**HTML, "set-cookie": "session=1", "cache-status": "varnish; fwd=uri-miss; stored"},
    )
    site.pages["/a"] = Page(b'<a href="/private/c">c</a><a href="/d">d</a>', HTML)
    for path in ("/b", "/private/c", "/d"):
        site.pages[path] = Page(b"<p>No link</p>", HTML)
    made: list[Crawler] = []

    def make(*arguments: str) -> Crawler:
        user = Crawler(create(site, Crawler, arguments=("--crawl=1", *arguments)))
        assert user.environment.parsed_options
        user.environment.parsed_options.processes_of_run = 1
        user.on_start()
        made.append(user)
        return user

    yield make
    for user in made:
        user.on_stop()


def ask(user: Crawler, clock: SimpleNamespace, *instants: float) -> None:
    """Let requests be due at these instants, each after the earlier ones have ended."""
    for now in instants:
        clock.now = user.due = now
        user.schedule = iter([1e9])
        user.ask_due()
        user.pool.join()


def samples(user: Crawler) -> list[tuple[str, str | None]]:
    """The samples of crawlers from now on: name and fault."""
    taken: list[tuple[str, str | None]] = []

    def take(request_type: str, name: str, exception: Any, **_: Any) -> None:
        assert request_type == "crawl"
        taken.append((name, exception and str(exception)))

    user.environment.events.request.add_listener(take)
    return taken


def paths(site: FakeSite) -> list[str]:
    return [target.partition("?")[0] for target in site.targets]


def test_each_request_has_a_connection_an_address_and_a_query_of_its_own_and_no_cookie(
    site: FakeSite, start: Start, clock: SimpleNamespace
) -> None:
    user = start("--crawl-addresses=3")
    taken = samples(user)
    ask(user, clock, *range(7))
    assert paths(site) == ["/", "/a", "/b", "/private/c", "/d", "/", "/a"]
    assert len(set(site.targets)) == 7
    assert site.targets[2].startswith("/b?x=1&")
    assert [line.split()[:4] for line in site.said] == [
        ["PROXY", "TCP4", f"198.18.0.{last}", "127.0.0.1"] for last in (1, 2, 3, 1, 2, 3, 1)
    ]
    assert all(line.endswith(f" {site.port}\r\n") for line in site.said)
    assert len({request.connection for request in site.requests}) == 7
    sent = {"host": "upstage.localhost", "user-agent": crawler.USER_AGENT, "accept-encoding": "gzip"}
    assert [request.headers for request in site.requests] == [sent | {"connection": "close"}] * 7
    names = ("/", "/a", "/b", "/private/c", "/d", "/", "/a")
    assert taken == [(name, None) for name in names]


def test_their_responses_are_counted_beside_those_of_visitors(
    site: FakeSite, start: Start, clock: SimpleNamespace
) -> None:
    ask(start(), clock, 0, 1)
    assert dict(counters.counts) == {
        ("(crawlers) page", "client", "miss"): 1,
        ("(crawlers) page", "varnish", "miss"): 1,
        ("(crawlers) page", "backend", "miss"): 1,
        ("(crawlers) page", "client", "pass"): 1,
        ("(crawlers) page", "varnish", "pass"): 1,
        ("(crawlers) page", "backend", "pass"): 1,
        ("(crawlers) page", "status", "200"): 2,
    }


def test_some_requests_follow_links_to_pages_that_are_gone_which_is_no_failure(
    site: FakeSite, start: Start, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawler, "STALE", 1.0)
    user = start()
    taken = samples(user)
    ask(user, clock, 0, 1)
    assert all(path.startswith("/stages/") for path in paths(site))
    assert len(set(paths(site))) == 2
    assert taken == [("/stages/(stale link)", None)] * 2


def test_a_redirect_is_followed_on_the_same_server_only(
    site: FakeSite, start: Start, clock: SimpleNamespace
) -> None:
    site.instead["/"] = response("", "302 Found", location="/a")
    site.instead["/a"] = response("", "302 Found", location="http://elsewhere.example/")
    ask(start(), clock, *range(3))
    assert paths(site) == ["/", "/a", "/"]


def test_a_robot_that_obeys_asks_for_robots_txt_then_as_often_as_it_may_for_what_it_may(
    site: FakeSite, start: Start, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawler, "STALE", 1.0)  # a robot that obeys invents none
    site.pages["/robots.txt"] = Page(b"User-agent: *\nDisallow: /private/\nCrawl-delay: 5\n")
    user = start("--robots=obey", "--crawl-addresses=2")
    taken = samples(user)
    ask(user, clock, *range(20))
    # The first request was before the delay was known; then each of two addresses asks every five seconds.
    walk = ["/", "/a", "/b?x=1", "/d"]
    assert site.targets == ["/robots.txt", *walk, *walk][:9]
    addresses = [line.split()[2][-1] for line in site.said]
    assert addresses == ["1", "2", "1", "2", "1", "2", "1", "2", "1"]
    assert {fault for _, fault in taken} == {None}


def test_without_an_answer_for_robots_txt_a_robot_that_obeys_asks_for_nothing_else(
    site: FakeSite, start: Start, clock: SimpleNamespace
) -> None:
    site.instead["/robots.txt"] = response("", "503 Service Unavailable")
    user = start("--robots=obey")
    ask(user, clock, 0, 1, 9, 10)
    assert paths(site) == ["/robots.txt"] * 2
    site.instead["/robots.txt"] = response("", "404 Not Found")
    ask(user, clock, 20, 21)
    assert site.targets[2:] == ["/robots.txt", "/"]


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        ("429 Too Many Requests", "refused: 429, too many requests"),
        ("503 Service Unavailable", "refused: 503, unavailable"),
        ("502 Bad Gateway", "status 502"),
        ("400 Bad Request", "status 400"),
        ("403 Forbidden", None),
    ],
)
def test_what_the_stack_refuses_is_a_failed_sample(
    site: FakeSite, start: Start, clock: SimpleNamespace, status: str, fault: str | None
) -> None:
    site.instead["/"] = response("", status)
    user = start()
    taken = samples(user)
    ask(user, clock, 0)
    assert taken == [("/", fault)]


def test_no_response_is_a_failed_sample_in_the_words_of_its_cause(
    site: FakeSite, start: Start, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = start()
    taken = samples(user)
    site.instead["/"] = (
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-type: text/html\r\n\r\nnot gzip"
    )
    ask(user, clock, 0)
    site.close()
    ask(user, clock, 1)
    assert taken == [("/", "no response: error"), ("/", "no response: ConnectionRefusedError")]


def test_a_request_that_takes_too_long_or_finds_no_place_fails(
    site: FakeSite, start: Start, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawler, "PATIENCE", 0.2)
    over = threading.Event()
    site.answer = lambda _: response("late") if over.wait(30) else b""
    user = start()
    taken = samples(user)
    user.pool = Pool(1)
    clock.now, user.due, user.schedule = 2.0, 1.0, iter([1.5, 1e9])
    user.ask_due()
    assert taken == [("/", "not asked: 200 requests were under way")]
    user.pool.join()
    over.set()
    assert taken[1:] == [("/", "timeout: not over after 10 s")]


def test_of_a_long_response_only_the_beginning_is_read(
    site: FakeSite, start: Start, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawler, "LONGEST_BODY", 30)
    site.pages["/"] = Page(b'<a href="/near">near</a> a long page <a href="/far">far</a>', HTML)
    user = start()
    site.pages["/"] = Page(b'<a href="/near">near</a> a long page <a href="/far">far</a>', HTML)
    lengths: list[int] = []
    user.environment.events.request.add_listener(lambda response_length, **_: lengths.append(response_length))
    ask(user, clock, 0, 1, 2)
    assert paths(site) == ["/", "/near", "/"]
    assert (lengths[0], lengths[2]) == (30, 30)


def test_crawlers_are_beside_the_users_of_other_classes(site: FakeSite) -> None:
    nodes = [WorkerNode(f"host_{number}") for number in range(2)]

    def dispatched(
        users: int, *classes: type, arguments: tuple[str, ...] = (), topology: str = topologies.DEFAULT
    ) -> dict[str, int]:
        environment = create(site, *classes, arguments=arguments)
        taking_part.register(environment)
        environment.parsed_options.topology = topology  # type: ignore[union-attr]  # as Compare does
        dispatcher = environment.dispatcher_class(nodes, list(classes))
        dispatcher.new_dispatch(users, 100)
        last = list(dispatcher)[-1]
        assert all(on_node.get("Crawler", 0) in (0, 1) for on_node in last.values())
        found = {
            user.__name__: sum(on_node.get(user.__name__, 0) for on_node in last.values()) for user in classes
        }
        assert sum(found.values()) == taking_part.in_all(environment, users)
        return found

    crawl, both = ("--crawl=1",), ("--crawl=1", "--arrivals=1")
    assert dispatched(7, Crawler, Reader, arguments=crawl) == {"Crawler": 2, "Reader": 7}
    assert dispatched(0, Crawler, Reader, arguments=crawl) == {"Crawler": 0, "Reader": 0}
    assert dispatched(7, Crawler, Reader) == {"Crawler": 0, "Reader": 7}
    assert dispatched(7, Crawler, arguments=crawl) == {"Crawler": 2}
    assert dispatched(7, Crawler, arguments=crawl, topology=topologies.DIRECT) == {"Crawler": 0}
    assert dispatched(7, Arrivals, Crawler, Reader, arguments=both) == {
        "Arrivals": 2,
        "Crawler": 2,
        "Reader": 0,
    }


def test_compare_measures_visitors_who_wait_only_if_there_are_any(site: FakeSite) -> None:
    for classes, models in (((Arrivals, Crawler), [2.0]), ((Arrivals, Crawler, Reader), [0.0, 2.0])):
        shape = Compare()
        environment = create(site, *classes, arguments=("--arrivals=2", "--crawl=3"))
        shape.runner = SimpleNamespace(environment=environment)  # type: ignore[assignment]
        assert shape.models() == models


def test_a_topology_with_a_port_of_its_own_has_none_for_crawlers() -> None:
    assert taking_part.lack(Crawler, parse()) == "there is no --crawl"
    assert taking_part.lack(Crawler, parse("--crawl=1", "--topology=classic.localhost")) is None
    refused = taking_part.lack(Crawler, parse("--crawl=1", "--topology=direct.localhost"))
    assert refused == "direct.localhost has no port for crawlers"


def test_visitors_are_judged_without_crawlers(site: FakeSite) -> None:
    """By neither their failures, nor their times, nor their misses, whatever a threshold's pattern."""
    environment = create(site, Reader, Crawler, arguments=("--crawl=1",))
    environment.runner.stats.clear_all()  # type: ignore[union-attr]

    def sample(kind: str, milliseconds: int, fault: Exception | None = None) -> None:
        environment.events.request.fire(
            request_type=kind,
            name="/a",
            response_time=milliseconds,
            response_length=1,
            exception=fault,
            context={},
        )

    thresholds: Thresholds = {"error_ratio": {"*": 0.0}, "p95_ms": {"*": 100}, "hit_ratio": {"*": 0.9}}

    def verdict() -> list[Line]:
        return judge(this_run.measured(environment.runner), thresholds)  # type: ignore[arg-type]

    sample("GET", 5)
    counters.count("/a", "varnish; hit")
    before = verdict()
    assert [line.verdict for line in before] == ["ok"] * 5
    sample("crawl", 9000, RuntimeError("refused"))
    for _ in range(9):
        counters.count("(crawlers) page", "varnish; fwd=uri-miss")
    assert verdict() == before
    assert rows.of_run([Reader, Crawler]) == rows.of_run([Reader])


def test_the_report_says_that_there_were_crawlers(site: FakeSite) -> None:
    without, with_them = (
        page.settings(create(site, Reader, Crawler, arguments=(f"--crawl={crawl}",))) for crawl in (0, 30)
    )
    assert "(Reader) on the stage" in without
    assert "(Crawler, Reader), beside 30 requests per second of crawlers, on the stage" in with_them


def test_visitors_and_crawlers_of_a_whole_run(site: FakeSite) -> None:
    site.pages["/"] = Page(b'<a href="/stages/demo">demo</a>', HTML)
    enough = {"crawl /": 3, "crawl /stages/demo": 3, "/media/*.svg": 3}
    result = run(site, Crawler, Reader, users=2, arguments=("--crawl=50",), until_rows=enough)
    assert not result.failed
    crawled = sum(count for row, count in result.requests.items() if row.startswith("crawl "))
    assert len(site.said) >= crawled
    counted = {row: 0 for row, _, _ in counters.counts}
    for (row, tier, _), count in counters.counts.items():
        counted[row] += count * (tier == "client")
    assert counted["/media/*.svg"] == result.requests["/media/*.svg"]
    assert sum(count for row, count in counted.items() if row.startswith("(crawlers)")) == crawled
