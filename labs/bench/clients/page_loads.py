"""Visitors load a stage's page and files, on schedule.

    python3 -m labs.bench.clients.page_loads '{"address": "nginx", "port": 8000, "host": "upstage.localhost",
        "page": "/stages/demo", "page_loads_per_second": 10, "seconds": 20}'

Page loads start when they are due, whether or not earlier ones have finished (an open loop): a server that
falls behind has more and more to do at once, as at the beginning of a performance. With "at_once": 12 in
place of the rate, twelve page loads run at any time (a closed loop): the most that the server can do.

It uses uvloop, because the page loads take CPU time from servers on the same machine.

Reports the milliseconds of each page load, the failures, the median delay of the starts, and this program's
CPU use.
"""

import asyncio
import json
import statistics
import sys
import time
from typing import Any

import uvloop

from labs.bench.clients.browser import Browser

TIMEOUT = 30.0  # seconds for a page load


class PageLoads:
    """All page loads, and their results."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self.milliseconds: list[float] = []
        self.failures: list[str] = []
        self.late_milliseconds = [0.0]  # the delay of each start

    async def load(self) -> None:
        """Make one page load, and note its milliseconds, or why it failed."""
        begin = time.perf_counter()
        if failure := await self._browser.visit(TIMEOUT):
            self.failures.append(failure)
        else:
            self.milliseconds.append((time.perf_counter() - begin) * 1000)

    async def on_schedule(self, rate: float, seconds: float) -> None:
        """Make `rate` page loads a second, evenly spread; return when the last one has finished."""
        begin = time.perf_counter()
        async with asyncio.TaskGroup() as loads:
            for number in range(round(rate * seconds)):
                due = begin + number / rate
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                self.late_milliseconds.append((time.perf_counter() - due) * 1000)
                loads.create_task(self.load())

    async def at_once(self, number: int, seconds: float) -> None:
        """Keep `number` page loads running: when one has finished, start the next."""
        end = time.perf_counter() + seconds

        async def one_after_another() -> None:
            while time.perf_counter() < end:
                await self.load()

        async with asyncio.TaskGroup() as visitors:
            for _ in range(number):
                visitors.create_task(one_after_another())


async def main(settings: dict[str, Any]) -> dict[str, Any]:
    """Run with these settings; return the report."""
    browser = Browser(settings["address"], settings["port"], settings["host"], settings["page"])
    await browser.read_page()
    loads = PageLoads(browser)
    begin, cpu = time.perf_counter(), time.process_time()
    if "at_once" in settings:
        await loads.at_once(settings["at_once"], settings["seconds"])
    else:
        await loads.on_schedule(settings["page_loads_per_second"], settings["seconds"])
    seconds = time.perf_counter() - begin
    return {
        "requests_each": len(browser.files) + 2,
        "milliseconds": loads.milliseconds,
        "failures": loads.failures,
        "late_milliseconds": statistics.median(loads.late_milliseconds),
        "served_per_second": len(loads.milliseconds) / seconds,
        "cpu_percent": (time.process_time() - cpu) / seconds * 100,
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(main(json.loads(sys.argv[1])))))
