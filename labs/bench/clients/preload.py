"""Distant visitors open a stage at the same instant, while clients talk on another stage.

    python3 -m labs.bench.clients.preload '{
        "web": {"address": "nginx", "port": 8000, "host": "upstage.localhost", "page": "/stages/festival"},
        "stage": {"address": "nginx", "port": 17230, "proxied": true, "stage": "demo"},
        "visitors": 100, "round_trip": 20, "megabits": 8, "processes": 2, "timeout": 60,
        "speakers": 5, "lines_per_second": 20}'

Each visitor loads the page and all its files over six connections, through its own link (link.py). After
`timeout` seconds it gives up. The speakers are near, so that their lines show the servers' delay alone. The
visitors are in other processes, with a lower priority: they must not delay the speakers.

Reports, for each visitor, the milliseconds until the last byte or null, and the bytes; the failures; the
seconds until the last visitor has finished; the milliseconds of each line; the CPU seconds of the busiest
process.
"""

import asyncio
import json
import sys
import time
from typing import Any

import uvloop

from labs.bench.clients.browser import Browser
from labs.bench.clients.link import Link
from labs.bench.clients.speakers import Speakers

LEAD = 0.2  # seconds from when all processes are ready until all visitors begin


async def visitor(settings: dict[str, Any], files: list[str]) -> dict[str, Any]:
    """Load the stage as one visitor; return milliseconds (None if that failed), bytes, and the failure."""
    link = Link(settings["round_trip"], settings["megabits"])
    browser = Browser(**settings["web"], connect=link.connect)
    browser.files = files
    begin = time.perf_counter()
    failure = await browser.visit(settings["timeout"])
    milliseconds = None if failure else (time.perf_counter() - begin) * 1000
    return {"milliseconds": milliseconds, "bytes": browser.received, "failure": failure}


async def visitors(settings: dict[str, Any]) -> dict[str, Any]:
    """Run the visitors of one process. It prints a line when it is ready, and then reads when to begin."""
    browser = Browser(**settings["web"])
    await browser.read_page()
    print("ready", flush=True)
    begin = float(sys.stdin.readline())  # may block: there is nothing else to do yet
    await asyncio.sleep(begin - time.time())
    cpu = time.process_time()
    reports = await asyncio.gather(*(visitor(settings, browser.files) for _ in range(settings["visitors"])))
    return {
        "requests_each": len(browser.files) + 2,
        "visitors": reports,
        "seconds": time.time() - begin,
        "cpu_seconds": time.process_time() - cpu,
    }


async def start(settings: dict[str, Any], number: int) -> asyncio.subprocess.Process:
    """Start a process with its share of the visitors."""
    part, rest = divmod(settings["visitors"], settings["processes"])
    own = json.dumps({**settings, "visitors": part + (number < rest), "part": number})
    command = ("nice", sys.executable, "-m", "labs.bench.clients.preload", own)
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)


async def main(settings: dict[str, Any]) -> dict[str, Any]:
    """Run with these settings; return the report."""
    if "part" in settings:
        return await visitors(settings)
    async with Speakers(**settings["stage"], number=settings["speakers"]) as speakers:
        processes = [await start(settings, number) for number in range(settings["processes"])]
        try:
            for process in processes:
                assert process.stdout
                if not await process.stdout.readline():
                    sys.exit(await process.wait())  # the process has printed the reason
            begin = f"{time.time() + LEAD}\n".encode()
            loading = asyncio.gather(*(process.communicate(begin) for process in processes))
            await asyncio.sleep(LEAD)
            await speakers.talk(settings["lines_per_second"], 2 * settings["timeout"], loading.done)
            reports = [json.loads(printed) for printed, _ in await loading]
        finally:
            for process in processes:
                if process.returncode is None:
                    process.kill()
    everyone = [one for report in reports for one in report["visitors"]]
    return {
        "requests_each": reports[0]["requests_each"],
        "milliseconds": [one["milliseconds"] for one in everyone],
        "bytes": [one["bytes"] for one in everyone],
        "failures": [one["failure"] for one in everyone if one["failure"]],
        "seconds": max(report["seconds"] for report in reports),
        "chat_milliseconds": speakers.milliseconds,
        "late_milliseconds": speakers.late_milliseconds,
        "cpu_seconds": max(report["cpu_seconds"] for report in reports),
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(main(json.loads(sys.argv[1])))))
