"""What is kept: pages, static files, and what is cut out of a copy."""

import concurrent.futures

import pytest

from asking import MEGABYTE, App, New, ask

pytestmark = pytest.mark.slow


# --- What is kept


def test_a_page_is_kept_as_its_headers_say(new: New) -> None:
    first, second = ask(new("/page")), ask(new("/page"))
    assert (first.text, second.hit) == (second.text, True)
    assert "; stored; ttl=" in first.cache


@pytest.mark.parametrize("cookie", ["_ga=GA1.2", "_fbp=x; _gid=1", "_pk_id.1=a; _hjSession_1=b; has_js=1"])
def test_analytics_cookies_do_not_count(new: New, cookie: str) -> None:
    ask(new("/page"))
    assert ask(new("/page"), Cookie=cookie).hit


@pytest.mark.parametrize("query", ["utm_source=x&utm_medium=y", "fbclid=z", "gclid=1&msclkid=2"])
def test_campaign_arguments_do_not_count(new: New, query: str) -> None:
    ask(new("/page"))
    assert ask(f"{new('/page')}?{query}").hit


def test_other_arguments_count(new: New) -> None:
    assert ask(new("/page")).text != ask(new("/page") + "?b=1&utm_source=x&a=2").text


@pytest.mark.parametrize("kind", ["dynamic", "setcookie", "private"])
def test_a_page_that_must_not_be_kept_is_not(new: New, kind: str) -> None:
    responses = [ask(new(f"/{kind}")) for _ in range(3)]
    assert len({response.text for response in responses}) == 3
    assert not any(response.hit for response in responses)


def test_a_signed_in_client_is_answered_by_the_application(new: New) -> None:
    ask(new("/page"))
    response = ask(new("/page"), user="ann")
    assert "for ann" in response.text
    assert response.cache == "varnish; fwd=bypass; detail=cookie"


def test_a_session_among_analytics_cookies_counts(new: New) -> None:
    ask(new("/page"))
    assert "for bob" in ask(new("/page"), Cookie="_ga=1; user=bob; _gid=2").text


def test_a_visitor_gets_no_page_of_a_signed_in_client(new: New) -> None:
    ask(new("/page"), user="ann")
    assert "for visitor" in ask(new("/page")).text


def test_a_password_bypasses(new: New) -> None:
    ask(new("/page"))
    assert "fwd=bypass" in ask(new("/page"), Authorization="Basic x").cache


def test_vary_on_the_cookie_is_obeyed(new: New) -> None:
    ask(new("/vary"))
    assert "for ann" in ask(new("/vary"), user="ann").text
    assert "for visitor" in ask(new("/vary")).text


def test_two_users_and_two_visitors_never_mix(new: New) -> None:
    def walk(user: str) -> int:
        paths = [new("/page") + "?age=1", new("/dynamic"), new("/setcookie"), new("/private")]
        return sum(f"for {user or 'visitor'}" not in ask(path, user=user).text for path in paths * 60)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(walk, ["ann", "bob", "", ""])) == [0, 0, 0, 0]


# --- Static files


def test_a_static_file_without_a_lifetime_is_kept(new: New) -> None:
    ask(new("/static") + ".css")
    assert ask(new("/static") + ".css").hit


def test_a_static_copy_also_serves_signed_in_clients(new: New) -> None:
    ask(new("/static") + ".css")
    assert ask(new("/static") + ".css", user="ann").hit


def test_a_signed_in_clients_static_file_is_not_kept(new: New) -> None:
    mine, visitors = ask(new("/static") + ".png", user="ann"), ask(new("/static") + ".png")
    assert not mine.hit
    assert mine.text != visitors.text


@pytest.mark.parametrize("control", ["public,max-age=60", "max-age=60,immutable"])
def test_a_public_static_file_is_kept_although_every_client_has_a_cookie(new: New, control: str) -> None:
    path = f"{new('/static')}.js?control={control}"
    ask(path, user="ann")
    assert [ask(path, user=f"user{number}").hit for number in range(12)] == [True] * 12


def test_a_private_picture_is_shown_to_its_owner_alone(new: New) -> None:
    path = new("/secret") + ".png"
    ask(path)
    assert "for ann" in ask(path, user="ann").text
    assert ask(path).status == 403
    assert "for bob" in ask(path, user="bob").text


def test_a_wikis_page_that_is_named_like_a_picture_stays_personal(new: New) -> None:
    path = new("/wiki") + ".png"
    ask(path)
    ask(path)
    assert "for ann" in ask(path, user="ann").text


def test_text_is_compressed_once(new: New) -> None:
    ask(new("/static") + ".css")
    assert ask(new("/static") + ".css", Accept_Encoding="gzip").headers["Content-Encoding"] == "gzip"


# --- Ranges and conditional requests


@pytest.fixture(scope="module")
def large(running: App) -> bytes:
    return ask("/large").body


def test_a_large_file_arrives_whole(large: bytes) -> None:
    assert len(large) == 20 * MEGABYTE


@pytest.mark.parametrize("user", ["", "ann"], ids=["visitor", "signed-in"])
def test_a_range_of_what_is_not_kept_is_the_applications(large: bytes, user: str) -> None:
    response = ask("/large", user=user, Range="bytes=5000000-5000099")
    assert (response.status, response.body) == (206, large[5000000:5000100])


@pytest.mark.parametrize("user", ["", "ann"], ids=["visitor", "signed-in"])
def test_a_304_of_what_is_not_kept_is_the_applications(large: bytes, user: str) -> None:
    assert ask("/large", user=user, If_None_Match='"large"').status == 304


def test_a_large_file_passes_although_it_has_a_lifetime(new: New) -> None:
    path = new("/large") + "?age=60"
    ask(path)
    assert not ask(path).hit


def test_a_range_is_cut_out_of_a_copy(new: New) -> None:
    ask(new("/page"))
    response = ask(new("/page"), Range="bytes=0-3")
    assert (response.status, response.text, response.hit) == (206, "page", True)


def test_several_ranges_mean_the_whole_page(new: New) -> None:
    ask(new("/page"))
    assert ask(new("/page"), Range="bytes=0-1,3-4").status == 200


def test_a_304_comes_from_a_copy(new: New) -> None:
    ask(new("/static") + ".png")
    assert ask(new("/static") + ".png", If_None_Match='"1"').status == 304
