"""Flood a running stack; report responses cut short, memory used, and latency for other clients.

    python tests/floods.py --project proscenium --plot floods.png [quiet files slow crowd urls all viewers]

The clients use the load port, which has no limits for one client, as if each had an address of its own. A
response counts as cut when it ends before its Content-Length. Another client requests a page, a picture and a
sound all the while. Memory is what the engine counts against a container's limit, without the file cache that
the kernel takes back when it is needed. Clients, requests and seconds are bounded; the targets are this
project's own containers.
"""

import argparse
import asyncio
import itertools
import multiprocessing
import re
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from uuid import uuid4

import uvloop

from containers import SERVICES, Address, Containers, Engine

HOST = b"upstage.localhost"
BIG = "/media/bench/big.swf"
SMALL = "/media/fox.svg"
OTHER = ("/", SMALL, "/media/audio/applause.mp3")
ESTABLISHED = b"\1"  # the state of an open connection in Linux's TCP_INFO
LIMIT = 0.8  # share of its memory limit that a container may use


@dataclass
class Sizes:
    """The size of each flood; the defaults are those of docs/reliability.md. Times in seconds."""

    quiet: float = 10.0
    files: int = 180
    slow: int = 2000
    seconds: float = 25.0
    crowd: int = 300
    crowd_seconds: float = 8.0
    urls: int = 300_000
    viewers: int = 1000
    viewer_seconds: float = 20.0


@dataclass
class Outcome:
    """What the clients of a flood saw."""

    name: str
    answers: Counter[str] = field(default_factory=Counter)  # status, "held", "cut", "late", "refused"
    other: list[float] = field(default_factory=list)  # seconds
    # What the other client got instead of a complete 200 within 10 s.
    failed: Counter[str] = field(default_factory=Counter)
    # By service: second, share of its limit.
    memory: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    began: float = 0.0
    ended: float = 0.0
    killed: list[str] = field(default_factory=list)  # log lines about a killed process

    @property
    def p95(self) -> float:
        """The other client's 95th percentile, milliseconds."""
        times = sorted(self.other)
        return times[int(0.95 * (len(times) - 1))] * 1000 if times else float("nan")

    def peak(self, service: str) -> float:
        """The largest share of its limit that a service used."""
        return max((share for _, share in self.memory.get(service, [])), default=0.0)

    @property
    def faults(self) -> list[str]:
        """Broken promises, one sentence each."""
        found = []
        if cut := self.answers["cut"]:
            found.append(f"{cut} responses cut short")
        if self.failed:
            total = len(self.other) + self.failed.total()
            found.append(f"requests of the other client failed: {dict(self.failed)} of {total}")
        found += [
            f"{name} used {self.peak(name):.0%} of its memory"
            for name in self.memory
            if self.peak(name) > LIMIT
        ]
        return found + self.killed

    def __str__(self) -> str:
        told = ", ".join(f"{count:,} {what}" for what, count in sorted(self.answers.items()))
        memory = ", ".join(f"{name} {self.peak(name):.0%}" for name in self.memory)
        seconds = self.ended - self.began
        line = f"{self.name:6} {seconds:5.1f} s  {told}; other p95 {self.p95:.0f} ms; memory peak {memory}"
        return line + "".join(f"\n       FAULT: {fault}" for fault in self.faults)


async def fetch(address: Address, path: str, timeout: float = 60.0) -> tuple[str, float]:
    """Ask once over a new connection: the status, "cut", "late" or "refused", and the seconds it took."""
    start = time.monotonic()
    writer = None
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(request(path))
            said = await answer(reader)
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


async def answer(reader: asyncio.StreamReader) -> str:
    """Read one answer: its status, "cut", or "refused" if there is none."""
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
    """No flood: only the other client."""
    await asyncio.sleep(sizes.quiet)


