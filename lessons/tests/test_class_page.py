"""The instructor's page: its data, what its server refuses, and what a browser shows."""

import contextlib
import http.client
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from lessons.classroom import web
from lessons.classroom.engine import EngineError
from lessons.classroom.plan import PlanError
from lessons.classroom.results import Result
from lessons.classroom.web import answer, current
from lessons.tests.fake_class import FakeClass
from tests.browsing import unreadable, wider
from tests.support.chromium import listen

HOSTILE = "<img src=x onerror=\"document.title='caught'\">"


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeClass:
    """A class of three: one is at lesson 2 for 5 minutes, one at lesson 3 for 40, one has not begun."""
    fake = FakeClass(tmp_path, 3, monkeypatch)
    fake.finish(1, 1, minutes=6)
    fake.keep(1, 2, minutes=5, attempts=2, said="media.vcl in use is the shipped one.")
    fake.finish(2, 1, minutes=50)
    fake.keep(2, 3, minutes=40, attempts=4)
    fake.stopped[2] = "backend"
    return fake


# --- The data.


def test_the_data_say_where_each_copy_is_and_contain_no_password(three: FakeClass) -> None:
    data = three.answer()
    first, second, third = data["copies"]
    now = first["current"]
    assert (now["lesson"], now["doing"], round(data["at"] - now["since"])) == (2, "working", 300)
    assert (first["health"], first["memory"], first["note"]) == ("healthy", 145, "")
    assert (second["health"], third["current"]) == ("backend exited", None)
    status, body = answer(three.opened.folder, {})
    assert status == HTTPStatus.OK
    for entry in three.opened.entries.values():
        assert entry.admin.encode() not in body
        assert entry.locust.encode() not in body


def test_without_a_class_there_are_no_copies_and_a_silent_engine_is_named(
    three: FakeClass, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(tmp_path / "none", {})[0] == HTTPStatus.OK

    def silent(*_: object) -> None:
        raise EngineError("The container engine has not answered")

    monkeypatch.setattr(web, "states", silent)
    said = b'{"error": "The container engine has not answered"}'
    assert answer(three.opened.folder, {}) == (HTTPStatus.SERVICE_UNAVAILABLE, said)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([Result(1), Result(2)], None),
        ([Result(1, "done", 1, 1, 10, 20), Result(2, "begun", 1, 0, 30)], (2, "working", 30)),
        ([Result(1, "done", 1, 1, 40, 50), Result(2, "begun", 1, 0, 30)], (1, "done", 50)),
        ([Result(1, "done", 1, 1, 10, 20, again=60), Result(2, "begun", 1, 0, 30)], (1, "again", 60)),
    ],
)
def test_the_current_lesson_is_the_one_that_was_begun_last(
    found: list[Result], expected: tuple[int, str, float] | None
) -> None:
    now = current(found)
    assert (now and (now["lesson"], now["doing"], now["since"])) == expected


def test_the_engine_is_asked_once_however_many_look(three: FakeClass) -> None:
    with three.serving() as url, ThreadPoolExecutor(8) as viewers:
        answers = list(viewers.map(lambda _: requests.get(f"{url}/state.json", timeout=60), range(24)))
    assert {response.status_code for response in answers} == {200}
    assert three.asked == 1


def test_an_answer_is_asked_for_again_when_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def ask() -> web.Answer:
        asked.append(time.monotonic())
        return HTTPStatus.OK, b""

    monkeypatch.setattr(web, "EVERY", 0.05)
    with web.PageServer(0, ask) as server:
        while len(asked) < 3:
            server.recent()
    assert all(later - earlier >= 0.05 for earlier, later in pairwise(asked))


# --- The server.


def test_only_a_name_of_this_machine_is_answered(three: FakeClass) -> None:
    def status(*hosts: str) -> int:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        connection.putrequest("GET", "/state.json", skip_host=True)
        for host in hosts:
            connection.putheader("Host", host)
        connection.endheaders()
        with contextlib.closing(connection):
            return connection.getresponse().status

    with three.serving() as url:
        assert status() == status("localhost", "localhost") == 421
        for host in ("evil.example", "localhost.evil.example", ""):
            assert status(host) == 421
        assert three.asked == 0
        for host in ("localhost", "127.0.0.1:9", "[::1]:20080", "LOCALHOST:1"):
            assert status(host) == 200


