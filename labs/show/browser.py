"""As much of a browser as a server notices: six connections, kept open, and an empty cache.

It asks the same for everybody and looks at nothing but the status and the length, because what it costs to
ask must not be mistaken for what it costs to answer.
"""

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing

CONNECTIONS = 6  # to one server, as browsers do over HTTP/1.1
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked\r\n", re.IGNORECASE)
# What the page names and a browser fetches from the same server. Links of <a> have no ending.
NAMED = re.compile(r'(?:href|src)="(/[^"]+\.(?:css|js|svg|png|jpg|gif|mp3|swf))"')


class BadAnswer(Exception):
    """The server answered, but not as a house that is open does."""


class Connection:
    """One connection to the server; `host` is what the Host header says."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host

    async def get(self, path: str, packed: bool = True) -> bytes:
        """The body for a path, as it came over the wire. OSError, EOFError or BadAnswer."""
        encoding = "gzip" if packed else "identity"
        self._writer.write(
            f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\nAccept-Encoding: {encoding}\r\n\r\n".encode()
        )
        head = await self._reader.readuntil(b"\r\n\r\n")
        if head[9:12] != b"200":
            raise BadAnswer(f"{path} was answered with {head[9:12].decode('latin-1')}")
        if length := LENGTH.search(head):
            return await self._reader.readexactly(int(length[1]))
        if CHUNKED.search(head):
            return await self._chunks()
        raise BadAnswer(f"{path} was answered without a length")

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)
        return body

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


class Browser:
    """Somebody new at each `open_stage`; `names` is what the page of the stage names."""

    def __init__(self, address: str, port: int, host: str, page: str) -> None:
        self._address = (address, port)
        self._host = host
        self._page = page
        self.names: list[str] = []

    async def read_page(self) -> None:
        """Look once at what the page names: it is the same for everybody."""
        with closing(await self._connect()) as connection:
            html = (await connection.get(self._page, packed=False)).decode()
        self.names = list(dict.fromkeys(NAMED.findall(html)))
        if not self.names:
            raise BadAnswer(f"{self._page} names nothing to fetch")

    async def open_stage(self) -> None:
        """The page; then the key and all that the page names, over six connections."""
        with closing(await self._connect()) as first:
            await first.get(self._page)
            wanted = iter(["/admin/id", *self.names])  # one list for all: who is free takes the next
            async with asyncio.TaskGroup() as connections:
                connections.create_task(fetch(first, wanted))
                for _ in range(CONNECTIONS - 1):
                    connections.create_task(self._fetch_beside(wanted))

    async def _fetch_beside(self, wanted: Iterator[str]) -> None:
        with closing(await self._connect()) as connection:
            await fetch(connection, wanted)

    async def _connect(self) -> Connection:
        return Connection(*await asyncio.open_connection(*self._address), self._host)


async def fetch(connection: Connection, wanted: Iterator[str]) -> None:
    """Ask for one path after another until none is left."""
    for path in wanted:
        await connection.get(path)
