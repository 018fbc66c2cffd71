"""/try/: the origin that says what it is told to, and what it refuses; its page in a real browser."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from backend.tests.running_backend import Backend, ask
from tests.support.chromium import listen
from tests.support.http import Response
from upstage.web.tryout import REQUESTS, RUNS, Runs

WORD = "k3f9k3f9"


def origin(
    server: Backend, word: str = WORD, text: str = "", headers: dict[str, str] | None = None, **said: object
) -> Response:
    """Return the response of a run's origin to a request."""
    scenario = urlsafe_b64encode((text or urlencode(said)).encode()).rstrip(b"=").decode()
    return ask(server, f"/try/origin/{word}/{scenario}", **(headers or {}))


def test_the_origin_says_what_it_is_told(server: Backend) -> None:
    page = origin(server, "said0000", control="s-maxage=5", vary="Cookie, Accept", cookie=1, etag=1)
    assert (page.status, page.headers["cache-control"]) == (200, "s-maxage=5")
    assert page.headers["vary"] == "Cookie, Accept"
    assert page.headers["set-cookie"].startswith("try=1; Path=/try/origin/;")
    assert origin(server, "said0000", etag=1, headers={"If-None-Match": page.headers["etag"]}).status == 304
    assert origin(server, "said0000", status=404).status == 404
    assert "cache-control" not in origin(server, "said0000").headers
    seen = [(one["status"], one["conditional"]) for one in json.loads(ask(server, "/try/log/said0000").body)]
    assert seen == [(200, False), (304, True), (404, False), (200, False)]
    assert [origin(server, "fails000", fail=3).status for _ in range(4)] == [200, 200, 503, 503]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"control": "no-store\r\nX-Evil: 1"}, "Cache-Control can have 200 printable characters."),
        ({"vary": "a b"}, "Vary can be"),
        ({"status": 302}, "The status can be 200, 404 or 500."),
        ({"delay": 60000}, "The delay can be up to 800 milliseconds."),
        ({"fail": 0}, "The first request that fails"),
        ({"host": "evil.example"}, "A scenario has no field &#39;host&#39;."),
        ({"control": "x" * 3000}, "A scenario can have 600 characters."),
        ({"text": "a;b"}, "This is no scenario"),
        ({"text": "\xff"}, "This is no scenario"),
    ],
)
def test_a_hostile_scenario_is_refused_in_one_sentence(
    server: Backend, said: dict[str, object], sentence: str
) -> None:
    refused = origin(server, **said)  # type: ignore[arg-type]
    assert (refused.status, refused.headers["cache-control"]) == (400, "no-store")
    assert sentence in refused.text


def test_what_is_no_run_or_of_another_site(server: Backend) -> None:
    assert ask(server, "/try/origin/x/").status == 404
    assert ask(server, "/try/log/..").status == 404
    assert ask(server, "/try").headers["location"].endswith("/try/")
    for site in ("cross-site", "same-site"):
        assert origin(server, headers={"Sec-Fetch-Site": site}).status == 403
        assert ask(server, f"/try/log/{WORD}", **{"Sec-Fetch-Site": site}).status == 403


def test_a_run_has_a_limit_and_a_client_cannot_drive_out_anothers_runs(server: Backend) -> None:
    assert [origin(server, "many0000").status for _ in range(REQUESTS + 2)][-3:] == [200, 429, 429]
    runs = Runs()
    mine = runs.get("192.0.2.1", "mine")
    for number in range(3 * RUNS):
        runs.get(f"2001:db8::{number % 99}", f"run{number}")  # one client: a network of 64 bits
    assert runs.get("192.0.2.1", "mine") is mine
    assert sum(map(len, runs._of.values())) == RUNS


def test_slow_responses_delay_nobody_else(server: Backend) -> None:
    with ThreadPoolExecutor(30) as pool:
        slow = [pool.submit(origin, server, f"slow{number:04}", delay=800) for number in range(30)]
        assert ask(server, "/stages/").status == 200
        assert not all(each.done() for each in slow)
        assert {each.result().status for each in slow} == {200}


# --- The page.


@pytest.fixture
def page(browser: Browser, server: Backend, complaints: list[str]) -> Iterator[Page]:
    page = browser.new_context().new_page()
    listen(page, complaints)
    page.goto(f"http://localhost:{server.web_port}/try/")
    yield page
    page.context.close()
    assert complaints == []


def test_the_address_is_the_scenario(page: Page, server: Backend) -> None:
    page.get_by_label("Cache-Control").fill("s-maxage=5, max-age=0")
    page.get_by_label("ETag").check()
    page.get_by_role("button", name="Remove").last.press("Enter")
    page.get_by_label("kind").select_option("a range")
    assert "#control=s-maxage=5,+max-age=0&etag=1&ask=range" in page.url
    other = page.context.new_page()
    other.goto(page.url)
    assert other.get_by_label("Cache-Control").input_value() == "s-maxage=5, max-age=0"
    assert other.get_by_label("ETag").is_checked()
    assert other.get_by_label("kind").input_value() == "range"
    for _ in range(10):
        other.get_by_role("button", name="Add a request").click()
    expect(other.locator("#requests li")).to_have_count(8)


def test_a_run_without_caches_reaches_the_origin_each_time(page: Page) -> None:
    page.get_by_role("link", name="A cookie that is set").click()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("status")).to_have_text("2 requests; the origin got 2.")
    expect(page.locator("#lanes tr")).to_have_count(2)
    page.get_by_role("link", name="The browser has a copy").click()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("status")).to_have_text("2 requests; the origin got 1.")
