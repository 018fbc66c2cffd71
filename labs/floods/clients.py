"""The floods: clients of a running stack. Connections, requests and seconds are bounded."""

import asyncio
import itertools
import re
import socket
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from uuid import uuid4

from labs.floods.containers import Address, Containers
from labs.floods.report import Outcome

HOST = b"upstage.localhost"
BIG = "/media/bench/big.swf"
SMALL = "/media/fox.svg"
ESTABLISHED = b"\1"  # the state of an open connection in Linux's TCP_INFO


@dataclass
class Sizes:
    """The size of each flood; the defaults are those in docs/reliability.md. Times are in seconds."""

    quiet: float = 10.0
    files: int = 180
    slow: int = 2000
    seconds: float = 25.0
    crowd: int = 300
    crowd_seconds: float = 8.0
    urls: int = 300_000
    viewers: int = 1000
    viewer_seconds: float = 20.0


async def fetch(address: Address, path: str, timeout: float = 60.0) -> tuple[str, float]:
    """Send one request on a new connection; return status, "cut", "late" or "refused", and the seconds."""
    start = time.monotonic()
    writer = None
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(request(path))
            said = await response(reader)
    except TimeoutError:
        said = "late"
    except OSError:
        said = "refused"
    finally:
        if writer:
            writer.close()
    return said, time.monotonic() - start


def request(path: str) -> bytes:
    """Return the bytes of a request."""
    return b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path.encode(), HOST)


async def response(reader: asyncio.StreamReader) -> str:
    """Read one response; return its status, "cut", or "refused" if there is none."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return "refused"
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    try:
        if length:
            left = int(length[1])
            while left:
                piece = await reader.read(min(left, 1 << 16))
                if not piece:
                    return "cut"
                left -= len(piece)
        else:
            while size := int(await reader.readuntil(b"\r\n"), 16):
                await reader.readexactly(size + 2)
            await reader.readexactly(2)
    except (asyncio.IncompleteReadError, ConnectionError):
        return "cut"
    return head[9:12].decode()


async def quiet(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """Send no flood: only the other client sends requests."""
    await asyncio.sleep(sizes.quiet)


async def files(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """Fetch different large files one after another, each twice."""
    for number in [*range(sizes.files)] * 2:
        outcome.responses[(await fetch(containers.address, f"{BIG}?v={number}"))[0]] += 1


async def slow(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """Read a few bytes every five seconds, with many clients, as slowhttptest -X does.

    The clients end before nginx would disconnect a client that reads nothing (send_timeout, 30 s). Until then
    they must stay connected; one in twenty finally reads the rest.
    """

    async def client(number: int) -> str:
        await asyncio.sleep(number / 400)  # 400 clients arrive each second
        until = time.monotonic() + sizes.seconds
        loop = asyncio.get_running_loop()
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            connection.setblocking(False)
            try:
                await loop.sock_connect(connection, containers.address)
                await loop.sock_sendall(connection, request(BIG))
                data = b""
                while b"\r\n\r\n" not in data:
                    if not (piece := await loop.sock_recv(connection, 512)):
                        return "refused"
                    data += piece
            except OSError:
                return "refused"
            length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", data)
            if not data.startswith(b"HTTP/1.1 200") or not length:
                return data[9:12].decode()
            left = int(length[1]) + data.index(b"\r\n\r\n") + 4 - len(data)
            while time.monotonic() < until:
                left -= len(await loop.sock_recv(connection, 32))
                await asyncio.sleep(5)
            if connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) != ESTABLISHED:
                return "cut"
            if number % 20:
                return "held"
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
            while left and (piece := await loop.sock_recv(connection, 1 << 16)):
                left -= len(piece)
            return "cut" if left else "200"

    async def count(number: int) -> None:
        try:
            outcome.responses[await client(number)] += 1
        except ConnectionError:
            outcome.responses["cut"] += 1

    await asyncio.gather(*map(count, range(sizes.slow)))


async def crowd(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """Fetch the same large file again and again, with many clients."""
    until = time.monotonic() + sizes.crowd_seconds

    async def client() -> None:
        while time.monotonic() < until:
            outcome.responses[(await fetch(containers.address, BIG))[0]] += 1

    await asyncio.gather(*(client() for _ in range(sizes.crowd)))


async def urls(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """Fetch different URLs of one small file, each once; then eight new URLs of the large file."""
    numbers = iter(range(sizes.urls))
    batch = uuid4().hex[:8]

    async def client() -> None:
        while some := list(itertools.islice(numbers, 50)):
            reader, writer = await asyncio.open_connection(*containers.address)
            for number in some:  # sent all at once: nginx answers them in order
                writer.write(request(f"{SMALL}?{batch}{number}"))
            for _ in some:
                outcome.responses[await response(reader)] += 1
            writer.close()

    await asyncio.gather(*(client() for _ in range(50)))
    for number in range(8):
        outcome.responses[(await fetch(containers.address, f"{BIG}?{batch}{number}"))[0]] += 1


async def viewers(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """Watch one webcam with many clients: each gets a picture and waits for the next one, sent at the end."""
    camera = "/media/video/flood.jpg"

    async def client(number: int) -> None:
        for _ in range(2):
            status, _ = await fetch(containers.address, f"{camera}?s={number}")
            outcome.responses[status] += 1

    async def picture() -> None:
        await asyncio.sleep(sizes.viewer_seconds)
        await asyncio.to_thread(containers.picture)

    await asyncio.to_thread(containers.picture)
    await asyncio.gather(picture(), *map(client, range(sizes.viewers)))


async def everything(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """Run the four floods that fetch files, all at once."""
    await asyncio.gather(*(flood(containers, sizes, outcome) for flood in (files, slow, crowd, urls)))


Flood = Callable[[Containers, Sizes, Outcome], Coroutine[None, None, None]]
FLOODS: dict[str, Flood] = {
    "quiet": quiet,
    "files": files,
    "slow": slow,
    "crowd": crowd,
    "urls": urls,
    "all": everything,
    "viewers": viewers,
}
