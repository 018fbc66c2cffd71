"""Clients talk on a stage while many others join it at the same instant.

    python3 -m labs.bench.clients.joins '{"stage": {"address": "nginx", "port": 17230, "proxied": true,
        "stage": "rehearsal"}, "joins": 1000, "speakers": 5, "lines_per_second": 20, "seconds": 5}'

The joins run in a separate process with a lower priority (stage_sockets.py): their CPU use must not delay the
speakers, who talk until all have joined. Without joins they talk for `seconds`. Reports the milliseconds of
each line, the report of the joins (null without joins), and the speakers' CPU time.
"""

import asyncio
import json
import sys
import time
from typing import Any

import uvloop

from labs.bench.clients.speakers import Speakers

LONGEST = 60.0  # seconds of talk


async def main(settings: dict[str, Any]) -> dict[str, Any]:
    """Run with these settings; return the report. If the joins failed, exit with their status."""
    rate = settings["lines_per_second"]
    async with Speakers(**settings["stage"], number=settings["speakers"]) as speakers:
        begin, computed = time.perf_counter(), time.process_time()
        joins = None
        if settings["joins"]:
            joining = await start_joins(settings)
            printed = asyncio.create_task(joining.communicate())
            await speakers.talk(rate, LONGEST, over=printed.done)
            joins = json.loads((await printed)[0] or "null")
            if joining.returncode:
                sys.exit(joining.returncode)
        else:
            await speakers.talk(rate, settings["seconds"])
        percent = (time.process_time() - computed) / (time.perf_counter() - begin) * 100
    return {
        "milliseconds": speakers.milliseconds,
        "late_milliseconds": speakers.late_milliseconds,
        "joins": joins,
        "cpu_percent": percent,
    }


async def start_joins(settings: dict[str, Any]) -> asyncio.subprocess.Process:
    """Start the process that makes the joins."""
    wanted = json.dumps({"stage": settings["stage"], "joins": settings["joins"]})
    command = ("nice", sys.executable, "-m", "labs.bench.clients.stage_sockets", wanted)
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


if __name__ == "__main__":
    print(json.dumps(uvloop.run(main(json.loads(sys.argv[1])))))