async def files(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """Fetch different large files one after the other, each twice."""
    for number in [*range(sizes.files)] * 2:
        outcome.answers[(await fetch(containers.address, f"{BIG}?v={number}"))[0]] += 1


async def slow(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """Clients that read a few bytes every five seconds, as slowhttptest -X does.

    They end before nginx would cut a client that reads nothing (send_timeout, 30 s). Until then they must
    stay connected; one in twenty finally reads the rest.
    """

    async def client(number: int) -> str:
        await asyncio.sleep(number / 400)  # arrivals: 400 a second
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
            outcome.answers[await client(number)] += 1
        except ConnectionError:
            outcome.answers["cut"] += 1

    await asyncio.gather(*map(count, range(sizes.slow)))


async def crowd(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """Clients that fetch the same large file again and again."""
    until = time.monotonic() + sizes.crowd_seconds

    async def client() -> None:
        while time.monotonic() < until:
            outcome.answers[(await fetch(containers.address, BIG))[0]] += 1

    await asyncio.gather(*(client() for _ in range(sizes.crowd)))


async def urls(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """Different URLs of one small file, each once; then eight new URLs of the large file."""
    numbers = iter(range(sizes.urls))
    batch = uuid4().hex[:8]

    async def client() -> None:
        while some := list(itertools.islice(numbers, 50)):
            reader, writer = await asyncio.open_connection(*containers.address)
            for number in some:  # all at once: nginx answers them in order
                writer.write(request(f"{SMALL}?{batch}{number}"))
            for _ in some:
                outcome.answers[await answer(reader)] += 1
            writer.close()

    await asyncio.gather(*(client() for _ in range(50)))
    for number in range(8):
        outcome.answers[(await fetch(containers.address, f"{BIG}?{batch}{number}"))[0]] += 1


async def viewers(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """Viewers of one webcam: each gets a picture and waits for the next one, which comes at the end."""
    camera = "/media/video/flood.jpg"

    async def client(number: int) -> None:
        for _ in range(2):
            status, _ = await fetch(containers.address, f"{camera}?s={number}")
            outcome.answers[status] += 1

    async def picture() -> None:
        await asyncio.sleep(sizes.viewer_seconds)
        await asyncio.to_thread(containers.picture)

    await asyncio.to_thread(containers.picture)
    await asyncio.gather(picture(), *map(client, range(sizes.viewers)))


async def everything(containers: Containers, sizes: Sizes, outcome: Outcome) -> None:
    """The four that fetch files, at once."""
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


Observed = tuple[list[float], Counter[str], dict[str, list[tuple[float, float]]]]


def observe(
    address: Address, names: dict[str, str], results: "Connection[Observed, None]", over: Event
) -> None:
    """Be the other client and sample memory until the flood is over, in a process of its own."""
    other: list[float] = []
    failed: Counter[str] = Counter()
    memory: dict[str, list[tuple[float, float]]] = {service: [] for service in names}

    async def ask() -> None:
        for path in itertools.cycle(OTHER):
            if over.is_set():
                return
            status, seconds = await fetch(address, path, timeout=10)
            if status == "200":
                other.append(seconds)
            else:
                failed[f"{path} {status}"] += 1
            await asyncio.sleep(0.1)

    async def sample() -> None:
        start = time.monotonic()
        while not over.is_set():
            for service, container in names.items():
                share = await asyncio.to_thread(Engine().memory, container)
                memory[service].append((time.monotonic() - start, share))
            await asyncio.sleep(0.5)

    async def both() -> None:
        await asyncio.gather(ask(), sample())

    asyncio.run(both())
    results.send((other, failed, memory))


def flood(project: str, name: str, sizes: Sizes) -> Outcome:
    """Run one flood against a project's containers."""
    containers, outcome = Containers(project), Outcome(name)
    here, there = multiprocessing.Pipe(duplex=False)
    over = multiprocessing.Event()
    names = {service: containers.container(service) for service in SERVICES}
    observer = multiprocessing.Process(target=observe, args=(containers.address, names, there, over))
    observer.start()
    outcome.began = time.time()
    try:
        uvloop.run(FLOODS[name](containers, sizes, outcome))
    finally:
        outcome.ended = time.time()
        over.set()
        if here.poll(30):
            outcome.other, outcome.failed, outcome.memory = here.recv()
        observer.join(10)
    assert outcome.memory, "the observer has failed"
    outcome.killed = containers.killed(outcome.began)
    return outcome


def plot(outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw the memory of each service during each flood, as shares of the limits."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    columns = min(3, len(outcomes))
    rows = -(-len(outcomes) // columns)
    figure = pyplot.figure(figsize=(3.4 * columns, 2.6 * rows))
    for number, outcome in enumerate(outcomes, 1):
        axis = figure.add_subplot(rows, columns, number)
        for service, samples in outcome.memory.items():
            axis.plot(*zip(*samples, strict=True), label=service)
        axis.axhline(LIMIT, linestyle=":", color="grey")
        axis.set(title=outcome.name, xlabel="seconds", ylabel="share of the limit", ylim=(0, 1))
        axis.yaxis.set_major_formatter("{x:.0%}")
    figure.axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)


def main() -> int:
    """Run the floods, print the outcome of each; exit status 1 if one broke a promise."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("floods", nargs="*", help=f"{', '.join(FLOODS)}; all of them by default")
    parser.add_argument("--project", default="proscenium", help="Compose's name for the containers")
    parser.add_argument("--plot", type=Path, help="an image of the services' memory")
    for name, default in vars(Sizes()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    given = parser.parse_args()
    if unknown := set(given.floods) - set(FLOODS):
        parser.error(f"there is no flood {', '.join(sorted(unknown))}")
    sizes = Sizes(**{name: getattr(given, name) for name in vars(Sizes())})
    outcomes = []
    for name in given.floods or FLOODS:
        outcomes.append(flood(given.project, name, sizes))
        print(outcomes[-1], flush=True)
    if given.plot:
        plot(outcomes, given.plot)
    return int(any(outcome.faults for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
