"""A visitor's connections: one that the server closes between two requests is replaced, a broken one not."""

import asyncio
from contextlib import suppress

import pytest

from labs.bench.clients.browser import Browser

PAGE = b'<img src="/media/a.png"><img src="/media/b.png">'


def visit(answers: int, last: bytes = b"") -> tuple[str, int, int]:
    """The failure, bytes and connections of a visit to a server that answers so many requests of each
    connection, then sends `last`, and closes it.
    """
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        with suppress(asyncio.IncompleteReadError):
            for _ in range(answers):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(PAGE), PAGE))
            writer.write(last)
        writer.close()

    async def both() -> tuple[str, int]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        browser = Browser("127.0.0.1", server.sockets[0].getsockname()[1], "localhost", "/stages/demo")
        browser.files = [f"/media/{number}.png" for number in range(20)]
        return await browser.visit(10), browser.received

    return *asyncio.run(both()), connections


@pytest.mark.parametrize("answers", [1, 3])
def test_a_kept_connection_that_was_closed_is_replaced(answers: int) -> None:
    failure, received, connections = visit(answers)
    assert failure == ""
    assert received == 22 * len(PAGE)  # the page, the visitor's key, the files
    assert connections > 6


@pytest.mark.parametrize("wrong", [(0,), (2, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")])
def test_one_that_breaks_is_a_failure(wrong: tuple[int, bytes]) -> None:
    failure, _, _ = visit(*wrong)
    assert failure
