"""Headers that browsers do not send: Varnish learns of them, and they have copies of their own."""

from collections.abc import Iterator

import pytest

from nginx.tests.app_site import HOST, Site
from tests.support.origin import Request, response
from tests.support.wait import wait_until


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as server:
        server.use_one_worker()
        server.start()
        yield server


CHROMIUM = {
    "accept": "text/html,*/*;q=0.8",
    "accept_encoding": "gzip, deflate, br, zstd",
    "accept_language": "de-CH,de;q=0.9",
    "cache_control": "max-age=0",
    "cf_ray": "9a1-ZRH",
    "purpose": "prefetch",
    "referer": "http://app.localhost/",
    "sec_ch_ua": '"Chromium";v="142"',
    "sec_fetch_site": "none",
    "sec_new_field": "?1",
    "upgrade_insecure_requests": "1",
    "user_agent": "Mozilla/5.0",
    "via": "2 proxy",
}


@pytest.mark.parametrize(
    ("fields", "unusual"),
    [
        ({}, None),
        ({"x_accel_mapping": "/=/search/"}, "x-accel-mapping"),
        ({"x_sendfile_type": "X-Accel-Redirect"}, "x-sendfile-type"),
        ({"x_http_method_override": "DELETE"}, "x-http-method-override"),
        ({"x_forwarded_prefix": "/evil", "x_unusual": "evil", "x_variant": "evil"}, None),
        ({"x_" + "a" * 99: "1"}, "x-" + "a" * 62),
        ({"constructor": "of each object of JavaScript"}, "constructor"),
    ],
)
def test_varnish_learns_which_header_browsers_do_not_send(
    site: Site, fields: dict[str, str], unusual: str | None
) -> None:
    site.request("/", HOST, "GET", None, b"", "", **CHROMIUM, **fields)
    heard = site.varnish.requests[0].headers
    assert (heard.get("x-unusual"), heard.get("x-variant")) == (unusual, None)
    assert "evil" not in str(heard)
    assert not {"via", "cf-ray"} & set(heard)


def test_what_scripts_ask_for_has_copies_of_its_own() -> None:
    def kept(request: Request) -> bytes:
        body = f"{request.headers.get('hx-request')} {request.headers.get('cf-ray')}"
        return response(body, x_accel_expires="60", cache_status="varnish; hit")

    with Site(APP_HEADERS="X-Theme CF-Ray User-Agent") as server:
        server.start()
        server.varnish.respond = kept
        asked = [{}, {"hx_request": "true"}, {"hx_request": "1"}, {"x_theme": "1"}, {"cf_ray": "9"}]
        asked.append({"user_agent": "a browser"})
        for fields in asked * 2:
            text = server.request("/", HOST, "GET", None, b"", "", **fields).text
            assert text == f"{fields.get('hx_request')} {fields.get('cf_ray')}"
        variants = [request.headers.get("x-variant", "") for request in server.varnish.requests]
        assert len(variants) == len(set(variants)) == len(asked)
        assert [len(variant) for variant in variants] == [0, 64, 64, 64, 64, 64]
        assert {request.headers.get("x-unusual") for request in server.varnish.requests} == {None}


def test_a_reload_brings_a_change_of_the_list_of_headers() -> None:
    with Site() as server:
        server.start()

        def unusual() -> str | None:
            server.request("/", HOST, "GET", None, b"", "", x_theme="1")
            return server.varnish.requests[-1].headers.get("x-unusual")

        assert unusual() == "x-theme"
        server.edit("../starter/nginx/headers.txt", "sent     Accept ", "sent     X-Theme Accept ")
        assert server.run_script("reload.sh").stdout == ""
        wait_until(lambda: unusual() is None, within=5)
