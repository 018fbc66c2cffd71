"""Services that come, go and come back; the mirror."""

import threading
from collections.abc import Iterator

import pytest

from nginx_server import NginxServer
from support.origin import EchoServer, Origin
from support.wait import wait_until


@pytest.fixture(scope="module")
def server() -> Iterator[NginxServer]:
    """An nginx that knows a mirror, which does not run yet."""
    with NginxServer() as server:
        server.settings |= {
            "MIRROR_ADDRESS": f"unix:{server.sockets}/mirror.sock",
            "MIRROR_STAGE_ADDRESS": f"unix:{server.sockets}/mirror-stage.sock",
        }
        server.start()
        yield server


def test_a_socket_that_was_made_anew_is_found_at_once(server: NginxServer) -> None:
    for host, mock in [("localhost", server.varnish), ("nginx.localhost", server.backend)]:
        assert server.request("/before", host).status == 200
        mock.close()
        assert server.request("/gone", host).status == 503
        mock.listen()
        assert server.request("/back", host).text == mock.name


def test_the_mirror_takes_over_and_gives_back(server: NginxServer) -> None:
    assert server.request("/first", "nginx.localhost").text == "backend"
    mirror = Origin("mirror", server.sockets / "mirror.sock")
    try:
        assert server.request("/both", "nginx.localhost").text == "backend"
        server.backend.close()
        answers = [server.request(f"/{number}", "nginx.localhost") for number in range(20)]
        assert {(answer.status, answer.text) for answer in answers} == {(200, "mirror")}
        assert server.request("/post", "nginx.localhost", "POST", body=b"x").text == "mirror"
        server.backend.listen()
        assert server.request("/back", "nginx.localhost").text == "backend"
    finally:
        mirror.close()


def test_the_mirrors_stage_takes_over_and_gives_back(server: NginxServer) -> None:
    def door() -> bytes:
        with server.connect(server.stage) as connection:
            return connection.recv(100)

    assert door().startswith(b"PROXY TCP4 127.0.0.1 ")
    mirror = EchoServer("mirror", server.sockets / "mirror-stage.sock")
    try:
        server.backend_stage.close()
        assert door().startswith(b"PROXY ")
        assert mirror.connections == 1
        server.backend_stage.listen()
        assert door().startswith(b"PROXY ")
        assert mirror.connections == 1
    finally:
        mirror.close()
        server.backend_stage.close()
        server.backend_stage.listen()


def test_a_failed_post_is_not_repeated(server: NginxServer) -> None:
    """The backend took it and died: nobody knows what it has done with it."""
    mirror = Origin("mirror", server.sockets / "mirror.sock")

    def die(_: object) -> bytes:
        raise OSError

    server.backend.answer = die
    try:
        assert server.request("/post", "nginx.localhost", "POST", body=b"x").status == 503
        assert mirror.requests == []
        assert server.request("/get", "nginx.localhost").text == "mirror"
    finally:
        mirror.close()
        (server.sockets / "mirror.sock").unlink()


def test_many_at_once(server: NginxServer) -> None:
    """200 requests at once share the kept connections, and nobody is refused."""
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(server.request("/crowd", "nginx.localhost").status))
        for _ in range(200)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 200


def test_a_client_that_leaves_leaves_the_backend(server: NginxServer) -> None:
    """A held webcam frame is given up with its reader."""
    gone = threading.Event()

    def hold(_: object) -> bytes:
        gone.wait(10)
        return b""

    server.backend.answer = hold
    with server.connect() as connection:
        connection.sendall(b"GET /media/video/x.jpg HTTP/1.1\r\nHost: static.localhost\r\n\r\n")
        wait_until(lambda: server.backend.requests)
    wait_until(lambda: server.log_lines("/media/video/x.jpg.* 499 "))
    gone.set()
