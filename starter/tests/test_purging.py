"""Purging, and who may."""

from collections.abc import Mapping

import pytest

from asking import BOTH, TOKEN, New, ask

pytestmark = pytest.mark.slow


def purge(path: str, method: str = "PURGE", headers: Mapping[str, str] | None = None) -> int:
    return ask(path, method, headers=headers, X_Purge_Token=TOKEN).status


needs_token = pytest.mark.skipif(not TOKEN, reason="STARTER_TOKEN is not set")


@BOTH
@pytest.mark.parametrize("method", ["PURGE", "BAN"])
@pytest.mark.parametrize("token", [None, "", "wrong"], ids=["no token", "an empty one", "a wrong one"])
def test_purging_is_refused_without_the_token(new: New, base: str, method: str, token: str | None) -> None:
    first = ask(new("/page"), base=base)
    shown = {} if token is None else {"X-Purge-Token": token}
    response = ask(new("/page"), method, base=base, headers=shown)
    assert response.status == 405
    assert ask(new("/page"), base=base).text == first.text


@needs_token
def test_a_page_is_purged_with_every_query(new: New) -> None:
    first, second = ask(new("/page")), ask(new("/page") + "?x=1")
    assert purge(new("/page")) == 200
    assert ask(new("/page")).text != first.text
    assert ask(new("/page") + "?x=1").text != second.text


@needs_token
def test_a_page_is_purged_with_one_query(new: New) -> None:
    first, second = ask(new("/page")), ask(new("/page") + "?x=1")
    assert purge(new("/page") + "?x=1") == 200
    assert ask(new("/page")).text == first.text
    assert ask(new("/page") + "?x=1").text != second.text


@needs_token
def test_pages_are_purged_by_a_pattern(new: New) -> None:
    first = ask(new("/page"))
    assert purge(f"{new('/page')[:-3]}.*", headers={"X-Purge-Method": "regex"}) == 200
    assert ask(new("/page")).text != first.text


@needs_token
@pytest.mark.parametrize("name", ["X-Cache-Tags", "Surrogate-Key", "xkey", "Cache-Tags"])
def test_pages_are_purged_by_a_tag(new: New, name: str) -> None:
    first = ask(new("/page"))
    assert purge("/", "BAN", {name: "other"}) == 200
    assert ask(new("/page")).text == first.text
    assert purge("/", "BAN", {name: "news"}) == 200
    assert ask(new("/page")).text != first.text


@needs_token
def test_a_purge_with_the_whole_address_works(new: New) -> None:
    first = ask(new("/page"))
    assert purge(f"http://site.example{new('/page')}") == 200
    assert ask(new("/page")).text != first.text


@needs_token
def test_a_malformed_pattern_is_refused() -> None:
    assert purge("/(", headers={"X-Purge-Method": "regex"}) == 400


@needs_token
def test_nothing_but_a_purge_is_let_to_the_listener_for_purging(new: New) -> None:
    first = ask(new("/page"))
    assert ask(new("/page"), X_Purge_Token=TOKEN).text == first.text
