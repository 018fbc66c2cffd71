"""labs/cluster/prober.py in front of a server of the test's own, which fails for a while."""

import asyncio
import time

import pytest

from labs.cluster import lab, prober
from labs.cluster.prober import PAGE_PAUSE, Page, Prober

FAILS = (0.5, 1.5)  # seconds after the first request, in which the workshop fails


class Server:
    """Media and pages; a page in chunks. Its WebSocket pings once; `pongs` is what came back."""

    def __init__(self) -> None:
        self.began = 0.0
        self.cookies: list[str] = []
        self.pongs: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode():
            self.began = self.began or time.monotonic()
            path = head.split()[1]
            if path == "/ws":
                writer.write(
                    b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n" + b"\x81\x7e\x00\x80" + bytes(128)
                )
                writer.write(b"\x89\x02hi")
                self.pongs.append((await reader.readexactly(29 + 8))[29:])  # behind the client's JOIN
                await reader.read()
                return
            if path == "/media":
                assert "Range" in head
                writer.write(b"HTTP/1.1 206 x\r\nContent-Length: 3\r\nCache-Status: varnish; hit\r\n\r\nabc")
                continue
            self.cookies.append(head.split("Cookie: ")[1].split("\r\n")[0])
            down = path == "/admin/" and FAILS[0] <= time.monotonic() - self.began < FAILS[1]
            writer.write(b"HTTP/1.1 %d x\r\nTransfer-Encoding: chunked\r\n\r\n" % (503 if down else 200))
            writer.write(b"3\r\nabc\r\n0a\r\n0123456789\r\n0\r\n\r\n")


@pytest.fixture(scope="module")
def visited() -> tuple[Server, Prober]:
    """What a crowd has seen in two and a half seconds, and the server."""
    server = Server()

    async def visit() -> Prober:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await server.serve(reader, writer)
            except EOFError:
                writer.close()

        async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        listener = await asyncio.start_server(answer, "127.0.0.1", 0)
        stage = await asyncio.start_server(swallow, "127.0.0.1", 0)
        address = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        crowd = Prober([address], "localhost", ["/media"], seed=1, pages=["/stages/demo", "/admin/"])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(prober, "STAGE_PORT", stage.sockets[0].getsockname()[1])
            await crowd.run(seconds=2.5, rate=20)
        listener.close()
        stage.close()
        return crowd

    return server, asyncio.run(visit())


def test_the_gap_of_a_page_is_as_long_as_it_fails(visited: tuple[Server, Prober]) -> None:
    server, crowd = visited
    [workshop], [stage] = crowd.pages["/admin/"], crowd.pages["/stages/demo"]
    length = FAILS[1] - FAILS[0]
    assert length - PAGE_PAUSE <= workshop.gap <= length + PAGE_PAUSE + 0.3
    assert 3 <= workshop.failed <= length / PAGE_PAUSE + 1
    assert workshop.asked >= 8
    assert (stage.failed, stage.gap) == (0, 0)
    assert {"upstage_seen=1" in cookie for cookie in server.cookies} == {True}
    counts = [second.counts for second in crowd.seconds.values()]
    assert sum(each["hit"] for each in counts) == sum(each["asked"] for each in counts) == 50


def test_a_ping_is_answered(visited: tuple[Server, Prober]) -> None:
    server, crowd = visited
    assert server.pongs == [b"\x8a\x82\x00\x00\x00\x00hi"]
    assert set(crowd.held.values()) == {None}


def test_a_gap_that_does_not_end_counts_as_far_as_it_was_seen() -> None:
    page = Page()
    for began, came in ((0.0, True), (1.0, False), (1.5, True), (2.0, False), (5.0, False)):
        page.count(began, began + 0.1, came)
    assert (page.asked, page.failed, round(page.gap, 1)) == (5, 3, 3.1)


def test_the_table_has_a_cell_for_each_column() -> None:
    pages = {path: {"asked": 9, "failed": 2, "gap": 1.5} for path in lab.PAGES.values()}
    counts = dict.fromkeys(("asked", "failed", "repeated", "slow", "sockets_ended", "healed_seconds"), 0)
    event = counts | {"event": "x", "p99_after_10_s": None, "held": {}, "pages": pages}
    *_, titles, line, row = lab.table({"cells": [], "events": [event]}).splitlines()
    assert {titles.count("|"), line.count("|"), row.count("|")} == {13}
    assert row.endswith("| 2 of 9 | 1.5 | 2 of 9 | 1.5 |")