def test_it_answers_only_what_the_page_needs(three: FakeClass) -> None:
    with three.serving() as url:
        for path in ("/../class.json", "/class.json", "/page"):
            assert requests.get(f"{url}{path}", timeout=60).status_code == 404
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert requests.request(method, f"{url}/state.json", timeout=60).status_code == 501
        head = requests.head(url, timeout=60)
        assert (head.status_code, head.content) == (200, b"")
        assert int(head.headers["Content-Length"]) > 500
        headers = requests.get(f"{url}/state.json", headers={"Origin": "http://evil"}, timeout=60).headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert not [name for name in headers if name.startswith("Access-Control")]


def test_a_taken_port_is_named(three: FakeClass) -> None:
    with three.serving() as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(PlanError, match=f"Port {port}: .*CLASS_PAGE_PORT={port + 1}"):
            web.serve(three.opened.folder, {}, port)


# --- The browser.


@pytest.fixture
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    """As wide as a projector; it fails the test if the page complains."""
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    listen(page, complaints)
    yield page
    page.context.close()
    assert complaints == []


def copies(page: Page) -> list[str]:
    """The numbers of the copies, from top to bottom."""
    return page.locator("#copies th").all_text_contents()


def test_the_copy_that_is_longest_at_a_lesson_is_on_top_and_marked(three: FakeClass, page: Page) -> None:
    with three.serving() as url:
        page.goto(url)
        expect(page.locator("#copies tr")).to_have_count(3)
        assert copies(page) == ["2", "1", "3"]
        expect(page.locator("tr.long th")).to_have_text(["2"])
        expect(page.locator("tr.long .doing")).to_have_text("3. Whose page is it?")
        expect(page.locator("tr.long .minutes")).to_have_text("40 min")
        expect(page.locator("tr.long .health")).to_have_text("backend exited")
        counts = ["lesson 1: 2 done", "lesson 2: 1 working", "lesson 3: 1 working"]
        expect(page.locator("#counts li")).to_have_text(counts)
        expect(page.locator("#totals")).to_have_text(re.compile("3 copies, 2 healthy; 1 at one lesson"))
        page.get_by_role("button", name="Longest").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert copies(page) == ["1", "2", "3"]
        assert wider(page) <= 0
        assert unreadable(page) == []


def test_what_learners_files_contain_is_shown_as_text(three: FakeClass, page: Page) -> None:
    three.keep(3, 1, said=HOSTILE)
    with three.serving() as url:
        page.goto(url)
        expect(page.locator("#copies .said", has_text="<img")).to_have_text(HOSTILE)
        assert page.locator("img").count() == 0
        assert page.title() == "Class: Proscenium"


def test_a_change_appears_and_touches_nothing_else(
    three: FakeClass, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "EVERY", 0)
    page.clock.install()
    with three.serving() as url:
        page.goto(url)
        expect(page.locator("#copies tr")).to_have_count(3)
        page.evaluate("""() => {
            window.touched = [];
            new MutationObserver(changes => touched.push(...changes.map(({ target }) =>
                (target.closest ? target : target.parentElement).closest("tr").firstChild.textContent)))
                .observe(copies, { subtree: true, childList: true, characterData: true });
        }""")
        page.locator(".said div[tabindex='0']").focus()
        three.keep(3, 1, said="Not yet.")
        page.clock.run_for(5000)
        expect(page.locator("#copies tr", has_text="Not yet.").locator("th")).to_have_text("3")
        assert set(page.evaluate("touched")) == {"3"}
        expect(page.locator(":focus")).to_have_text("media.vcl in use is the shipped one.")


def test_a_server_that_has_ended_is_named_and_the_last_state_stays(
    three: FakeClass, browser: Browser
) -> None:
    page = browser.new_page()
    page.clock.install()
    with three.serving() as url:
        page.goto(url)
        expect(page.locator("#copies tr")).to_have_count(3)
    page.clock.run_for(5000)
    expect(page.locator("#when")).to_have_text(re.compile("No answer since"))
    assert copies(page) == ["2", "1", "3"]
    page.context.close()
