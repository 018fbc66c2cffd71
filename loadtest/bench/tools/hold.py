"""Connections held open that ask again and again: hold_client.py in the generator, the memory from outside.

Settings: `host`, `port`, `path`, `bytes`, `connections`, `every`, `rounds`, `pause`, `patience` as
hold_client.py explains them; `service`, whose memory is looked at.

The server's processes are new ones for each measurement: those of before keep memory that they have freed,
and the next connections would seem to cost less than they do.
"""

import json
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bench.house import House, Problem
from bench.watch import Memory

CLIENT = "/mnt/loadtest/bench/hold_client.py"
SETTLED = 20.0  # seconds for new processes to come to rest
PAUSE = 0.5  # seconds between two looks at them
FOR_THE_CLIENT = ("host", "port", "path", "bytes", "connections", "every", "rounds", "pause", "patience")


def measure(house: House, settings: Mapping[str, Any]) -> dict[str, float]:
    """Hold so many connections. Problem if one was refused, lost, or not answered rightly and in time."""
    house.containers[settings["service"]].kill("HUP")  # nginx and Apache take it as: begin anew
    before = at_rest(house, settings["service"])
    with Memory(house, settings["service"]) as memory:
        wanted = json.dumps({name: settings[name] for name in FOR_THE_CLIENT})
        report = json.loads(house.run("generator", "python3", CLIENT, wanted))
    held = memory.between(report["held_from"], report["held_until"])
    return metrics(report, settings["connections"], before, held)


def at_rest(house: House, service: str) -> int:
    """The server's memory in bytes, when from one look to the next it has changed by less than 1 %."""
    deadline = time.monotonic() + SETTLED
    earlier = 0
    while True:
        now = house.memory_bytes(service)
        if abs(now - earlier) < now / 100:
            return now
        if time.monotonic() > deadline:
            raise Problem(f"the memory of {service} does not come to rest")
        earlier = now
        time.sleep(PAUSE)


def metrics(report: Mapping[str, Any], wanted: int, before: int, held: Sequence[int]) -> dict[str, float]:
    """Make metrics of the client's report, and of the memory before it came and while all were held.

    Problem as `measure`.
    """
    if report["failures"]:
        reasons = "; ".join(f"{why} ({count})" for why, count in report["failures"].items())
        if "replies" in report:
            raise Problem(
                f"{sum(report['failures'].values())} of {wanted} held connections failed: {reasons}"
            )
        raise Problem(f"{report['held']} of {wanted} connections held, then: {reasons}")
    if not held:
        raise Problem("the engine did not tell the memory while the connections were held")
    memory = statistics.median(held)
    return {
        "seconds": report["seconds"],
        "open_seconds": report["open_seconds"],
        "replies_per_second": report["replies"] / report["asking_seconds"],
        "milliseconds": report["milliseconds"],
        "deviation_milliseconds": report["deviation_milliseconds"],
        "p99_milliseconds": report["p99_milliseconds"],
        "late_milliseconds": report["late_milliseconds"],
        "generator_cpu_percent": report["generator_cpu_percent"],
        "errors": 0,
        "memory_bytes": memory,
        "bytes_per_connection": (memory - before) / wanted,
    }
