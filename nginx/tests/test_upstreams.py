"""The sockets behind nginx come and go."""

import threading

from front import Front, eventually
from tiers import LineMock, Mock


def test_a_socket_that_was_made_anew_is_found_at_once(front: Front) -> None:
    for host, mock in [("localhost", front.varnish), ("nginx.localhost", front.backend)]:
        assert front.ask("/before", host).status == 200
        mock.close()
        assert front.ask("/gone", host).status == 503
        mock.listen()
        assert front.ask("/back", host).text == mock.name


def test_the_mirror_takes_over_and_gives_back(front: Front) -> None:
    assert front.ask("/first", "nginx.localhost").text == "backend"
    mirror = Mock("mirror", front.sockets / "mirror.sock")
    try:
        assert front.ask("/both", "nginx.localhost").text == "backend"
        front.backend.close()
        answers = [front.ask(f"/{number}", "nginx.localhost") for number in range(20)]
        assert {(answer.status, answer.text) for answer in answers} == {(200, "mirror")}
        assert front.ask("/post", "nginx.localhost", "POST", body=b"x").text == "mirror"
        front.backend.listen()
        assert front.ask("/back", "nginx.localhost").text == "backend"
    finally:
        mirror.close()


def test_the_mirrors_stage_takes_over_and_gives_back(front: Front) -> None:
    def door() -> bytes:
        with front.connect(front.stage) as connection:
            return connection.recv(100)

    assert door().startswith(b"PROXY TCP4 127.0.0.1 ")
    mirror = LineMock("mirror", front.sockets / "mirror-stage.sock")
    try:
        front.backend_stage.close()
        assert door().startswith(b"PROXY ")
        assert mirror.connections == 1
        front.backend_stage.listen()
        assert door().startswith(b"PROXY ")
        assert mirror.connections == 1
    finally:
        mirror.close()
        front.backend_stage.close()
        front.backend_stage.listen()


def test_a_failed_post_is_not_repeated(front: Front) -> None:
    """The backend took it and died: nobody knows what it has done with it."""
    mirror = Mock("mirror", front.sockets / "mirror.sock")

    def die(_: object) -> bytes:
        raise OSError

    front.backend.answer = die
    try:
        assert front.ask("/post", "nginx.localhost", "POST", body=b"x").status == 503
        assert mirror.seen == []
        assert front.ask("/get", "nginx.localhost").text == "mirror"
    finally:
        mirror.close()
        (front.sockets / "mirror.sock").unlink()


def test_many_at_once(front: Front) -> None:
    """200 requests at once share the kept connections, and nobody is refused."""
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(front.ask("/crowd", "nginx.localhost").status))
        for _ in range(200)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 200


def test_a_client_that_leaves_leaves_the_backend(front: Front) -> None:
    """A held webcam frame is given up with its reader."""
    gone = threading.Event()

    def hold(_: object) -> bytes:
        gone.wait(10)
        return b""

    front.backend.answer = hold
    with front.connect() as connection:
        connection.sendall(b"GET /media/video/x.jpg HTTP/1.1\r\nHost: static.localhost\r\n\r\n")
        eventually(lambda: front.backend.seen)
    eventually(lambda: front.lines("/media/video/x.jpg.* 499 "))
    gone.set()
