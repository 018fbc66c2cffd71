"""Services that fail, hang, come back or are replaced by another process."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from nginx.tests.nginx_server import NginxServer
from tests.support.origin import Request, response
from tests.support.wait import wait_until


def test_a_recreated_socket_is_found_at_once(server: NginxServer) -> None:
    for host, origin, gone in (
        ("localhost", server.varnish, (200, "backend")),  # UpStage itself answers
        ("nginx.localhost", server.backend, (503, None)),
    ):
        assert server.request("/before", host).status == 200
        origin.close()
        got = server.request("/gone", host)
        assert (got.status, got.text if gone[1] else None) == gone
        origin.listen()
        assert server.request("/back", host).text == origin.name


def test_a_failed_post_is_not_repeated(server: NginxServer) -> None:
    """The backend has received the request and died, perhaps after carrying it out."""

    def die(_: Request) -> bytes:
        raise OSError

    server.backend.respond = die
    assert server.request("/post", "nginx.localhost", "POST", body=b"x").status == 503
    assert len(server.backend.requests) == 1


def test_200_requests_at_once_are_all_answered(server: NginxServer) -> None:
    with ThreadPoolExecutor(200) as pool:
        statuses = list(pool.map(lambda _: server.request("/crowd", "nginx.localhost").status, range(200)))
    assert statuses == [200] * 200


@pytest.mark.parametrize(
    ("host", "path", "waited_for"),
    [("static.localhost", "/media/video/x.jpg", "backend"), ("localhost", "/admin/", "varnish")],
)
def test_a_closed_connection_ends_the_request_and_is_logged(
    server: NginxServer, host: str, path: str, waited_for: str
) -> None:
    """nginx drops a delayed webcam request when its viewer leaves, and says which server was slow."""
    origin = getattr(server, waited_for)
    origin.delay = 5
    with server.connect() as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        wait_until(lambda: origin.requests)
    wait_until(lambda: server.log_lines(f"{path}.* 499 .*answered={waited_for}:closed"))


def test_a_stuck_varnish_is_noticed_within_two_seconds_and_upstage_asked(server: NginxServer) -> None:
    """Varnish accepts connections and never answers. nginx's copy is not used: it may have been purged."""
    server.varnish.respond = lambda _: response("as it was", x_accel_expires=f"@{int(time.time())}")
    assert server.request("/known").text == "as it was"
    server.varnish.delay = 30
    time.sleep(1.1)  # the copy's second is over
    started = time.monotonic()
    asked: list[dict[str, Any]] = [{}, {"cookie": "a=b"}, {"range": "bytes=0-1"}, {"if_none_match": '"x"'}]
    with ThreadPoolExecutor(6) as pool:
        responses = [pool.submit(server.request, "/known", **fields) for fields in asked]
        post = pool.submit(server.request, "/known", "localhost", "POST", body=b"x")
        assert [each.result().text for each in responses] == ["backend"] * 4
    assert time.monotonic() - started > 1.8
    assert post.result().status == 503  # Varnish may have passed it on
    assert {request.method for request in server.backend.requests} == {"GET"}
    anonymous = [request for request in server.backend.requests if request.headers.get("x-anonymous")]
    assert len(anonymous) == 3  # all but the one with a cookie
    server.backend.respond = lambda _: response("traceback", status="500 Internal Server Error")
    failed = server.request("/known")
    assert (failed.status, failed.headers["retry-after"]) == (503, "5")
    assert failed.headers["cache-control"] == "no-store"
    assert "traceback" not in failed.text


def test_uploads_logins_and_speech_may_take_longer(server: NginxServer) -> None:
    server.varnish.delay = 2.6
    with ThreadPoolExecutor(4) as pool:
        asked = [
            pool.submit(server.request, "/admin/login", method="POST", body=b"x"),
            pool.submit(server.request, "/admin"),
            pool.submit(server.request, "/signup", method="POST", body=b"x"),
            pool.submit(server.request, "/speech/utter-1.mp3"),
        ]
        assert [each.result().text for each in asked] == ["varnish"] * 4
