"""Requests at a steady rate while something happens to the servers: what do their clients see in each second?

    python3 -m bench.programs.steady '{"addresses": ["10.77.0.11", "10.77.0.12"], "port": 8000,
        "host": "localhost", "path": "/media/bench/k-%04d.swf", "files": 400, "rate": 150, "seconds": 60,
        "headers": ["Range: bytes=0-"]}'

Each client has a server of its own, keeps its connection, and chooses a file at random; if it is refused or
the connection is lost, it asks the next server once, as a browser does for a name with several addresses. A
request fails if that fails too, if it is answered by no 2xx, or by nothing within ten seconds.

Reports `begin`, a Unix time; `p99_milliseconds` of all requests; and `seconds`, a list. Each of them has the
requests `asked` in that second, and of these how many were answered by Varnish as `hits` and `misses`,
`retried`, or `failed`; and the milliseconds of the slowest, of the slowest but one in a hundred (p99), and
of the median.
"""

import asyncio
import json
import random
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bench.percentile import percentile

TIMEOUT = 10.0  # seconds for a request, both attempts together
CONNECT = 2.0  # seconds for a connection
LARGEST = 1 << 24  # bytes of a response

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Second:
    """The requests that were sent within one second."""

    counts: Counter[str] = field(default_factory=Counter)
    milliseconds: list[float] = field(default_factory=list)

    def report(self) -> dict[str, float]:
        """As the module says."""
        return {
            **{name: self.counts[name] for name in ("asked", "hits", "misses", "retried", "failed")},
            "p50_milliseconds": percentile(self.milliseconds, 50),
            "p99_milliseconds": percentile(self.milliseconds, 99),
            "slowest_milliseconds": max(self.milliseconds),
        }


class Clients:
    """The clients of all servers; idle connections are kept for the next request to the same server."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._idle: dict[str, list[Connection]] = {address: [] for address in settings["addresses"]}
        self._random = random.Random(settings.get("seed", 1))
        self.seconds: list[Second] = []

    async def run(self) -> None:
        """Send the requests, each at its time, whether or not the ones before have been answered."""
        rate, seconds = self._settings["rate"], self._settings["seconds"]
        begin = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for number in range(rate * seconds):
                await asyncio.sleep(begin + number / rate - time.monotonic())
                if number % rate == 0:
                    self.seconds.append(Second())
                tasks.create_task(self._client(number, self.seconds[-1]))
        for connections in self._idle.values():
            for _, writer in connections:
                writer.close()

    async def _client(self, number: int, second: Second) -> None:
        addresses = self._settings["addresses"]
        turn = number % len(addresses)
        path = self._settings["path"] % (self._random.randrange(self._settings["files"]) + 1)
        second.counts["asked"] += 1
        begin = time.monotonic()
        try:
            async with asyncio.timeout(TIMEOUT):
                try:
                    head = await self._request(addresses[turn], path)
                except OSError:
                    second.counts["retried"] += 1
                    head = await self._request(addresses[(turn + 1) % len(addresses)], path, fresh=True)
        except (OSError, TimeoutError):
            second.counts["failed"] += 1
        else:
            if not head.startswith("HTTP/1.1 2"):
                second.counts["failed"] += 1
            elif re.search(r"^cache-status: varnish; hit", head, re.I | re.M):
                second.counts["hits"] += 1
            else:
                second.counts["misses"] += 1
        second.milliseconds.append((time.monotonic() - begin) * 1000)

    async def _request(self, address: str, path: str, fresh: bool = False) -> str:
        """Return the head of the response, once the body has arrived. OSError if the connection is lost."""
        reader, writer = await self._connection(address, fresh)
        try:
            headers = "".join(f"{line}\r\n" for line in self._settings.get("headers", []))
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {self._settings['host']}\r\n{headers}\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"^content-length: (\d+)", head, re.I | re.M)
            if not length:
                raise ConnectionError("a response without a length")
            await reader.readexactly(int(length[1]))
        except asyncio.IncompleteReadError as error:
            writer.close()
            raise ConnectionResetError(str(error)) from None
        except BaseException:
            writer.close()
            raise
        if re.search(r"^connection: close", head, re.I | re.M):
            writer.close()
        else:
            self._idle[address].append((reader, writer))
        return head

    async def _connection(self, address: str, fresh: bool) -> Connection:
        idle = self._idle[address]
        while idle and not fresh:
            reader, writer = idle.pop()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        try:
            async with asyncio.timeout(CONNECT):
                return await asyncio.open_connection(address, self._settings["port"], limit=LARGEST)
        except TimeoutError:
            raise ConnectionError("no connection") from None


async def main(settings: dict[str, Any]) -> dict[str, Any]:
    """Run with the settings; returns the report."""
    clients = Clients(settings)
    begin = time.time()
    await clients.run()
    every = [value for second in clients.seconds for value in second.milliseconds]
    return {
        "begin": begin,
        "p99_milliseconds": percentile(every, 99),
        "seconds": [second.report() for second in clients.seconds],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
