"""Expired copies, and an application that fails."""

import time
from urllib.parse import urlsplit

import pytest

from asking import App, New, ask, at_once

pytestmark = pytest.mark.slow


def test_a_copy_that_has_just_expired_is_sent_while_it_is_renewed(new: New) -> None:
    path = new("/page") + "?age=1"
    first = ask(path)
    time.sleep(2.5)
    second = ask(path)
    assert second.text == first.text
    assert "detail=stale" in second.cache
    time.sleep(0.5)
    assert ask(path).text != first.text


def test_a_copy_that_expired_long_ago_is_renewed_first(new: New) -> None:
    path = new("/page") + "?age=1"
    first = ask(path)
    time.sleep(12.5)
    assert ask(path).text != first.text


@pytest.fixture(scope="module")
def expired(running: App) -> str:
    """A page whose copy has expired more than ten seconds ago."""
    path = f"/page-expired{time.time_ns()}?age=1"
    ask(path)
    time.sleep(12.5)
    return path


def test_the_old_copy_is_better_than_an_error(expired: str, app: App) -> None:
    app.read("/set?fail=1")
    before = app.asked(urlsplit(expired).path)
    response = ask(expired)
    assert (response.status, "detail=stale" in response.cache) == (200, True)
    assert app.asked(urlsplit(expired).path) == before + 1


def test_thirty_at_once_get_the_old_copy_of_a_page_that_fails_slowly(expired: str, app: App) -> None:
    app.read("/set?fail=1&slow=0.5")
    seconds, responses = at_once(30, lambda: ask(expired))
    assert {response.status for response in responses} == {200}
    assert seconds < 5


def test_the_old_copy_is_sent_while_the_application_is_down(expired: str, app: App) -> None:
    app.stop()
    response = ask(expired)
    assert (response.status, "detail=stale" in response.cache) == (200, True)


def test_thirty_at_once_do_not_wait_in_line_for_an_error(new: New, app: App) -> None:
    app.read("/set?fail=1&slow=0.5")
    seconds, responses = at_once(30, lambda: ask(new("/page")))
    assert all(response.status == 500 and "application says" in response.text for response in responses)
    assert seconds < 4


def test_thirty_at_once_do_not_wait_in_line_for_a_page_that_is_not_kept(new: New, app: App) -> None:
    app.read("/set?slow=0.5")
    seconds, responses = at_once(30, lambda: ask(new("/dynamic")))
    assert len({response.text for response in responses}) == 30
    assert seconds < 4


def test_thirty_at_once_cause_one_fetch_of_a_page_that_is_kept(new: New, app: App) -> None:
    app.read("/set?slow=0.5")
    at_once(30, lambda: ask(new("/page")))
    assert app.asked(new("/page")) == 1


def test_the_applications_own_error_page_arrives() -> None:
    response = ask("/down")
    assert (response.status, response.headers["Retry-After"]) == (503, "77")
    assert "own 503" in response.text


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("user", ["", "ann"], ids=["visitor", "signed-in"])
def test_without_a_copy_the_503_page_is_sent_while_the_application_is_down(
    new: New, app: App, method: str, user: str
) -> None:
    app.stop()
    response = ask(new("/page"), method, user=user)
    assert (response.status, response.headers["Retry-After"]) == (503, "5")
    assert "One moment, please" in response.text
    assert response.headers["Cache-Control"] == "no-store"


def test_the_application_is_asked_again_as_soon_as_it_is_back(new: New, app: App) -> None:
    app.stop()
    ask(new("/dynamic"))
    app.start()
    time.sleep(1.1)  # for so long a failure is shared
    assert ask(new("/dynamic")).status == 200
