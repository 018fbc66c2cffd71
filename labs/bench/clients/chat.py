"""Clients talk on a stage while other clients load its page and files.

    python3 -m labs.bench.clients.chat '{
        "web": {"address": "nginx", "port": 8000, "host": "upstage.localhost", "page": "/stages/demo"},
        "stage": {"address": "nginx", "port": 17230, "proxied": true, "stage": "demo"},
        "speakers": 10, "lines_per_second": 100, "seconds": 15, "page_loads_per_second": 6}'

The page loads run in a separate process with a lower priority: their CPU use must not delay the speakers.
Reports the milliseconds of each line, the report of page_loads.py (null without page loads), and the
speakers' CPU time.
"""

import asyncio
import json
import sys
import time
from typing import Any

import uvloop

from labs.bench.clients.speakers import Speakers

LEAD = 2.0  # seconds of page loads before the first line
TAIL = 0.5  # seconds of page loads after the last line


async def main(settings: dict[str, Any]) -> dict[str, Any]:
    """Run with these settings; return the report."""
    loads = await start_page_loads(settings) if settings["page_loads_per_second"] else None
    try:
        async with Speakers(**settings["stage"], number=settings["speakers"]) as speakers:
            await asyncio.sleep(LEAD)
            begin, cpu = time.perf_counter(), time.process_time()
            await speakers.talk(settings["lines_per_second"], settings["seconds"])
            percent = (time.process_time() - cpu) / (time.perf_counter() - begin) * 100
        return {
            "milliseconds": speakers.milliseconds,
            "late_milliseconds": speakers.late_milliseconds,
            "cpu_percent": percent,
            "page_loads": await report_of(loads) if loads else None,
        }
    finally:
        if loads and loads.returncode is None:
            loads.kill()


async def start_page_loads(settings: dict[str, Any]) -> asyncio.subprocess.Process:
    """Start the page loads, which last as long as the speakers will talk."""
    loads = settings["web"] | {
        "page_loads_per_second": settings["page_loads_per_second"],
        "seconds": LEAD + settings["seconds"] + TAIL,
    }
    command = ("nice", sys.executable, "-m", "labs.bench.clients.page_loads", json.dumps(loads))
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


async def report_of(loads: asyncio.subprocess.Process) -> Any:
    """Return the report of the page loads, after the last one; if they failed, exit with their status."""
    printed, _ = await loads.communicate()
    if loads.returncode:
        sys.exit(loads.returncode)
    return json.loads(printed)


if __name__ == "__main__":
    print(json.dumps(uvloop.run(main(json.loads(sys.argv[1])))))
