"""Large media: Varnish names the file, nginx sends it from the disk."""

from typing import Any

import pytest

from nginx.tests.nginx_server import SITES, NginxServer
from tests.support.origin import Request, response

BODY = bytes(range(256)) * 800  # 200 kB
HEADERS = {
    "content_type": "application/x-shockwave-flash",
    "cache_control": "public, no-cache",
    "content_security_policy": "default-src 'none'",
    "x_content_type_options": "nosniff",
    "referrer_policy": "same-origin",
    "cache_status": "varnish; hit; ttl=9",
}


@pytest.fixture(autouse=True)
def varnish_names_the_file(server: NginxServer, forget: None) -> None:
    """Answer as the backend does: a name for a proxy that reads the disk, the body for any other."""

    def respond(request: Request) -> bytes:
        location = request.headers.get("x-accel-media")
        name = request.target.removeprefix("/media/").partition("?")[0]
        if location:
            return response(x_accel_redirect=f"{location}/{name}", **HEADERS)
        return response(b"from Varnish", **HEADERS)

    server.varnish.respond = respond
    (server.media / "large").mkdir(exist_ok=True)
    (server.media / "large" / "a.swf").write_bytes(BODY)


def test_the_file_comes_from_the_disk_with_the_backends_headers(server: NginxServer) -> None:
    got = server.request("/media/large/a.swf?v=1")
    assert (got.status, got.body) == (200, BODY)
    assert got.headers["content-length"] == str(len(BODY))
    assert got.headers["cache-status"] == "varnish; hit; ttl=9, nginx; fwd=uri-miss; detail=disk"
    assert "x-accel-redirect" not in got.headers
    for name, value in HEADERS.items():
        if name != "cache_status":
            assert got.headers[name.replace("_", "-")] == value


def test_nginx_answers_what_it_judges_by_the_standard(server: NginxServer) -> None:
    whole = server.request("/media/large/a.swf")
    for asked, span in (("bytes=0-300", BODY[:301]), ("bytes=0-", BODY), ("bytes=-9", BODY[-9:])):
        part = server.request("/media/large/a.swf", range=asked)
        assert (part.status, part.body) == (206, span)
    assert server.request("/media/large/a.swf", if_none_match=whole.headers["etag"]).status == 304
    date = whole.headers["last-modified"]
    assert server.request("/media/large/a.swf", if_modified_since=date).status == 304
    head = server.request("/media/large/a.swf", method="HEAD")
    assert (head.status, head.headers["content-length"]) == (200, str(len(BODY)))


@pytest.mark.parametrize(
    "fields",
    [
        *({"range": asked} for asked in ("bytes=256-300", "bytes=900000-", "bytes=9-5", "bytes=-0", "bytes")),
        {"if_match": '"x"'},
        {"if_unmodified_since": "yesterday"},
    ],
    ids=str,
)
def test_what_it_would_judge_otherwise_is_for_varnish(server: NginxServer, fields: dict[str, Any]) -> None:
    assert server.request("/media/large/a.swf", **fields).text == "from Varnish"
    (received,) = server.varnish.requests
    assert received.headers.items() >= {(name.replace("_", "-"), value) for name, value in fields.items()}


def test_without_the_file_varnish_sends_the_body(server: NginxServer) -> None:
    """The file was just deleted, or this machine has no such disk. Varnish gets the request's own path."""
    got = server.request("/media/large/gone%20away.swf?v=1")
    assert (got.status, got.text) == (200, "from Varnish")
    assert server.varnish.targets == ["/media/large/gone%20away.swf?v=1"] * 2
    assert "x-accel-media" not in server.varnish.requests[1].headers


@pytest.mark.parametrize("name", ["../tls/own.key", "%2e%2e/secret", "link.swf"])
def test_nothing_outside_the_media_is_sent(server: NginxServer, name: str) -> None:
    (server.folder / "secret").write_text("secret")
    link = server.media / "link.swf"
    link.unlink(missing_ok=True)
    link.symlink_to(server.folder / "secret")
    named = {"x_accel_redirect": f"/.nginx/media/{name}"}
    server.varnish.respond = lambda request: response(
        "whole", **(named if "x-accel-media" in request.headers else {})
    )
    assert "secret" not in server.request("/media/x.swf").text


def test_the_internal_location_is_not_for_clients(server: NginxServer) -> None:
    """A client's request for it goes to Varnish, where no medium has this name."""
    assert server.request("/.nginx/media/large/a.swf").text == "from Varnish"
    assert server.varnish.targets == ["/.nginx/media/large/a.swf"]


@pytest.mark.parametrize("host", SITES)
def test_no_client_can_claim_to_have_the_disk(server: NginxServer, host: str) -> None:
    server.request("/page", host, x_accel_media="/x")
    claimed = server.requests[0].headers.get("x-accel-media")
    assert claimed == ("/.nginx/media" if host == "localhost" else None)
