"""The origin is down: what does a client get?

There are three requests: for a file whose cached copy is fresh, for a page whose copy has expired, and for a
page without a copy. Each metric `..._status` is the status of a response; 0: there was no response.

Settings: `url`, `host`; `file`, the path of the file; `path`, of the page; `lifetime`, of the page, in
seconds; `down`: false leaves the origin running.
"""

import time
import uuid
from collections.abc import Mapping
from typing import Any

from labs.bench.drivers.crowd import ORIGIN, ask
from labs.bench.lab_stack import LabStack, Problem

BACK_WITHIN = 20.0  # seconds in which the server under test must notice that the origin is back


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Measure one outage. Raise Problem if no copy can be cached before it, or the server never recovers."""
    expired, missing = (f"{settings['path']}?{uuid.uuid4().hex}" for _ in range(2))
    for path in (settings["file"], settings["file"], expired):
        if (status := get(stack, settings, path)["status"]) != 200:
            raise Problem(f"before the outage {path} was answered by {status}")
    time.sleep(settings["lifetime"])
    if settings["down"]:
        stack.containers[ORIGIN].kill()
    try:
        found = {
            name: get(stack, settings, path)
            for name, path in (("fresh", settings["file"]), ("expired", expired), ("missing", missing))
        }
    finally:
        stack.containers[ORIGIN].start()  # does nothing if the origin is running
        recover(stack, settings)  # needed by the next cell, too, even if this one is rejected
    return {
        "seconds": sum(one["last_milliseconds"] for one in found.values()) / 1000,
        **{f"{name}_status": one["status"] for name, one in found.items()},
        **{f"{name}_milliseconds": one["last_milliseconds"] for name, one in found.items()},
    }


def get(stack: LabStack, settings: Mapping[str, Any], path: str) -> dict[str, float]:
    """Send one request; return its response's status, 0 if there was none, and `last_milliseconds`."""
    report = ask(stack, {**settings, "path": path}, 1)
    [status] = report["statuses"]
    return {**report, "status": float(status) if status.isdigit() else 0.0}


def recover(stack: LabStack, settings: Mapping[str, Any]) -> None:
    """Wait until a page that was never cached is served again; raise Problem if that takes too long."""
    deadline = time.monotonic() + BACK_WITHIN
    while get(stack, settings, f"{settings['path']}?{uuid.uuid4().hex}")["status"] != 200:
        if time.monotonic() > deadline:
            raise Problem(f"no page {BACK_WITHIN:g} s after the outage")
        time.sleep(0.3)
