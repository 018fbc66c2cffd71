"""A whole machine with little memory: clients hold their connections, and load a page or a film now and then.

The kernel keeps films in memory that no process needs (its page cache); other films are read from the disk.

Settings: those of open_connections, and `film_in` and `film` (labs/bench/clients/hold_connections.py).
"""

import statistics
from collections.abc import Mapping
from typing import Any

from labs.bench.drivers import open_connections, report
from labs.bench.lab_stack import LabStack
from labs.bench.memory import Memory


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Hold that many connections. Raise Problem if one is refused or lost, or a response is wrong or late."""
    load_every_film(stack, settings)
    before = open_connections.fresh(stack, settings["service"])
    read = disk_bytes(stack)
    with Memory(stack, settings["service"]) as memory:
        found = report(stack, settings, "hold_connections")
    read = disk_bytes(stack) - read
    held = memory.between(found["held_from"], found["held_until"])
    metrics = open_connections.metrics(found, settings["connections"], before, held)
    return {
        **metrics,
        "page_cache_bytes": statistics.median(usage.page_cache_bytes for usage in held),
        "film_p95_milliseconds": found["film_p95_milliseconds"],
        "disk_percent": read / (found["films"] * settings["film"]["bytes"]) * 100,
    }


def load_every_film(stack: LabStack, settings: Mapping[str, Any]) -> None:
    """Fill the page cache by requesting each film once."""
    film = settings["film"]
    url = f"http://{settings['host']}:{settings['port']}" + film["path"].format(f"[1-{film['of']}]")
    stack.run("generator", "curl", "-fsS", "-o", "/dev/null", "-H", f"Host: {film['vhost']}", url)


def disk_bytes(stack: LabStack) -> int:
    """Return the bytes that this machine's disks have read since it was started; the kernel counts in KiB."""
    counters = dict(line.split() for line in stack.run("generator", "cat", "/proc/vmstat").splitlines())
    return int(counters["pgpgin"]) * 1024
