"""A browser as a server sees it: six kept connections and an empty cache.

Every page load requests the same URLs, and only the status and the length are checked, so that requests stay
cheap compared with responses.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing

from labs.bench.clients.link import LateWriter

CONNECTIONS = 6  # to one server: the limit of browsers over HTTP/1.1
Connect = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter | LateWriter]]]
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked\r\n", re.IGNORECASE)
# The files on the same server that a browser fetches for a page. No link of an <a> has such an ending.
FILES = re.compile(r'(?:href|src)="(/[^"]+\.(?:css|js|svg|png|jpg|gif|mp3|swf))"')


class BadResponse(Exception):
    """The response is not a 200, has no length, or is a page without files."""


class Closed(EOFError):
    """The server has closed a kept connection, which a browser replaces: over a slow link, the server sees it
    idle long before the client has read everything. https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1
    """


class Connection:
    """One connection to the server; `host` is the Host header."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter | LateWriter, host: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host
        self._used = False  # whether a response has come over it

    async def get(self, path: str, compressed: bool = True) -> bytes:
        """Return the body of a path, as sent. Raise OSError, EOFError or BadResponse."""
        encoding = "gzip" if compressed else "identity"
        self._writer.write(
            f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\nAccept-Encoding: {encoding}\r\n\r\n".encode()
        )
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionResetError) as error:
            if not self._used or (isinstance(error, asyncio.IncompleteReadError) and error.partial):
                raise
            raise Closed from None
        self._used = True
        if head[9:12] != b"200":
            raise BadResponse(f"{path} was answered with {head[9:12].decode('latin-1')}")
        if length := LENGTH.search(head):
            return await self._reader.readexactly(int(length[1]))
        if CHUNKED.search(head):
            return await self._chunks()
        raise BadResponse(f"{path} was answered with no length")

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)
        return body

    def reopen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter | LateWriter) -> None:
        """Continue with a new connection."""
        self.close()
        self._reader, self._writer, self._used = reader, writer, False

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


class Browser:
    """A new visitor at each `load_stage`; `files` are the paths of the stage page's files.

    `connect` opens a connection: asyncio's function, or a Link's.
    """

    def __init__(
        self, address: str, port: int, host: str, page: str, connect: Connect = asyncio.open_connection
    ) -> None:
        self._address = (address, port)
        self._host = host
        self._page = page
        self._connect_to = connect
        self.files: list[str] = []
        self.received = 0  # bytes of all bodies

    async def read_page(self) -> None:
        """Read the page once to learn its files, which are the same for every visitor; raise as
        Connection.get does.
        """
        with closing(await self._connect()) as connection:
            html = (await connection.get(self._page, compressed=False)).decode()
        self.files = list(dict.fromkeys(FILES.findall(html)))
        if not self.files:
            raise BadResponse(f"{self._page} refers to no files")

    async def load_stage(self) -> None:
        """Load the page; then the visitor's key and the page's files, over six connections."""
        with closing(await self._connect()) as first:
            await self._fetch(first, iter([self._page]))
            # All connections share one list: each takes the next path when it is idle.
            wanted = iter(["/admin/id", *self.files])
            async with asyncio.TaskGroup() as connections:
                connections.create_task(self._fetch(first, wanted))
                for _ in range(CONNECTIONS - 1):
                    connections.create_task(self._fetch_beside(wanted))

    async def visit(self, seconds: float) -> str:
        """Load the stage within this time; return why that failed, or an empty string."""
        failure = ""
        try:
            async with asyncio.timeout(seconds):
                await self.load_stage()
        except* TimeoutError:
            failure = f"the stage was not loaded within {seconds:g} s"
        except* (OSError, EOFError, BadResponse) as group:
            failure = str(group.exceptions[0])
        return failure

    async def _fetch_beside(self, wanted: Iterator[str]) -> None:
        with closing(await self._connect()) as connection:
            await self._fetch(connection, wanted)

    async def _fetch(self, connection: Connection, wanted: Iterator[str]) -> None:
        """Request one path after another until none is left."""
        for path in wanted:
            try:
                body = await connection.get(path)
            except Closed:
                connection.reopen(*await self._connect_to(*self._address))
                body = await connection.get(path)
            self.received += len(body)

    async def _connect(self) -> Connection:
        return Connection(*await self._connect_to(*self._address), self._host)
