"""Limits on nginx's resources for all clients together."""

import http.client
import os
import select
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nginx.tests.nginx_server import NginxServer
from tests.support.origin import response
from tests.support.wait import wait_until


@pytest.mark.slow  # thousands of requests
def test_the_micro_cache_holds_a_bounded_number_of_copies(fresh: NginxServer) -> None:
    """With more URLs than keys, no request is rejected or cut off, and old copies are deleted."""
    fresh.start()
    fresh.varnish.respond = lambda _: response("y" * 1000, x_accel_expires=f"@{int(time.time())}")

    def ask(client: int) -> Counter[tuple[int, int]]:
        connection = http.client.HTTPConnection(fresh.address, fresh.load, timeout=60)
        received: Counter[tuple[int, int]] = Counter()
        for number in range(1000):
            connection.request("GET", f"/media/a.svg?{client}-{number}", headers={"Host": "localhost"})
            got = connection.getresponse()
            received[got.status, len(got.read())] += 1
        connection.close()
        return received

    with ThreadPoolExecutor(5) as pool:
        total = sum(pool.map(ask, range(5)), Counter[tuple[int, int]]())
    assert total == Counter({(200, 1000): 5000})
    copies = sum(len(files) for _, _, files in os.walk(fresh.folder / "micro_cache"))
    # There are more than may be in use at a time (`in_progress`), and about as many as compose.yaml assumes.
    assert 2400 < copies <= 3100
    # Collisions of two workers (nginx/sites/default.conf.template), which must stay rare.
    assert len(fresh.log_lines("could not allocate")) < 50


def test_a_worker_keeps_few_copies_open(fresh: NginxServer) -> None:
    fresh.start()
    fresh.varnish.respond = lambda _: response("y", x_accel_expires=f"@{int(time.time()) + 60}")
    for number in range(2 * 4 * 60):
        assert fresh.request(f"/media/a.svg?{number % 240}").status == 200
    kept = [
        sum("/micro_cache/" in os.path.realpath(fd) for fd in Path(f"/proc/{worker}/fd").iterdir())
        for worker in fresh.workers()
    ]
    assert 0 < max(kept) <= 60


def test_requests_in_progress_are_limited(fresh: NginxServer) -> None:
    """The limit holds for all addresses together, on the load port, too."""
    fresh.edit("limits/requests.conf.template", "in_progress 2400", "in_progress 20")
    fresh.start()
    go = threading.Event()
    fresh.varnish.respond = lambda _: response("x") if go.wait(60) else b""
    with ThreadPoolExecutor(30) as pool:
        asked = [
            pool.submit(fresh.request, "/", source=f"127.0.3.{number + 1}", port=port)
            for number in range(15)
            for port in (fresh.public, fresh.load)
        ]
        wait_until(lambda: sum(each.done() for each in asked) == 10)
        go.set()
        assert Counter(each.result().status for each in asked) == Counter({200: 20, 429: 10})


def test_uploads_are_limited_and_wait_on_the_disk(fresh: NginxServer) -> None:
    fresh.edit("limits/requests.conf.template", "uploads 200", "uploads 3")
    fresh.start()
    head = b"POST /admin/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    uploads = [fresh.connect(source=f"127.0.4.{number + 1}") for number in range(5)]
    for connection in uploads:
        connection.sendall(head + b"x" * 100_000)
    wait_until(lambda: len(select.select(uploads, [], [], 0)[0]) == 2)
    time.sleep(0.2)
    rejected = select.select(uploads, [], [], 0)[0]
    assert len(rejected) == 2
    assert all(b" 429 " in connection.recv(100) for connection in rejected)
    open_files = [fd for worker in fresh.workers() for fd in Path(f"/proc/{worker}/fd").iterdir()]
    folder = str(fresh.certificates / "client_temp")
    assert sum(folder in os.path.realpath(fd) for fd in open_files) == 3
    assert fresh.request("/admin/x", method="POST", body=b"a form").status == 200
    assert [request.body for request in fresh.requests] == [b"a form"]  # no upload has reached Varnish
    for connection in uploads:
        connection.close()


def test_one_client_leaves_places_for_the_uploads_of_others(fresh: NginxServer) -> None:
    fresh.edit("limits/requests.conf.template", "uploads_of_client 20", "uploads_of_client 2")
    fresh.start()
    head = b"POST /nope HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
    held = [fresh.connect(source="127.0.4.10") for _ in range(4)]
    for connection in held:
        connection.sendall(head + b"x")
    assert wait_until(lambda: len(select.select(held, [], [], 0)[0]) == 2)
    for port, source in ((fresh.public, "127.0.4.11"), (fresh.load, "127.0.4.10")):
        got = fresh.request("/admin/x", method="POST", port=port, source=source, body=b"x" * 200_000)
        assert got.status == 200
    for connection in held:
        connection.close()


def test_a_websockets_request_has_no_body(fresh: NginxServer) -> None:
    """nginx would read the body, however slow, before the backend could end the connection."""
    fresh.start()
    for length in (b"Content-Length: 1000000", b"Transfer-Encoding: chunked"):
        head = b"POST /ws HTTP/1.1\r\nHost: localhost\r\n" + length + b"\r\n\r\n40\r\n" + b"x" * 60
        assert fresh.exchange(head).status == 413


def test_each_backend_has_a_total_of_websockets(fresh: NginxServer) -> None:
    fresh.settings["BACKEND_CONNECTIONS"] = "2"
    fresh.settings["THEATRES"] = "second"
    fresh.start()
    go = threading.Event()
    fresh.backend.respond = lambda _: response("x") if go.wait(60) else b""
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(fresh.request, "/ws", source=f"127.0.4.{number + 1}") for number in range(4)]
        assert wait_until(lambda: sum(each.done() for each in asked) == 2)
        assert fresh.request("/ws", "second.localhost").status == 503  # it is down, but has places
        go.set()
        assert Counter(each.result().status for each in asked) == Counter({200: 2, 429: 2})
