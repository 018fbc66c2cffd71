"""What nginx may use up, whatever all its clients do; and what it does about a tier that is stuck."""

import http.client
import os
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nginx_server import NginxServer
from support.origin import Request, response
from support.wait import wait_until


def hit(body: str = "x") -> bytes:
    """An answer of Varnish that may be kept."""
    return response(body, x_accel_expires=f"@{int(time.time())}", cache_status="varnish; hit; ttl=9")


def test_the_micro_cache_holds_a_bounded_number_of_copies(fresh: NginxServer) -> None:
    """More different URLs than there are keys: none is refused or cut, and old copies make room."""
    fresh.start()
    fresh.varnish.answer = lambda _: hit("y" * 1000)

    def ask(client: int) -> Counter[tuple[int, int]]:
        connection = http.client.HTTPConnection(fresh.address, fresh.load, timeout=10)
        seen: Counter[tuple[int, int]] = Counter()
        for number in range(1000):
            connection.request("GET", f"/media/a.svg?{client}-{number}", headers={"Host": "localhost"})
            answer = connection.getresponse()
            seen[answer.status, len(answer.read())] += 1
        connection.close()
        return seen

    with ThreadPoolExecutor(5) as pool:
        total = sum(pool.map(ask, range(5)), Counter[tuple[int, int]]())
    assert total == Counter({(200, 1000): 5000})
    copies = sum(len(files) for _, _, files in os.walk(fresh.folder / "micro_cache"))
    # More than may be in use at a time (limits.conf), and about as many as compose.yaml counts with.
    assert 2400 < copies <= 3100
    # Workers that get in each other's way (sites/default.conf), which must stay rare.
    assert len(fresh.log_lines("could not allocate")) < 50


def test_requests_in_progress_of_all_clients_together(fresh: NginxServer) -> None:
    fresh.edit("limits/requests.conf.template", "in_progress 2400", "in_progress 20")
    fresh.start()
    go = threading.Event()
    fresh.varnish.answer = lambda _: response("x") if go.wait(10) else b""
    with ThreadPoolExecutor(30) as pool:
        # Of many addresses, and on the port that knows no clients.
        asked = [
            pool.submit(fresh.request, "/", source=f"127.0.3.{number + 1}", port=port)
            for number in range(15)
            for port in (fresh.public, fresh.load)
        ]
        wait_until(lambda: sum(answer.done() for answer in asked) == 10)
        go.set()
        assert Counter(answer.result().status for answer in asked) == Counter({200: 20, 429: 10})


def test_uploads_of_all_clients_together_wait_on_the_disk(fresh: NginxServer) -> None:
    fresh.edit("limits/requests.conf.template", "uploads 40", "uploads 3")
    fresh.start()
    uploads = []
    for number in range(5):
        connection = fresh.connect(source=f"127.0.4.{number + 1}")
        connection.sendall(
            b"POST /admin/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 100_000
        )
        uploads.append(connection)
    refused = [connection for connection in uploads if _readable(connection)]
    assert len(refused) == 2
    assert all(b" 429 " in connection.recv(100) for connection in refused)
    opened = [os.readlink(fd) for worker in workers(fresh) for fd in Path(f"/proc/{worker}/fd").iterdir()]
    assert sum(str(fresh.certificates / "client_temp") in file for file in opened) == 3
    assert fresh.request("/admin/x", method="POST", body=b"a form").status == 200
    assert not fresh.varnish.requests[:-1]  # none of the uploads has got any further
    for connection in uploads:
        connection.close()


def _readable(connection: socket.socket) -> bool:
    connection.settimeout(0.5)
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except TimeoutError:
        return False


def test_a_refusal_is_no_error(fresh: NginxServer) -> None:
    """A flood would fill the log with them; the access log has a line for each."""
    fresh.settings |= {"CLIENT_REQUESTS": "1"}
    fresh.start()
    assert 429 in {fresh.request("/").status for _ in range(30)}
    wait_until(lambda: fresh.log_lines('" localhost 429 '))
    assert not fresh.log_lines("limiting (requests|connections)")


def stuck(fresh: NginxServer) -> None:
    """Start with a Varnish that accepts connections and never answers; one page has been asked for before."""
    fresh.start()
    fresh.varnish.answer = lambda _: hit("as it was")
    assert fresh.request("/known").text == "as it was"
    forever = threading.Event()

    def never(_: Request) -> bytes:
        forever.wait(20)
        return b""

    fresh.varnish.answer = never
    time.sleep(1.1)  # the second is over


