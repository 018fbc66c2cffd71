"""A crowd requests one page at the same instant, while the origin is slow: how many requests reach it?

The origin's container is paused, so that no request is answered before the last one has arrived: the number
does not depend on either side's speed. The page is `path` with a different query each time.

Settings: `url`, `host`, `path`; `clients`, the size of the crowd; `standstill`, how many seconds the origin
is paused; `copy`: "expired", if the page was cached and its lifetime has just ended, or "none"; `lifetime`,
of the page, in seconds.
"""

import re
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from labs.bench.drivers import report, with_address
from labs.bench.lab_stack import LabStack, Problem

ORIGIN = "backend"
# The backend's own count, which includes a request when the request ends.
COUNT = ["curl", "-sf", "http://backend:9110/metrics"]


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Measure one crowd. Raise Problem if a response is missing."""
    page = {**settings, "path": f"{settings['path']}?{uuid.uuid4().hex}"}
    if settings["copy"] == "expired":
        ask(stack, page, 1)
        time.sleep(settings["lifetime"])
    before = requests_to_origin(stack)
    with ThreadPoolExecutor(1) as pool:
        stack.containers[ORIGIN].pause()
        try:
            asking = pool.submit(ask, stack, page, settings["clients"])
            time.sleep(settings["standstill"])
        finally:
            stack.containers[ORIGIN].unpause()
        found = asking.result()
    statuses = found["statuses"]
    if lost := statuses.get("no response"):
        raise Problem(f"{lost} of {sum(statuses.values())} requests had no response")
    return {
        "requests_to_origin": requests_to_origin(stack) - before,
        "served": float(statuses.get("200", 0)),
        "first_milliseconds": found["first_milliseconds"],
        "last_milliseconds": found["last_milliseconds"],
    }


def ask(stack: LabStack, settings: Mapping[str, Any], clients: int) -> dict[str, Any]:
    """Return the report of labs/bench/clients/crowd.py for that many clients."""
    return report(stack, {**with_address(settings), "clients": clients}, "crowd")


def requests_to_origin(stack: LabStack, kind: str = "stage") -> float:
    """Return the number of requests of a kind, such as for stages, that the origin has answered so far."""
    counted = rf'^upstage_http_request_seconds_count{{path="{kind}".*}} (\S+)$'  # one line for each status
    return sum(map(float, re.findall(counted, stack.run("generator", *COUNT), re.M)))
