"""The article's 18 steps between a browser and a server, timed in a real browser: prints a table in Markdown.

    .venv/bin/python -m labs.bench.clients.conversation http://upstage.localhost:8080/stages/demo

Chromium opens the page three times: near; through a link (link.py) with a round trip of 100 ms and 8 Mbit/s;
and through the same link once more, with the files that its cache has kept. The figures are those of the page
and of its largest file, from Navigation Timing, Resource Timing and the server's Server-Timing.
"""

import asyncio
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page, Response, async_playwright

from labs.bench.clients.distance import copy
from labs.bench.clients.link import Link

NEAR = {"round_trip": 0.0, "megabits": None}
FAR = {"round_trip": 100.0, "megabits": 8.0}

# The stage's own script empties the list of Resource Timing, so an observer keeps a copy.
OBSERVE = """
window.entries = [];
const keep = (list) => entries.push(...list.getEntries().map((one) => one.toJSON()));
new PerformanceObserver(keep).observe({ type: "resource", buffered: true });
"""
# The page's own entry, its first paint, its largest file, and how many files came over the network.
TIMINGS = """() => ({
  page: performance.getEntriesByType("navigation")[0].toJSON(),
  paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
  largest: entries.reduce((one, other) => (other.decodedBodySize > one.decodedBodySize ? other : one)),
  files: entries.length,
  sent: entries.filter((entry) => entry.transferSize > 0).length,
})"""


@dataclass(frozen=True)
class Visit:
    """One opening of the page; `launched`: the milliseconds of the browser's start, 0 for a second visit."""

    launched: float
    timings: Mapping[str, Any]
    headers: Mapping[str, str]
    status: int

    def between(self, begin: str, end: str) -> str:
        """Milliseconds between two moments of the page's entry."""
        page = self.timings["page"]
        return f"{page[end] - page[begin]:.1f} ms"

    def servers(self) -> str:
        """The servers' own reports of what they did, and for how long."""
        return "; ".join(
            f"{one['name']}: {one['description']}"
            + (f", {one['duration']:.0f} ms" if one["duration"] else "")
            for one in self.timings["page"]["serverTiming"]
        )

    def largest(self) -> str:
        """The source of the largest file: the browser's cache, or the network."""
        largest = self.timings["largest"]
        return f"{largest['transferSize']:,} of {largest['decodedBodySize']:,} bytes from the network"

    def steps(self) -> list[str]:
        """The measurement of each of the 18 steps."""
        page, paint = self.timings["page"], self.timings["paint"]
        painted = f"{paint:.0f} ms" if paint is not None else "an unknown time"
        return [
            f"{self.launched:.0f} ms" if self.launched else "already running",
            "0",
            f"{self.between('startTime', 'fetchStart')}; largest file: {self.largest()}",
            self.between("domainLookupStart", "domainLookupEnd"),
            *["part of 4"] * 2,
            self.between("connectStart", "connectEnd"),
            f"{self.between('requestStart', 'responseStart')} there and back",
            "part of 8",
            self.servers() or "not told",
            self.between("responseStart", "responseEnd"),
            f"stays open ({page['nextHopProtocol']})",
            str(self.status),
            f"`{self.headers.get('cache-control', 'not told')}`",
            f"{page['encodedBodySize']:,} to {page['decodedBodySize']:,} bytes",
            f"`{self.headers.get('content-type', 'not told')}`",
            f"{self.between('responseEnd', 'domContentLoadedEventEnd')}; first paint at {painted}",
            f"{self.timings['sent']} of {self.timings['files']} files sent; all there at "
            f"{page['loadEventEnd']:.0f} ms",
        ]


STEPS = [
    ("The user launches a browser", "this program's clock"),
    ("types a URL", "`startTime`: the clock starts"),
    ("The browser looks into its cache", "`fetchStart`; `transferSize`"),
    ("asks the system for the address", "`domainLookupStart` to `End`"),
    ("The system looks into its hosts file", "the same"),
    ("and asks DNS", "the same"),
    ("The browser opens a TCP connection", "`connectStart` to `End`; the link's handshake is in 8"),
    ("The request crosses the internet", "`requestStart` to `responseStart`"),
    ("The browser sends GET", "the same; `make trace` begins here"),
    ("The server finds the resource", "`Server-Timing`; each line of `make trace`"),
    ("The browser receives the response", "`responseStart` to `responseEnd`"),
    ("The server closes the connection", "`nextHopProtocol`"),
    ("The browser reads the status", "`responseStatus`; `make trace`, line 2"),
    ("stores the response", "`Cache-Control`"),
    ("decodes it", "`encodedBodySize`, `decodedBodySize`"),
    ("decides what to do with it", "`Content-Type`"),
    ("renders it", "`responseEnd` to `domContentLoadedEventEnd`"),
    ("The user views it", "`loadEventEnd`"),
]


def table(near: Visit, far: Visit, again: Visit) -> str:
    """The table."""
    rows = ["| | step | measured by | near | 100 ms, 8 Mbit/s | there again |", "|---|---|---|---|---|---|"]
    measured = zip(STEPS, near.steps(), far.steps(), again.steps(), strict=True)
    for number, ((step, source), *figures) in enumerate(measured, 1):
        rows.append(f"| {number} | {step} | {source} | {' | '.join(figures)} |")
    return "\n".join(rows)


async def open_page(page: Page, url: str, launched: float) -> Visit:
    """Open the page and read its timings, once everything has been loaded."""
    response = await page.goto(url, wait_until="networkidle")
    assert isinstance(response, Response)
    await page.wait_for_function("performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
    return Visit(launched, await page.evaluate(TIMINGS), await response.all_headers(), response.status)


async def visits(url: str, link_settings: Mapping[str, Any], number: int) -> list[Visit]:
    """Open the page `number` times in one browser, through one link."""
    address = urlsplit(url)
    link = Link(**link_settings)

    async def relay(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await link.connect("127.0.0.1", address.port or 80)
        await asyncio.gather(copy(client, to_server), copy(server, to_client))

    relaying = await asyncio.start_server(relay, "127.0.0.1", 0)
    port = relaying.sockets[0].getsockname()[1]
    rule = f"--host-resolver-rules=MAP {address.hostname}:{address.port or 80} 127.0.0.1:{port}"
    async with async_playwright() as playwright:
        begin = time.perf_counter()
        browser: Browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", rule]
        )
        launched = (time.perf_counter() - begin) * 1000
        context = await browser.new_context()
        made: list[Visit] = []
        for _ in range(number):
            page = await context.new_page()
            await page.add_init_script(OBSERVE)
            made.append(await open_page(page, url, 0.0 if made else launched))
            await page.close()
        await browser.close()
    relaying.close()
    return made


async def main(url: str) -> str:
    """The table for a page of the running stack."""
    [near] = await visits(url, NEAR, 1)
    far, again = await visits(url, FAR, 2)
    return table(near, far, again)


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1])))
