"""The pages on which a cache's work can be seen: slow, in two parts, in several languages."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from backend.tests.running_backend import Backend, ask
from tests.support.http import connect, message
from tests.support.wait import wait_until
from upstage.web.lesson_pages import preferred


def test_the_slow_page_takes_300_ms_and_delays_no_other_request(school: Backend) -> None:
    began = time.monotonic()
    with ThreadPoolExecutor(20) as pool:
        slow = [pool.submit(ask, school, "/slow") for _ in range(20)]
        assert ask(school, "/health").status == 200
        assert not all(each.done() for each in slow)
        responses = [each.result() for each in slow]
    assert 0.3 <= time.monotonic() - began < 20 * 0.3  # not one after another
    assert {response.status for response in responses} == {200}
    assert responses[0].headers["cache-control"] == "max-age=0, s-maxage=60"
    assert b"300 ms" in responses[0].body


def test_anonymous_clients_wait_each_address_in_its_turn(school: Backend) -> None:
    """One address asks for twenty pages at once; an identified client and a newcomer get theirs.

    Requests that the server holds back on purpose take no place, and do not wait for one.
    """
    anonymous = {"X-Anonymous": "yes", "X-Real-IP": "192.0.2.1"}
    with ThreadPoolExecutor(22) as pool:
        greedy = [pool.submit(ask, school, "/slow", **anonymous) for _ in range(20)]
        wait_until(lambda: any(each.done() for each in greedy))
        for path in ("/media/video/none.jpg", "/speech/none.mp3", "/try/"):
            assert ask(school, path, **anonymous).status != 503
        newcomer = pool.submit(ask, school, "/slow", **{**anonymous, "X-Real-IP": "192.0.2.2"})
        assert ask(school, "/slow", **{"X-Real-IP": "192.0.2.1"}).status == 200
        assert newcomer.result().status == 200
        refused = [each.result() for each in greedy if each.result().status == 503]
    assert len(refused) >= 10
    assert refused[0].headers["retry-after"] == "5"


def test_a_client_that_leaves_the_slow_page_is_no_error(school: Backend) -> None:
    with connect(("127.0.0.1", school.web_port)) as client:
        client.sendall(message("/slow", "localhost"))  # when the server ends, its log is checked for failures
    assert ask(school, "/slow", "HEAD").body == b""


def test_the_playbill_has_instructions_for_a_cache_and_works_without_one(school: Backend) -> None:
    page = ask(school, "/playbill")
    assert page.headers["surrogate-control"] == 'content="ESI/1.0"'
    assert page.headers["cache-control"] == "max-age=0, s-maxage=60"
    [source] = re.findall(rb'<esi:include src="([^"]+)"/>', page.body)
    part = ask(school, source.decode())
    assert part.headers["cache-control"] == "max-age=0, s-maxage=1"
    assert re.match(rb"\s*<strong[^>]*>\d+ in the audience</strong> at \d\d:\d\d:\d\d UTC", part.body)
    [remove] = re.findall(rb"<esi:remove>(.*?)</esi:remove>", page.body, re.S)
    assert b"in the audience" in remove


def test_the_number_is_the_audience_of_all_listed_stages(school: Backend) -> None:
    def audience() -> int:
        found = re.search(rb">(\d+) in the audience", ask(school, "/playbill/audience").body)
        assert found
        return int(found[1])

    before = audience()
    clients = [school.on_stage(), school.on_stage(b"load")]  # unlisted
    assert audience() == before + 1
    for client in clients:
        client.close()


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("*", "en"),
        ("de", "de"),
        ("DE-at", "de"),
        ("de-CH-1996, en;q=0.5", "de"),
        ("en;q=0.5, de;q=0.8", "de"),
        ("fr;q=0.1", "fr"),
        ("ja, mi;q=0.3", "mi"),
        ("de;q=0, fr;q=0.001", "fr"),
        ("ja,zh", "en"),
        ("de;q=2", "en"),  # no weight of RFC 9110
        (", ,de", "de"),
        ("x" * 5000, "en"),
        (",".join(["ja"] * 20 + ["de"]), "en"),  # the first twenty are read
    ],
)
def test_the_language_that_the_browser_prefers(header: str, language: str) -> None:
    assert preferred(header) == language


def test_the_greeting_says_what_it_depends_on(school: Backend) -> None:
    german = ask(school, "/welcome", Accept_Language="de-AT,de;q=0.9")
    assert (german.headers["vary"], german.headers["content-language"]) == ("Accept-Language", "de")
    assert german.headers["cache-control"] == "max-age=0, s-maxage=60"
    assert '<h1 lang="de">Willkommen im Theater.</h1>' in german.text
    assert "Nau mai" in ask(school, "/welcome", Accept_Language="mi").text
