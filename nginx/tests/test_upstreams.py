"""Services that fail, hang, come back or are replaced by another process."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from nginx.tests.nginx_server import NginxServer
from tests.support.origin import Request, response
from tests.support.wait import wait_until


def test_a_recreated_socket_is_found_at_once(server: NginxServer) -> None:
    for host, origin in [("localhost", server.varnish), ("nginx.localhost", server.backend)]:
        assert server.request("/before", host).status == 200
        origin.close()
        assert server.request("/gone", host).status == 503
        origin.listen()
        assert server.request("/back", host).text == origin.name


def test_a_failed_post_is_not_repeated(server: NginxServer) -> None:
    """The backend has received the request and died, perhaps after carrying it out."""

    def die(_: Request) -> bytes:
        raise OSError

    server.backend.answer = die
    assert server.request("/post", "nginx.localhost", "POST", body=b"x").status == 503
    assert len(server.backend.requests) == 1


def test_200_requests_at_once_are_all_answered(server: NginxServer) -> None:
    with ThreadPoolExecutor(200) as pool:
        statuses = list(pool.map(lambda _: server.request("/crowd", "nginx.localhost").status, range(200)))
    assert statuses == [200] * 200


def test_a_closed_connection_ends_the_request_to_the_backend(server: NginxServer) -> None:
    """nginx drops a delayed webcam request when its viewer leaves."""
    server.backend.delay = 5
    with server.connect() as connection:
        connection.sendall(b"GET /media/video/x.jpg HTTP/1.1\r\nHost: static.localhost\r\n\r\n")
        wait_until(lambda: server.backend.requests)
    wait_until(lambda: server.log_lines("/media/video/x.jpg.* 499 "))


def test_a_stuck_varnish_is_noticed_within_two_seconds(server: NginxServer) -> None:
    """Varnish accepts connections and never answers: nginx sends a stale copy, or its 503 page."""
    server.varnish.answer = lambda _: response(
        "as it was",
        x_accel_expires=f"@{int(time.time())}",
        cache_status="varnish; hit; ttl=9",
        age="7",
        etag='"tag"',
    )
    known = server.request("/known")
    assert (known.text, known.headers["age"]) == ("as it was", "7")
    server.varnish.delay = 30
    time.sleep(1.1)  # the cached copy's second is over
    started = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        old, new = pool.map(server.request, ("/known", "/unknown"))
    assert time.monotonic() - started > 1.8
    assert (old.status, old.text) == (200, "as it was")
    assert old.headers["cache-status"] == "nginx; hit; detail=stale"  # what Varnish said is no longer true
    assert "age" not in old.headers
    # nginx answers a conditional request only now, and only what is the same for all.
    for fields, status in (
        ({"if_none_match": '"tag"'}, 304),
        ({"if_match": '"x"'}, 412),
        ({"cookie": "a=b"}, 503),
    ):
        asked: dict[str, Any] = dict(fields)
        assert server.request("/known", **asked).status == status
    assert (new.status, new.headers["retry-after"]) == (503, "5")
    assert new.headers["cache-control"] == "no-store"


def test_uploads_logins_and_speech_may_take_longer(server: NginxServer) -> None:
    server.varnish.delay = 2.6
    with ThreadPoolExecutor(4) as pool:
        asked = [
            pool.submit(server.request, "/admin/login", method="POST", body=b"x"),
            pool.submit(server.request, "/admin"),
            pool.submit(server.request, "/signup", method="POST", body=b"x"),
            pool.submit(server.request, "/speech/utter-1.mp3"),
        ]
        assert [answer.result().text for answer in asked] == ["varnish"] * 4
