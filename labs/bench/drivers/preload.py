"""Distant visitors load a whole stage at the same instant: how long until everything has arrived, and what is
lost?

labs/bench/clients/preload.py is the client. Settings: `web` and `stage`, the addresses of both listeners;
`clients`, the visitors; `round_trip`, in milliseconds, and `megabits` a second, of each visitor's link;
`processes` of the client; `timeout`, in seconds; `speakers`; `lines_per_second`, of all speakers together;
`server`, the service whose memory is sampled.

A visitor that did not receive everything does not invalidate the run: it is counted as if it had waited until
`timeout`, whatever the reason. A run is rejected if every visitor failed, or if the generator was the
bottleneck.
"""

from collections.abc import Mapping
from typing import Any

from labs.bench.drivers import report
from labs.bench.lab_stack import LabStack, Problem
from labs.bench.memory import Memory
from labs.bench.percentile import percentile

BUSY = 95.0  # per cent of one core; a generator that uses more is the bottleneck


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Make one run. Raise Problem if every visitor failed, or if the generator was the bottleneck."""
    with Memory(stack, settings["server"]) as memory:
        found = report(stack, {**settings, "visitors": settings["clients"]}, "preload")
    return {**metrics(found, settings["timeout"]), "highest_memory_bytes": float(memory.highest())}


def metrics(found: Mapping[str, Any], timeout: float) -> dict[str, float]:
    """Return the figures of a report; raise Problem as `measure` does."""
    busy = found["cpu_seconds"] / found["seconds"] * 100
    if busy > BUSY:
        raise Problem(f"the generator was the bottleneck: it used {busy:.0f} % of a core")
    finished = [one for one in found["milliseconds"] if one is not None]
    if not finished:
        raise Problem(f"no visitor received the whole stage: {found['failures'][0]}")
    waited = sorted(timeout * 1000 if one is None else one for one in found["milliseconds"])
    return {
        "requests": float(len(finished) * found["requests_each"]),
        "seconds": found["seconds"],
        "p50_milliseconds": percentile(waited, 50),
        "p99_milliseconds": percentile(waited, 99),
        "bytes_per_second": sum(found["bytes"]) / found["seconds"],
        "loaded_percent": len(finished) / len(waited) * 100,
        "chat_p50_milliseconds": percentile(found["chat_milliseconds"], 50),
        "chat_p99_milliseconds": percentile(found["chat_milliseconds"], 99),
        # The speakers' own delay, which the lab's machine adds to every figure of the chat.
        "speakers_late_p99_milliseconds": percentile(found["late_milliseconds"], 99),
        "generator_cpu_percent": busy,
    }
