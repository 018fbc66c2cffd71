"""A visitor's connections: one that the server closes between two requests is replaced, a broken one not."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from labs.bench.clients.browser import Browser

PAGE = b'<img src="/media/a.png"><img src="/media/b.png">'


class Server(threading.Thread):
    """Answers `answers` requests of each connection, then closes it; `last` is what it sends before."""

    def __init__(self, answers: int, last: bytes = b"") -> None:
        super().__init__(daemon=True)
        self.answers, self.last, self.connections = answers, last, 0
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = self.server.sockets[0].getsockname()[1]
        self.start()

    def run(self) -> None:
        self.loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        for _ in range(self.answers):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(PAGE), PAGE))
        writer.write(self.last)
        writer.close()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    server = Server(*request.param)
    yield server
    server.loop.call_soon_threadsafe(server.loop.stop)


def visit(server: Server) -> tuple[str, Browser]:
    browser = Browser("127.0.0.1", server.port, "localhost", "/stages/demo")
    browser.files = [f"/media/{number}.png" for number in range(20)]
    return asyncio.run(browser.visit(10)), browser


@pytest.mark.parametrize("server", [(1,), (3,)], indirect=True)
def test_a_kept_connection_that_was_closed_is_replaced(server: Server) -> None:
    failure, browser = visit(server)
    assert failure == ""
    assert browser.received == 22 * len(PAGE)  # the page, the visitor's key, the files
    assert server.connections > 6


@pytest.mark.parametrize(
    "server", [(0,), (2, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")], indirect=True
)
def test_one_that_breaks_is_a_failure(server: Server) -> None:
    failure, _ = visit(server)
    assert failure
