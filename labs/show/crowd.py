"""The audience that preloads, arriving by the clock.

    python3 crowd.py '{"address": "nginx", "port": 8000, "host": "upstage.localhost", "page": "/stages/demo",
                       "arrivals_per_second": 10, "seconds": 20}'

Somebody arrives when it is time, whether or not those before have been served (an open loop): a server that
falls behind meets a growing crowd, as it does at a curtain-up. With "at_once": 12 in place of the arrivals
there are always twelve (a closed loop): how many a second the server can do at most.

uvloop, because what the audience's own computers would do takes cores from the house here.

Prints one line of JSON: the milliseconds each of them waited, what failed, how late the arrivals were (their
median), and what this program itself cost.
"""

import asyncio
import json
import resource
import statistics
import sys
import time
from typing import Any

import uvloop

from browser import BadAnswer, Browser

PATIENCE = 30.0  # seconds for a stage to load; who waits longer has left


class Crowd:
    """Everybody who comes, and how it went."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self.milliseconds: list[float] = []
        self.failures: list[str] = []
        self.late_milliseconds = [0.0]  # how long after their turn they came

    async def visit(self) -> None:
        """One of them loads the stage."""
        begin = time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._browser.open_stage()
        except* TimeoutError:
            self.failures.append(f"the stage was not there within {PATIENCE:g} s")
        except* (OSError, EOFError, BadAnswer) as group:
            self.failures.append(str(group.exceptions[0]))
        else:
            self.milliseconds.append((time.perf_counter() - begin) * 1000)

    async def arrive(self, rate: float, seconds: float) -> None:
        """`rate` of them a second, evenly; ends when the last has been served."""
        begin = time.perf_counter()
        async with asyncio.TaskGroup() as visits:
            for number in range(round(rate * seconds)):
                due = begin + number / rate
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                self.late_milliseconds.append((time.perf_counter() - due) * 1000)
                visits.create_task(self.visit())

    async def throng(self, at_once: int, seconds: float) -> None:
        """Always `at_once` of them: each that has been served makes room for the next."""
        end = time.perf_counter() + seconds

        async def queue() -> None:
            while time.perf_counter() < end:
                await self.visit()

        async with asyncio.TaskGroup() as queues:
            for _ in range(at_once):
                queues.create_task(queue())


async def rush(settings: dict[str, Any]) -> dict[str, Any]:
    """Do what the settings say; what is printed."""
    browser = Browser(settings["address"], settings["port"], settings["host"], settings["page"])
    await browser.read_page()
    crowd = Crowd(browser)
    begin, cpu = time.perf_counter(), cpu_seconds()
    if "at_once" in settings:
        await crowd.throng(settings["at_once"], settings["seconds"])
    else:
        await crowd.arrive(settings["arrivals_per_second"], settings["seconds"])
    seconds = time.perf_counter() - begin
    return {
        "requests_each": len(browser.names) + 2,
        "milliseconds": crowd.milliseconds,
        "failures": crowd.failures,
        "late_milliseconds": statistics.median(crowd.late_milliseconds),
        "served_per_second": len(crowd.milliseconds) / seconds,
        "cpu_percent": (cpu_seconds() - cpu) / seconds * 100,
    }


def cpu_seconds() -> float:
    """What this process has cost so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    print(json.dumps(uvloop.run(rush(json.loads(sys.argv[1])))))
