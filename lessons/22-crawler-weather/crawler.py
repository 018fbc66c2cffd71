"""A crawler with hundreds of addresses: thirty requests a second for half a minute; it repeats no URL.

It runs in Locust's container, because on nginx's port 8001, which is not published, each connection states
its own address (the PROXY protocol). It prints the statuses that the crawler got.
"""

import asyncio
import random
import sys
from collections import Counter

RATE = 30  # requests a second
SECONDS = 25
PAGES = 5


async def ask(number: int, word: str) -> str:
    """Send one request from an address of its own; return the status."""
    arguments = [f"{word}-{random.randint(1, PAGES)}", f"trail-{random.getrandbits(32):08x}"]
    random.shuffle(arguments)
    address = f"198.18.{number // 250}.{number % 250 + 1}"  # 198.18.0.0/15 is for load tests (RFC 2544)
    reader, writer = await asyncio.open_connection("nginx", 8001)
    lines = [
        f"PROXY TCP4 {address} 127.0.0.1 40000 8001",
        f"GET /slow?{'&'.join(arguments)} HTTP/1.1",
        "Host: localhost",
        "Connection: close",
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    response = await reader.read()
    writer.close()
    return response[9:12].decode() or "no answer"


async def main(word: str) -> None:
    """Send the requests when they are due, whatever happens to earlier ones."""
    asked = []
    for number in range(RATE * SECONDS):
        asked.append(asyncio.create_task(ask(number, word)))
        await asyncio.sleep(1 / RATE)
    got = Counter(await asyncio.gather(*asked))
    statuses = ", ".join(f"{status} {times} times" for status, times in got.items())
    print(f"The crawler, each time from another address, got {statuses}.")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
