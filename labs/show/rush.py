"""The stage during the rush: a cast talks while an audience preloads.

    python3 rush.py '{"web": {"address": "nginx", "port": 8000, "host": "upstage.localhost",
                              "page": "/stages/demo"},
                      "stage": {"address": "nginx", "port": 17230, "proxied": true, "stage": "demo"},
                      "cast": 10, "lines_per_second": 100, "seconds": 15, "arrivals_per_second": 6}'

The crowd is a process of its own, behind the cast in the queue for the processor: what one of them needs must
not be measured as a delay of the other. Prints one line of JSON: the milliseconds of each line, how the crowd
fared (crowd.py; null if nobody came), and what the cast itself cost.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import uvloop

from cast import Cast
from crowd import cpu_seconds

LEAD = 2.0  # seconds of rush before anything is measured
TAIL = 0.5  # and after the last line was said

CROWD = Path(__file__).with_name("crowd.py")


async def rush(settings: dict[str, Any]) -> dict[str, Any]:
    """Do what the settings say; what is printed."""
    crowd = await let_in(settings) if settings["arrivals_per_second"] else None
    try:
        async with Cast(**settings["stage"], size=settings["cast"]) as cast:
            await asyncio.sleep(LEAD)
            begin, cpu = time.perf_counter(), cpu_seconds()
            await cast.talk(settings["lines_per_second"], settings["seconds"])
            percent = (cpu_seconds() - cpu) / (time.perf_counter() - begin) * 100
        return {
            "milliseconds": cast.milliseconds,
            "late_milliseconds": cast.late_milliseconds,
            "cpu_percent": percent,
            "crowd": await report_of(crowd) if crowd else None,
        }
    finally:
        if crowd and crowd.returncode is None:
            crowd.kill()


async def let_in(settings: dict[str, Any]) -> asyncio.subprocess.Process:
    """Begin the rush; it lasts as long as the cast will talk."""
    crowd = settings["web"] | {
        "arrivals_per_second": settings["arrivals_per_second"],
        "seconds": LEAD + settings["seconds"] + TAIL,
    }
    return await asyncio.create_subprocess_exec(
        "nice", sys.executable, CROWD, json.dumps(crowd), stdout=asyncio.subprocess.PIPE
    )


async def report_of(crowd: asyncio.subprocess.Process) -> Any:
    """What the crowd says when the last of it has been served; if it failed, it has said why."""
    said, _ = await crowd.communicate()
    if crowd.returncode:
        sys.exit(crowd.returncode)
    return json.loads(said)


if __name__ == "__main__":
    print(json.dumps(uvloop.run(rush(json.loads(sys.argv[1])))))