def test_a_stuck_varnish_is_noticed_within_two_seconds(fresh: NginxServer) -> None:
    stuck(fresh)
    started = time.monotonic()
    old = fresh.request("/known")
    assert (old.status, old.text) == (200, "as it was")
    assert old.headers["cache-status"] == "varnish; hit; ttl=9, nginx; hit; detail=stale"
    new = fresh.request("/unknown")
    assert (new.status, new.headers["retry-after"]) == (503, "5")
    assert new.headers["cache-control"] == "no-store"
    assert 3.5 < time.monotonic() - started < 8  # two seconds for each


def test_what_takes_longer_is_waited_for(fresh: NginxServer) -> None:
    fresh.start()

    def late(_: Request) -> bytes:
        time.sleep(3)
        return response("late")

    fresh.varnish.answer = late
    with ThreadPoolExecutor(4) as pool:
        asked = [
            pool.submit(fresh.request, "/admin/login", method="POST", body=b"x"),
            pool.submit(fresh.request, "/admin"),
            pool.submit(fresh.request, "/signup", method="POST", body=b"x"),
            pool.submit(fresh.request, "/speech/utter-1.mp3"),
        ]
        assert [answer.result().text for answer in asked] == ["late"] * 4


def test_webcam_viewers_take_nothing_of_varnish(fresh: NginxServer) -> None:
    fresh.start()
    for host in ("localhost", "classic.localhost"):
        assert fresh.request("/media/video/ann.jpg", host).text == "backend"
    assert not fresh.varnish.requests + fresh.varnish_tcp.requests


@pytest.mark.parametrize("host", ["localhost", "classic.localhost", "nginx.localhost"])
@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("/%61dmin/", "/admin/"),
        ("//admin/./x/../", "/admin/"),
        ("/media/%76ideo/ann.jpg", "/media/video/ann.jpg"),
        ("/a%20b%3Fc?d=%41&e", "/a%20b%3Fc?d=%41&e"),
        ("/caf%c3%a9/%2525", "/caf%C3%A9/%2525"),
        ("/a%0d%0aX-Injected:1", "/a%0D%0AX-Injected:1"),
    ],
)
def test_a_url_goes_on_in_one_spelling(server: NginxServer, host: str, asked: str, sent: str) -> None:
    assert server.request(asked, host).status == 200
    (seen,) = [seen for mock in server.origins for seen in mock.requests]
    assert seen.target == sent
    assert "x-injected" not in seen.headers
    if "video" in asked:
        assert server.backend.requests


def workers(server: NginxServer, title: bytes = b"nginx: worker process") -> set[int]:
    """The process numbers of nginx's workers, those that are shutting down included."""
    assert server.process
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    return {int(child) for child in children.split() if title in Path(f"/proc/{child}/cmdline").read_bytes()}


def serving(server: NginxServer) -> set[int]:
    """Those that take new connections."""
    return workers(server) - workers(server, b"shutting down")


def test_reloads_leave_one_generation_of_old_workers(fresh: NginxServer) -> None:
    fresh.start()
    players = []
    for number in range(4):
        player = fresh.connect(fresh.stage)
        assert player.recv(100)
        players.append(player)
        before = workers(fresh)
        fresh.edit("nginx.conf", "http {", f"http {{ # edit {number}")
        assert fresh.run_script("reload.sh").returncode == 0
        wait_until(lambda: len(serving(fresh) - before) == 4)  # noqa: B023
        wait_until(lambda: not serving(fresh) & before)  # noqa: B023
        wait_until(lambda: len(workers(fresh)) <= 8)
    still_there = [not _readable(player) and _alive(player) for player in players]
    assert still_there == [False, False, False, True]
    for player in players:
        player.close()


def _alive(player: socket.socket) -> bool:
    player.settimeout(1)
    try:
        player.sendall(b"still here\0")
        return bool(player.recv(100))
    except OSError:
        return False


def test_a_reload_without_a_change_replaces_nobody(fresh: NginxServer) -> None:
    fresh.start()
    wait_until(lambda: len(workers(fresh)) == 4)
    before = workers(fresh)
    assert fresh.run_script("reload.sh").returncode == 0
    time.sleep(1)
    assert workers(fresh) == before
