"""What nginx may use up, whatever all its clients do; and what it does about a tier that is stuck."""

import http.client
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from front import Front, eventually
from tiers import Seen, response


def hit(body: str = "x") -> bytes:
    """An answer of Varnish that may be kept."""
    return response(body, x_accel_expires=f"@{int(time.time())}", cache_status="varnish; hit; ttl=9")


@pytest.fixture
def fresh() -> Iterator[Front]:
    """An nginx of its own, not yet started."""
    with Front() as front:
        yield front


def test_the_micro_cache_holds_a_bounded_number_of_copies(fresh: Front) -> None:
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
    assert len(fresh.lines("could not allocate")) < 50


def test_requests_in_progress_of_all_clients_together(fresh: Front) -> None:
    fresh.edit("generate.sh", "in_progress 2400", "in_progress 20")
    fresh.start()
    go = threading.Event()
    fresh.varnish.answer = lambda _: response("x") if go.wait(10) else b""
    with ThreadPoolExecutor(30) as pool:
        # Of many addresses, and on the port that knows no clients.
        asked = [
            pool.submit(fresh.ask, "/", source=f"127.0.3.{number + 1}", port=port)
            for number in range(15)
            for port in (fresh.public, fresh.load)
        ]
        eventually(lambda: sum(answer.done() for answer in asked) == 10)
        go.set()
        assert Counter(answer.result().status for answer in asked) == Counter({200: 20, 429: 10})


def test_uploads_of_all_clients_together_wait_on_the_disk(fresh: Front) -> None:
    fresh.edit("generate.sh", "uploads 40", "uploads 3")
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
    assert sum(str(fresh.tls / "client_temp") in file for file in opened) == 3
    assert fresh.ask("/admin/x", method="POST", body=b"a form").status == 200
    assert not fresh.varnish.seen[:-1]  # none of the uploads has got any further
    for connection in uploads:
        connection.close()


def _readable(connection: socket.socket) -> bool:
    connection.settimeout(0.5)
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except TimeoutError:
        return False


def test_a_refusal_is_no_error(fresh: Front) -> None:
    """A flood would fill the log with them; the access log has a line for each."""
    fresh.knobs |= {"CLIENT_REQUESTS": "1"}
    fresh.start()
    assert 429 in {fresh.ask("/").status for _ in range(30)}
    eventually(lambda: fresh.lines('" localhost 429 '))
    assert not fresh.lines("limiting (requests|connections)")


def stuck(fresh: Front) -> None:
    """Start with a Varnish that accepts connections and never answers; one page has been asked for before."""
    fresh.start()
    fresh.varnish.answer = lambda _: hit("as it was")
    assert fresh.ask("/known").text == "as it was"
    forever = threading.Event()

    def never(_: Seen) -> bytes:
        forever.wait(20)
        return b""

    fresh.varnish.answer = never
    time.sleep(1.1)  # the second is over


def test_a_stuck_varnish_is_noticed_within_two_seconds(fresh: Front) -> None:
    stuck(fresh)
    started = time.monotonic()
    old = fresh.ask("/known")
    assert (old.status, old.text) == (200, "as it was")
    assert old.headers["cache-status"] == "varnish; hit; ttl=9, nginx; hit; detail=stale"
    new = fresh.ask("/unknown")
    assert (new.status, new.headers["retry-after"]) == (503, "5")
    assert new.headers["cache-control"] == "no-store"
    assert 3.5 < time.monotonic() - started < 8  # two seconds for each


def test_what_takes_longer_is_waited_for(fresh: Front) -> None:
    fresh.start()

    def late(_: Seen) -> bytes:
        time.sleep(3)
        return response("late")

    fresh.varnish.answer = late
    with ThreadPoolExecutor(4) as pool:
        asked = [
            pool.submit(fresh.ask, "/admin/login", method="POST", body=b"x"),
            pool.submit(fresh.ask, "/admin"),
            pool.submit(fresh.ask, "/signup", method="POST", body=b"x"),
            pool.submit(fresh.ask, "/speech/utter-1.mp3"),
        ]
        assert [answer.result().text for answer in asked] == ["late"] * 4


def test_webcam_viewers_take_nothing_of_varnish(fresh: Front) -> None:
    fresh.start()
    for host in ("localhost", "classic.localhost"):
        assert fresh.ask("/media/video/ann.jpg", host).text == "backend"
    assert not fresh.varnish.seen + fresh.varnish_tcp.seen


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
def test_a_url_goes_on_in_one_spelling(front: Front, host: str, asked: str, sent: str) -> None:
    assert front.ask(asked, host).status == 200
    (seen,) = [seen for mock in front.mocks for seen in mock.seen]
    assert seen.target == sent
    assert "x-injected" not in seen.headers
    if "video" in asked:
        assert front.backend.seen


def workers(front: Front, title: bytes = b"nginx: worker process") -> set[int]:
    """The process numbers of nginx's workers, those that are shutting down included."""
    assert front.process
    children = Path(f"/proc/{front.process.pid}/task/{front.process.pid}/children").read_text()
    return {int(child) for child in children.split() if title in Path(f"/proc/{child}/cmdline").read_bytes()}


def serving(front: Front) -> set[int]:
    """Those that take new connections."""
    return workers(front) - workers(front, b"shutting down")


def test_reloads_leave_one_generation_of_old_workers(fresh: Front) -> None:
    fresh.start()
    players = []
    for number in range(4):
        player = fresh.connect(fresh.stage)
        assert player.recv(100)
        players.append(player)
        before = workers(fresh)
        with (fresh.conf / "gzip.conf").open("a") as file:
            file.write(f"# edit {number}\n")
        assert fresh.script("reload.sh").returncode == 0
        eventually(lambda: len(serving(fresh) - before) == 4)  # noqa: B023
        eventually(lambda: not serving(fresh) & before)  # noqa: B023
        eventually(lambda: len(workers(fresh)) <= 8)
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


def test_a_reload_without_a_change_replaces_nobody(fresh: Front) -> None:
    fresh.start()
    eventually(lambda: len(workers(fresh)) == 4)
    before = workers(fresh)
    assert fresh.script("reload.sh").returncode == 0
    time.sleep(1)
    assert workers(fresh) == before
