"""Many clients that ask for one URL at the same instant.

    python3 -m labs.bench.clients.crowd '{"host": "upstage.localhost", "address": "nginx", "port": 8000,
        "path": "/stages/demo", "clients": 200}'

Every client connects first; then all requests are sent, before any response is read. Reports the number of
responses with each status, and the milliseconds from the requests to the end of the first and of the last
response.
"""

import asyncio
import json
import re
import sys
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import uvloop

TIMEOUT = 10.0  # seconds for a response


async def status(reader: asyncio.StreamReader) -> str:
    """Read a response until the server closes the connection; return its status, or `no response`."""
    response = b""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(TIMEOUT):
            response = await reader.read(-1)
    found = re.match(rb"HTTP/1\.[01] (\d{3}) ", response)
    return found[1].decode() if found else "no response"


async def main(settings: dict[str, Any]) -> dict[str, Any]:
    """Run with these settings; return the report."""
    request = (
        f"GET {settings['path']} HTTP/1.1\r\nHost: {settings['host']}\r\n"
        "Accept-Encoding: gzip\r\nConnection: close\r\n\r\n"
    ).encode()
    connections = [
        await asyncio.open_connection(settings["address"], settings["port"], limit=2**24)
        for _ in range(settings["clients"])
    ]
    begin = time.perf_counter()
    for _, writer in connections:
        writer.write(request)
    finished: list[float] = []

    async def finish(reader: asyncio.StreamReader) -> str:
        found = await status(reader)
        finished.append((time.perf_counter() - begin) * 1000)
        return found

    statuses = await asyncio.gather(*(finish(reader) for reader, _ in connections))
    return {
        "statuses": Counter(statuses),
        "first_milliseconds": min(finished),
        "last_milliseconds": max(finished),
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(main(json.loads(sys.argv[1])))))
