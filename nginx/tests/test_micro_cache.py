"""The one-second cache of the default host, and the responses that it must never hold."""

import re
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from nginx.tests.nginx_server import NginxServer
from tests.support.origin import Request, response
from tests.support.wait import wait_until


def kept_for(seconds: int) -> Callable[[Request], bytes]:
    """Return a function that responds with a copy that nginx may keep for that many seconds more."""

    def respond(_: Request) -> bytes:
        return response(
            f"{time.time()}",
            x_accel_expires=f"@{int(time.time()) + seconds}",
            cache_control="no-store",  # for browsers, not for nginx
            cache_status="varnish; hit; ttl=9",
            server_timing='varnish;desc="hit"',
            etag='"tag"',
        )

    return respond


@pytest.fixture(autouse=True)
def varnish_allows_it(server: NginxServer, forget: None) -> None:
    """Varnish lets nginx keep every response for longer than a test takes, so each test has its own URL."""
    server.varnish.respond = kept_for(60)


def test_a_conditional_request_without_a_copy_is_varnishs_to_answer(server: NginxServer) -> None:
    server.varnish.respond = lambda _: response(status="304 Not Modified")
    fields = {
        "If-None-Match": '"x", "tag"',
        "If-Modified-Since": "Wed, 25 Nov 2026 10:00:00 GMT",
        "If-Match": '"y"',
        "If-Unmodified-Since": "Wed, 25 Nov 2026 11:00:00 GMT",
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    asked = server.exchange(f"GET /conditional HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode())
    assert asked.status == 304
    [received] = server.varnish.requests
    assert {name: received.headers[name.lower()] for name in fields} == fields
    server.varnish.respond = kept_for(60)
    assert server.request("/conditional").status == 200  # nginx has not kept the 304


def begin_a_second() -> None:
    """Wait until the next second begins: nginx counts in whole seconds."""
    time.sleep(1.02 - time.time() % 1)


def test_a_crowd_is_one_request(server: NginxServer) -> None:
    responses = [server.request("/stages/demo") for _ in range(50)]
    assert len({each.text for each in responses}) == len(server.varnish.requests) == 1
    assert [each.headers["cache-status"] for each in responses[:2]] == [
        "varnish; hit; ttl=9, nginx; fwd=uri-miss",
        "varnish; hit; ttl=9, nginx; hit",
    ]
    timings = [re.sub(r"\d+$", "0", each.headers["server-timing"]) for each in responses[:2]]
    assert timings == ['varnish;desc="hit", nginx;desc="miss";dur=0', 'nginx;desc="hit";dur=0']
    assert "x-accel-expires" not in responses[1].headers
    assert responses[0].headers["x-request-id"] != responses[1].headers["x-request-id"]


def test_a_response_is_stale_after_its_second(server: NginxServer) -> None:
    server.varnish.respond = kept_for(0)
    first = server.request("/second")
    begin_a_second()
    second = server.request("/second")
    assert second.headers["cache-status"].endswith("nginx; fwd=stale")
    assert second.text != first.text


def test_no_response_is_ever_older_than_a_second(server: NginxServer) -> None:
    server.varnish.respond = kept_for(0)
    oldest, until, asked = 0.0, time.time() + 2.3, 0
    while (now := time.time()) < until:
        made = float(server.request("/clock", port=server.load).text)
        oldest = max(oldest, now - made)
        asked += 1
        time.sleep(0.003)  # each request costs a port for a minute
    assert 0.5 < oldest <= 1.05  # a copy was kept, but for no longer than a second
    assert len(server.varnish.requests) <= 5 < asked


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/page", {"cookie": "who=me"}),
        ("/page", {"authorization": "Basic eDp5"}),
        ("/media/a.png", {"cookie": "who=me"}),
        ("/media/a.png", {"range": "bytes=0-9"}),
        ("/admin/", {}),
    ],
)
def test_credentials_a_range_and_the_workshop_bypass_the_cache(
    server: NginxServer, path: str, headers: dict[str, str]
) -> None:
    path = f"{path}?{'+'.join(headers)}"
    server.request(path)  # another client
    for _ in range(2):
        got = server.request(path, **headers)  # type: ignore[arg-type]
    assert len(server.varnish.requests) == 3
    assert got.headers["cache-status"].endswith("nginx; fwd=bypass")
    assert headers.items() <= server.varnish.requests[-1].headers.items()


