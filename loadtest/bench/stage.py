"""What the stage costs: joins, broadcasts, memory and a reader who does not read.

    make bench            prints the table and writes test-results/bench-stage.json

A server of its own runs as a process beside the generator, on loopback and the machine's two cores: read the
figures as ratios. Listeners other than the sampled ones do not read while they are measured: what is sent
to them fits into the kernel's buffers, and the generator stays out of the way.
"""

import argparse
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

REPO = Path(__file__).resolve().parents[2]
SAMPLED = 20  # listeners whose clock is looked at
RATE = 20  # messages a second
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
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "upstage", "serve"],
            env={
                **os.environ,
                "PYTHONPATH": str(REPO / "backend" / "src"),
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
    await asyncio.sleep(PAUSE)
    for task in tasks:
        task.cancel()
    missing = int(seconds * RATE) * len(listeners) - len(heard)
    if missing:
        raise RuntimeError(f"{missing} deliveries are missing: no figure")
    return heard


def spread(values: list[float]) -> dict[str, float]:
    """Median and 99th percentile, in milliseconds."""
    return {
        "p50_ms": round(statistics.median(values), 2),
        "p99_ms": round(statistics.quantiles(values, n=100)[98], 2),
    }


def joins(size: int) -> dict[str, float]:
    """All connect, then all ask at once: seconds until everybody has been told of everybody."""
    with server() as (port, _):
        clients = [Client(port) for _ in range(size)]
        begin = time.perf_counter()
        for client in clients:
            client.join()
        for client in clients:
            client.until(b"aCount=%d&mode=JOINED\0" % size)
        return {"clients": size, "seconds": round(time.perf_counter() - begin, 3)}


def broadcast(size: int, seconds: float) -> dict[str, float]:
    """Delay of a line to `size` listeners, and what each costs in memory."""
    with server() as (port, pid):
        crowd(port, 5)
        before = memory(pid)
        listeners = crowd(port, size)
        per_client = (memory(pid) - before) / size
        result = spread(asyncio.run(delays(port, listeners[:SAMPLED], seconds)))
    return {"listeners": size, **result, "kB_per_client": round(per_client / 1000, 1)}


def stalled(seconds: float) -> dict[str, object]:
    """The same hundred listeners without and with one among them who never reads."""
    with server() as (port, _):
        listeners = crowd(port, 100)
        alone = spread(asyncio.run(delays(port, listeners[:SAMPLED], seconds)))
        for client in listeners[:SAMPLED]:
            client.socket.settimeout(60)
        sleeper = Client(port, receive_buffer=1024)
        sleeper.join()
        speakers = crowd(port, 20)  # several, because one alone would be braked
        for number in range(4000):  # fills the sleeper's kernel buffers
            speakers[number % 20].say("x" * 100)
            time.sleep(0.003)
        with_one = spread(asyncio.run(delays(port, listeners[:SAMPLED], seconds)))
    return {"without": alone, "with_one_stalled": with_one}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the stage.")
    parser.add_argument("--seconds", type=float, default=10, help="of talk for each figure (%(default)s)")
    parser.add_argument("--listeners", type=int, nargs="*", default=[100, 1000, 5000])
    parser.add_argument("--json", type=Path, default=REPO / "test-results" / "bench-stage.json")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    results: dict[str, object] = {}
    print("200 clients join at once ...", flush=True)
    results["joins"] = joins(200)
    print(f"    {results['joins']}")
    rows = []
    for size in options.listeners:
        print(f"{RATE} lines a second to {size} listeners ...", flush=True)
        rows.append(broadcast(size, options.seconds))
        print(f"    {rows[-1]}")
    results["broadcast"] = rows
    print("one who does not read among a hundred ...", flush=True)
    results["stalled"] = stalled(options.seconds)
    print(f"    {results['stalled']}")
    options.json.parent.mkdir(exist_ok=True)
    options.json.write_text(json.dumps(results, indent=2) + "\n")
    print(f"written to {options.json}")


if __name__ == "__main__":
    main()
