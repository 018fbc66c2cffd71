"""What a crowd on stage costs: runs in the backend's container and prints what it has measured as JSON.

    python stage.py '{"listeners": 1000, "stalled": 0, "seconds": 10}'

Each time a fresh server beside it, on loopback: what the last crowd has left in memory and books would be
measured, too. Listeners other than the sampled ones do not read while they are measured: what is sent to them
fits into the kernel's buffers, and the generator stays out of the way.
"""

import asyncio
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SAMPLED = 20  # listeners whose clock is looked at
RATE = 20  # messages a second
LATEST = 20  # seconds that the last line may take
PAUSE = 0.5  # seconds for the server to come to rest before something is measured


class Client:
    """One connection to the stage socket, blocking until it is told to listen."""

    def __init__(self, port: int, receive_buffer: int = 0) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(60)
        self.socket.connect(("127.0.0.1", port))
        self.rest = b""

    def join(self) -> None:
        """Ask for a seat on the demo stage; nothing is read yet."""
        self.socket.sendall(b"PROXY TCP4 127.0.0.1 127.0.0.1 1 1\r\nstage_ID=demo&mode=JOIN\0")

    def until(self, wanted: bytes) -> None:
        """Read up to a frame that contains these bytes; TimeoutError after 60 s."""
        while wanted not in self.rest:
            data = self.socket.recv(1 << 18)
            if not data:
                raise ConnectionError("the server closed the connection")
            self.rest = (self.rest + data)[-4096:]

    def say(self, text: str) -> None:
        """One line for everybody."""
        self.socket.sendall(f"msg={text}&mode=TEXT\0".encode())


@contextmanager
def server() -> Iterator[tuple[int, int]]:
    """A fresh server; yields the port of its stage socket and its process ID."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    web, stage, metrics = (probe.getsockname()[1] for probe in probes)
    for probe in probes:
        probe.close()
    # The container's own server has the sockets and ports that these variables name.
    elsewhere = {name: value for name, value in os.environ.items() if not name.startswith("UPSTAGE_")}
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "upstage", "serve"],
            env={
                **elsewhere,
                "UPSTAGE_DATA": f"{folder}/data",
                "UPSTAGE_MEDIA": f"{folder}/media",
                "UPSTAGE_WEB_ENDPOINT": f"tcp:{web}:interface=127.0.0.1",
                "UPSTAGE_METRICS_ENDPOINT": f"tcp:{metrics}:interface=127.0.0.1",
                "UPSTAGE_CONNECTIONS_PER_ADDRESS": "100000",  # they all come from here
                "UPSTAGE_STAGE_ENDPOINT": f"haproxy:tcp:{stage}:interface=127.0.0.1:backlog=1024",
            },
            stdout=subprocess.DEVNULL,
        )
        try:
            for _ in range(100):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", stage)) == 0:
                        break
                time.sleep(0.1)
            yield stage, process.pid
        finally:
            process.terminate()
            process.wait(20)


def memory(pid: int) -> int:
    """Resident memory in bytes."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def crowd(port: int, size: int) -> list[Client]:
    """That many clients on the stage, all set up."""
    clients = [Client(port) for _ in range(size)]
    for client in clients:
        client.join()
    for client in clients:
        client.until(b"mode=JOINED\0")
    return clients


async def delays(port: int, listeners: list[Client], seconds: float) -> list[float]:
    """Say RATE lines a second; the milliseconds until each sampled listener has heard each line."""
    loop = asyncio.get_running_loop()
    heard: list[float] = []

    async def listen(client: Client) -> None:
        client.socket.setblocking(False)
        rest = b""
        while True:
            data = await loop.sock_recv(client.socket, 1 << 18)
            now = time.perf_counter()
            *frames, rest = (rest + data).split(b"\0")
            for frame in frames:
                if frame.startswith(b"text=at-"):
                    heard.append((now - float(frame[8 : frame.index(b"&")])) * 1000)

    speaker = crowd(port, 1)[0]
    tasks = [asyncio.create_task(listen(client)) for client in listeners]
    await asyncio.sleep(PAUSE)
    heard.clear()
    begin = loop.time()
    for number in range(int(seconds * RATE)):
        await asyncio.sleep(max(0.0, begin + number / RATE - loop.time()))
        speaker.say(f"at-{time.perf_counter():.6f}")
    expected = int(seconds * RATE) * len(listeners)
    while len(heard) < expected and loop.time() < begin + seconds + LATEST:
        await asyncio.sleep(PAUSE)
    for task in tasks:
        task.cancel()
    if len(heard) != expected:
        raise RuntimeError(f"{len(heard)} deliveries instead of {expected}")
    return heard


def stall(port: int) -> Client:
    """One more on the stage who does not read, after so much talk that the kernel takes no more for it."""
    sleeper = Client(port, receive_buffer=1024)
    sleeper.join()
    speakers = crowd(port, 20)  # several, because one alone would be braked
    for number in range(4000):
        speakers[number % 20].say("x" * 100)
        time.sleep(0.003)
    return sleeper  # who lets go of it closes its connection


def measure(size: int, stalled: int, seconds: float) -> dict[str, float]:
    """Delay of a line to `size` listeners, how long all took to come in, and what each costs in memory."""
    with server() as (port, pid):
        crowd(port, 5)
        before = memory(pid)
        begin = time.perf_counter()
        listeners = crowd(port, size)
        joined = time.perf_counter() - begin
        each = (memory(pid) - before) / size
        sleepers = [stall(port) for _ in range(stalled)]
        heard = asyncio.run(delays(port, listeners[:SAMPLED], seconds))
        del sleepers
    percentiles = statistics.quantiles(heard, n=100)
    return {
        "p50_milliseconds": percentiles[49],
        "p95_milliseconds": percentiles[94],
        "p99_milliseconds": percentiles[98],
        "join_milliseconds": joined * 1000,
        "memory_bytes_per_listener": each,
    }


def main() -> None:
    settings = json.loads(sys.argv[1])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(json.dumps(measure(settings["listeners"], settings["stalled"], settings["seconds"])))


if __name__ == "__main__":
    main()