def test_the_cookie_that_every_visitor_has_keeps_no_copy_away(server: NginxServer) -> None:
    for cookie in ("upstage_seen=1", "upstage_seen=1", "upstage_seen=1; who=me"):
        got = server.request("/visited", cookie=cookie)
    assert [request.headers["cookie"] for request in server.varnish.requests] == [
        "upstage_seen=1",
        "upstage_seen=1; who=me",
    ]
    assert got.headers["cache-status"].endswith("nginx; fwd=bypass")


def test_only_get_is_cached(server: NginxServer) -> None:
    server.request("/head")
    assert server.request("/head", method="HEAD").headers["cache-status"].endswith("nginx; fwd=bypass")
    assert server.request("/head", method="POST").headers["cache-status"].endswith("nginx; fwd=method")
    assert [request.method for request in server.varnish.requests] == ["GET", "HEAD", "POST"]


def test_nothing_is_kept_unless_varnish_allows_it(server: NginxServer) -> None:
    lasting = {"cache_control": "max-age=3600", "expires": "Thu, 31 Dec 2099 00:00:00 GMT"}
    server.varnish.respond = lambda _: response("x", **lasting)
    for _ in range(3):
        assert server.request("/silent").headers["cache-status"] == "nginx; fwd=uri-miss"
    assert len(server.varnish.requests) == 3


def test_a_response_that_sets_a_cookie_is_not_kept(server: NginxServer) -> None:
    server.varnish.respond = lambda _: response("x", x_accel_expires="60", set_cookie="a=b")
    for _ in range(3):
        server.request("/cookie")
    assert len(server.varnish.requests) == 3


def test_hosts_and_queries_are_kept_apart(server: NginxServer) -> None:
    asked = [("/key", "localhost"), ("/key?a", "localhost"), ("/key?b", "localhost"), ("/key", "127.0.0.1")]
    for path, host in asked + asked:
        server.request(path, host)
    assert len(server.varnish.requests) == len(asked)


def test_the_variants_of_a_response_are_kept_apart(server: NginxServer) -> None:
    server.varnish.respond = lambda request: response(
        request.headers.get("accept-encoding", ""), x_accel_expires="60", vary="Accept-Encoding"
    )
    for _ in range(2):
        assert server.request("/vary", accept_encoding="gzip").text == "gzip"
        assert server.request("/vary").text == ""


def test_conditional_requests_are_for_varnish(server: NginxServer) -> None:
    server.request("/same")
    for field in ("if_none_match", "if_match", "if_modified_since", "if_unmodified_since"):
        fields: dict[str, Any] = {field: '"tag"'}
        server.request("/same", **fields)
        assert server.varnish.requests[-1].headers[field.replace("_", "-")] == '"tag"'


@pytest.mark.parametrize("host", ["classic.localhost", "nginx.localhost"])
def test_the_other_sites_have_no_cache(server: NginxServer, host: str) -> None:
    for origin in (server.varnish_tcp, server.backend):
        origin.respond = server.varnish.respond
    for _ in range(3):
        assert server.request("/none", host).headers["cache-status"] == "varnish; hit; ttl=9"
    assert len(server.varnish_tcp.requests) + len(server.backend.requests) == 3


def test_a_slow_reader_does_not_hold_varnish() -> None:
    """nginx immediately takes what fits into its buffers, even if the client reads nothing at all."""
    with NginxServer() as server:
        # The kernel's own buffer would hide what nginx does.
        small = f"listen {server.address}:{server.public} sndbuf=4k;"
        server.edit("sites/unknown.conf", "include listeners/http.conf;", small)
        server.start()
        server.varnish.respond = lambda _: response("x" * 80_000)
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            slow.connect((server.address, server.public))
            slow.sendall(b"GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_until(lambda: "/big" in server.varnish.sent)
