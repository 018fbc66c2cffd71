"""The link between one visitor and the servers: latency, bandwidth, and the slow start of TCP.

A relay such as toxiproxy delays bytes, but the kernels on both of its sides shake hands and acknowledge
immediately, and it limits each connection separately. So this link adds the missing delays: a new connection
takes a round trip, a connection may have ten packets in flight at first and twice as many after each round
trip, and all connections of a visitor share its bandwidth. Unlike on a real path, nothing is ever lost.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable

MILLION = 1_000_000
INITIAL_WINDOW = 14_600  # bytes: ten packets (RFC 6928)
LARGEST_WINDOW = 6_291_456  # Linux's default for a receiver, the last figure of net.ipv4.tcp_rmem
PIECE = 65_536
# The kernel would accept megabytes from the server at once, however slow the visitor is.
RECEIVE_BUFFER = 65_536


class Late:
    """Delivers data in order, each piece at its due time."""

    def __init__(self, deliver: Callable[[bytes], None]) -> None:
        self._deliver = deliver
        self._on_the_way: deque[bytes] = deque()

    def at(self, when: float, data: bytes) -> None:
        """Deliver the data when the loop's clock shows this time; b"" marks the end."""
        self._on_the_way.append(data)
        asyncio.get_running_loop().call_at(when, lambda: self._deliver(self._on_the_way.popleft()))


class LateWriter:
    """The visitor's end of a connection: requests reach the server half a round trip after they are sent."""

    def __init__(self, server: asyncio.StreamWriter, delay: float) -> None:
        self._server = server
        self._delay = delay
        self._late = Late(self._pass_on)

    def write(self, data: bytes) -> None:
        """Send data; b"" closes the connection."""
        self._late.at(asyncio.get_running_loop().time() + self._delay, data)

    async def drain(self) -> None:
        """Wait until the server takes more data."""
        await self._server.drain()

    def close(self) -> None:
        """Close the connection."""
        self.write(b"")

    def _pass_on(self, data: bytes) -> None:
        if data:
            self._server.write(data)
        else:
            self._server.close()


class Link:
    """One visitor's link: `round_trip` in milliseconds; `megabits` a second to the visitor, or no limit."""

    def __init__(self, round_trip: float, megabits: float | None = None) -> None:
        self._delay = round_trip / 2000
        self._seconds_per_byte = 8 / (megabits * MILLION) if megabits else 0.0
        # Twice the link's capacity: as at a router, another round trip's data wait in front of the link.
        filled = int(4 * self._delay / self._seconds_per_byte) if megabits else LARGEST_WINDOW
        self._largest_window = min(LARGEST_WINDOW, max(PIECE, filled))
        self._free = 0.0  # the event loop's time at which the link will have carried everything sent so far
        self._carrying: set[asyncio.Task[None]] = set()

    async def connect(self, address: str, port: int) -> tuple[asyncio.StreamReader, LateWriter]:
        """Return a connection over this link, after its handshake."""
        await asyncio.sleep(2 * self._delay)
        plain = socket.socket()
        plain.setblocking(False)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        try:
            await asyncio.get_running_loop().sock_connect(plain, (address, port))
        except BaseException:
            plain.close()
            raise
        server, to_server = await asyncio.open_connection(sock=plain)
        visitor = asyncio.StreamReader()
        carrying = asyncio.create_task(self._carry(server, visitor))
        self._carrying.add(carrying)  # the event loop itself keeps no reference
        carrying.add_done_callback(self._carrying.discard)
        return visitor, LateWriter(to_server, self._delay)

    async def _carry(self, server: asyncio.StreamReader, visitor: asyncio.StreamReader) -> None:
        """Deliver the server's data to the visitor, until the end."""
        loop = asyncio.get_running_loop()
        late = Late(lambda data: visitor.feed_data(data) if data else visitor.feed_eof())
        window, in_flight = INITIAL_WINDOW, 0
        room = asyncio.Event()

        def acknowledged(size: int) -> None:
            nonlocal window, in_flight
            window = min(window + size, self._largest_window)
            in_flight -= size
            room.set()

        data = b"first"
        while data:
            try:
                data = await server.read(min(PIECE, window - in_flight))
            except OSError as error:
                visitor.set_exception(error)
                return
            in_flight += len(data)
            self._free = max(loop.time(), self._free) + len(data) * self._seconds_per_byte
            late.at(self._free + self._delay, data)
            loop.call_at(self._free + 2 * self._delay, acknowledged, len(data))
            while data and in_flight >= window:
                room.clear()
                await room.wait()
