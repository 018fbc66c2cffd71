"""Visitors at a distance load a whole stage, all at once: how long until everything has arrived, and what is
lost?

clients/preload.py is the client. Settings: `web` and `stage`, the addresses of both listeners; `clients`,
the visitors; `round_trip`, in milliseconds, and `megabits` a second, of each visitor's link; `processes` of
the client; `timeout`, in seconds; `speakers`; `lines_per_second`, of all speakers together; `server`, the
service whose memory is sampled.

A visitor that did not receive everything does not invalidate the run: it is a figure, and counts as if it
had waited until `timeout`, whatever the reason. A run is rejected if every visitor failed, or if the
generator was the bottleneck.
"""

import json
from collections.abc import Mapping
from typing import Any

from bench.lab_stack import LabStack, Problem
from bench.memory import Memory
from bench.percentile import percentile

FOR_THE_PROGRAM = (
    *("web", "stage", "round_trip", "megabits", "processes", "timeout", "speakers", "lines_per_second"),
)
BUSY = 95.0  # per cent of one core: above it, the generator itself is measured


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """One run."""
    wanted = {name: settings[name] for name in FOR_THE_PROGRAM} | {"visitors": settings["clients"]}
    with Memory(stack, settings["server"]) as memory:
        printed = stack.run("generator", "python3", "-m", "bench.clients.preload", json.dumps(wanted))
    return {
        **metrics(json.loads(printed), settings["timeout"]),
        "highest_memory_bytes": float(memory.highest()),
    }


def metrics(report: Mapping[str, Any], timeout: float) -> dict[str, float]:
    """The figures of a report; raise Problem as `measure` does."""
    busy = report["cpu_seconds"] / report["seconds"] * 100
    if busy > BUSY:
        raise Problem(f"the generator was the bottleneck: it used {busy:.0f} % of a core")
    finished = [one for one in report["milliseconds"] if one is not None]
    if not finished:
        raise Problem(f"no visitor received the whole stage: {report['failures'][0]}")
    waited = sorted(timeout * 1000 if one is None else one for one in report["milliseconds"])
    return {
        "requests": float(len(finished) * report["requests_each"]),
        "seconds": report["seconds"],
        "p50_milliseconds": percentile(waited, 50),
        "p99_milliseconds": percentile(waited, 99),
        "bytes_per_second": sum(report["bytes"]) / report["seconds"],
        "loaded_percent": len(finished) / len(waited) * 100,
        "chat_p50_milliseconds": percentile(report["chat_milliseconds"], 50),
        "chat_p99_milliseconds": percentile(report["chat_milliseconds"], 99),
        # The speakers' own delay, which this machine adds to every figure of the chat.
        "speakers_late_p99_milliseconds": percentile(report["late_milliseconds"], 99),
        "generator_cpu_percent": busy,
    }
