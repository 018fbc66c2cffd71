"""Many listeners on one stage: the delay of a line to each, and the cost of a listener to the server.

    python -m labs.bench.clients.fan_out '{"listeners": 1000, "stalled": 0, "seconds": 10}'

Runs in the backend's container and starts a new server on loopback for each measurement, so that memory of an
earlier one does not count. Listeners that are not sampled do not read during the measurement: the kernel's
buffers hold the data sent to them, and the generator uses little CPU.
"""

import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labs.bench.clients.stage_sockets import raise_file_limit
from labs.bench.percentile import percentile

SAMPLED = 20  # listeners whose delay is measured
RATE = 20  # lines a second
LATEST = 20  # seconds in which the last line must arrive
PAUSE = 0.5  # seconds for the server to become idle before a measurement


class Client:
    """One connection to the stage socket, blocking until `listen` reads from it."""

    def __init__(self, port: int, receive_buffer: int = 0) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(60)
        self.socket.connect(("127.0.0.1", port))
        self.rest = b""

    def join(self) -> None:
        """Request to join the demo stage, without reading the reply."""
        self.socket.sendall(b"PROXY TCP4 127.0.0.1 127.0.0.1 1 1\r\nstage_ID=demo&mode=JOIN\0")

    def until(self, wanted: bytes) -> None:
        """Read up to a frame that contains these bytes; raise TimeoutError after 60 s of silence."""
        while wanted not in self.rest:
            data = self.socket.recv(1 << 18)
            if not data:
                raise ConnectionError("the server closed the connection")
            self.rest = (self.rest + data)[-4096:]

    def say(self, text: str) -> None:
        """Send one line of the chat."""
        self.socket.sendall(f"msg={text}&mode=TEXT\0".encode())


@contextmanager
def server() -> Iterator[tuple[int, int]]:
    """Start a new server; yield the port of its stage socket, and its process ID."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    web, stage, metrics = (probe.getsockname()[1] for probe in probes)
    for probe in probes:
        probe.close()
    # The container's own server uses the sockets and ports in its UPSTAGE_ variables.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("UPSTAGE_")}
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "upstage", "serve"],
            env={
                **inherited,
                "UPSTAGE_DATA": f"{folder}/data",
                "UPSTAGE_MEDIA": f"{folder}/media",
                "UPSTAGE_WEB_ENDPOINT": f"tcp:{web}:interface=127.0.0.1",
                "UPSTAGE_METRICS_ENDPOINT": f"tcp:{metrics}:interface=127.0.0.1",
                "UPSTAGE_FESTIVAL": "off",
                "UPSTAGE_CONNECTIONS_PER_ADDRESS": "100000",  # all listeners have one address
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
    """Return the resident memory of a process, in bytes."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far: utime and stime of proc(5)."""
    utime, stime = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(utime) + int(stime)) / os.sysconf("SC_CLK_TCK")


def audience(port: int, size: int) -> list[Client]:
    """Return `size` clients, all joined."""
    clients = [Client(port) for _ in range(size)]
    for client in clients:
        client.join()
    for client in clients:
        client.until(b"mode=JOINED\0")
    return clients


async def delays(port: int, listeners: list[Client], seconds: float) -> list[float]:
    """Say RATE lines a second; return the milliseconds until each sampled listener received each line."""
    loop = asyncio.get_running_loop()
    found: list[float] = []

    async def listen(client: Client) -> None:
        client.socket.setblocking(False)
        rest = b""
        while True:
            data = await loop.sock_recv(client.socket, 1 << 18)
            now = time.perf_counter()
            *frames, rest = (rest + data).split(b"\0")
            for frame in frames:
                if frame.startswith(b"text=at-"):
                    found.append((now - float(frame[8 : frame.index(b"&")])) * 1000)

    speaker = audience(port, 1)[0]
    tasks = [asyncio.create_task(listen(client)) for client in listeners]
    await asyncio.sleep(PAUSE)
    found.clear()
    begin = loop.time()
    for number in range(int(seconds * RATE)):
        await asyncio.sleep(max(0.0, begin + number / RATE - loop.time()))
        speaker.say(f"at-{time.perf_counter():.6f}")
    expected = int(seconds * RATE) * len(listeners)
    while len(found) < expected and loop.time() < begin + seconds + LATEST:
        await asyncio.sleep(PAUSE)
    for task in tasks:
        task.cancel()
    if len(found) != expected:
        raise RuntimeError(f"{len(found)} deliveries instead of {expected}")
    return found


def stall(port: int) -> Client:
    """Add a client that never reads, and send enough chat lines to fill the kernel's buffers for it."""
    stalled = Client(port, receive_buffer=1024)
    stalled.join()
    speakers = audience(port, 20)  # several, because the server limits the rate of each
    for number in range(4000):
        speakers[number % 20].say("x" * 100)
        time.sleep(0.003)
    return stalled  # the caller keeps it: without a reference, the connection would be closed


def measure(size: int, stalled: int, seconds: float) -> dict[str, float]:
    """Return the delay of a line to `size` listeners, the time until all joined, the memory of each, and both
    programs' CPU use.
    """
    with server() as (port, pid):
        audience(port, 5)
        before = memory(pid)
        begin = time.perf_counter()
        listeners = audience(port, size)
        joined = time.perf_counter() - begin
        each = (memory(pid) - before) / size
        stalled_clients = [stall(port) for _ in range(stalled)]
        begin, computed, own = time.perf_counter(), cpu_seconds(pid), time.process_time()
        found = asyncio.run(delays(port, listeners[:SAMPLED], seconds))
        took = time.perf_counter() - begin
        server_seconds, generator_seconds = cpu_seconds(pid) - computed, time.process_time() - own
        del stalled_clients
    return {
        "p50_milliseconds": percentile(found, 50),
        "p95_milliseconds": percentile(found, 95),
        "p99_milliseconds": percentile(found, 99),
        "join_milliseconds": joined * 1000,
        "memory_bytes_per_listener": each,
        "server_cpu_percent": server_seconds / took * 100,
        "generator_cpu_percent": generator_seconds / took * 100,
    }


def main() -> None:
    settings = json.loads(sys.argv[1])
    raise_file_limit()
    print(json.dumps(measure(settings["listeners"], settings["stalled"], settings["seconds"])))


if __name__ == "__main__":
    main()
