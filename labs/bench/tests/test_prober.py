"""labs/edge/prober.py in front of a server of the test's own, which fails for a while."""

import asyncio
import socket
import time
from collections.abc import Iterator

import pytest

from labs.edge import lab, prober
from labs.edge.prober import Page, Prober
from tests.support.origin import EchoServer, Origin, Request, response
from tests.support.wait import wait_until

FAILS = range(2, 5)  # the requests for the workshop that fail
CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0a\r\n0123456789\r\n0\r\n\r\n"


class Site(Origin):
    """Media and pages; a page in chunks. Its WebSocket pings once; `said` is what came back over it."""

    def __init__(self) -> None:
        self.said = b""
        self.turns: list[float] = []  # when the workshop was asked for
        super().__init__("site")
        self.answer = self.respond

    def respond(self, request: Request) -> bytes:
        if request.target == "/ws":
            frames = b"\x81\x7e\x00\x80" + bytes(128) + b"\x89\x02hi"
            return b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n" + frames
        if request.target == "/media":
            return response("abc", "206 x", cache_status="varnish; hit")
        if request.target == "/admin/":
            self.turns.append(time.monotonic())
        down = request.target == "/admin/" and len(self.turns) in FAILS
        return b"HTTP/1.1 %d x\r\n%s" % (503 if down else 200, CHUNKS)

    def upgraded(self, connection: socket.socket, request: Request) -> None:
        while data := connection.recv(4096):
            self.said += data


@pytest.fixture(scope="module")
def visited() -> Iterator[tuple[Site, Prober]]:
    """What a crowd of twenty requests has seen, and the server."""
    site, stage = Site(), EchoServer("stage")
    crowd = Prober(
        [f"127.0.0.1:{site.port}"], "localhost", ["/media"], seed=1, pages=["/stages/demo", "/admin/"]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prober, "STAGE_PORT", stage.port)
        patch.setattr(prober, "PAGE_PAUSE", 0.05)
        asyncio.run(crowd.run(seconds=1, rate=20))
    yield site, crowd
    site.close()
    stage.close()


def test_the_gap_of_a_page_is_as_long_as_it_fails(visited: tuple[Site, Prober]) -> None:
    site, crowd = visited
    [workshop], [page] = crowd.pages["/admin/"], crowd.pages["/stages/demo"]
    assert workshop.failed == len(FAILS)
    assert site.turns[FAILS.stop - 1] - site.turns[FAILS.start - 1] <= workshop.gap
    assert (page.failed, page.gap) == (0, 0)
    counts = [second.counts for second in crowd.seconds.values()]
    assert sum(each["hit"] for each in counts) == sum(each["asked"] for each in counts) == 20


def test_media_are_asked_for_in_parts_and_pages_as_a_known_visitor(visited: tuple[Site, Prober]) -> None:
    site, _ = visited
    for request in site.requests:
        if request.target == "/media":
            assert "range" in request.headers
        elif request.target != "/ws":
            assert "upstage_seen=1" in request.headers["cookie"]


def test_a_ping_is_answered(visited: tuple[Site, Prober]) -> None:
    site, crowd = visited
    wait_until(lambda: site.said.endswith(b"\x8a\x82\x00\x00\x00\x00hi"))
    assert set(crowd.held.values()) == {None}


def test_a_gap_that_does_not_end_counts_as_far_as_it_was_seen() -> None:
    page = Page()
    for began, came in ((0.0, True), (1.0, False), (1.5, True), (2.0, False), (5.0, False)):
        page.count(began, began + 0.1, came)
    assert (page.asked, page.failed, round(page.gap, 1)) == (5, 3, 3.1)


def test_the_table_has_a_cell_for_each_column() -> None:
    pages = {path: {"asked": 9, "failed": 2, "gap": 1.5} for path in lab.PAGES.values()}
    counts = dict.fromkeys(("asked", "failed", "repeated", "slow", "sockets_ended", "took"), 0)
    titles, line, row = lab.table([counts | {"event": "x", "held": {}, "pages": pages}]).splitlines()
    assert {titles.count("|"), line.count("|"), row.count("|")} == {12}
    assert row.endswith("| 2 of 9 | 1.5 | 2 of 9 | 1.5 |")
