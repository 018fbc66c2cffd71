"""wrk, for labs whose client must speak HTTP/1.1 or request more than one URL.

With ab, which speaks HTTP/1.0, nginx would not compress.

Settings: `url` and `path`; `host`, the Host header; `clients`; `keepalive`; `seconds`, rounded up to whole
seconds; `headers`, a list of header lines; `bytes`, the minimum length of a response. For a page and its
files: `elements`, their number, and `element`, their path, to which the driver adds a number; wrk requests
all of them in turn, equally often.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from labs.bench.drivers import TIME, generator_cpu_percent
from labs.bench.lab_stack import LabStack, Problem

SCRIPT = rf"""
exec 2>&1
{TIME} wrk -t 1 --latency "$@"
"""
ROUND_ROBIN = "/labs/bench/clients/round_robin.lua"
PER_UNIT = {"us": 0.001, "ms": 1.0, "s": 1000.0}
BYTES = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Load one URL. Raise Problem if a request fails, or if a response is not 2xx or 3xx, or is too short."""
    headers = [f"Host: {settings['host']}", *settings.get("headers", [])]
    if not settings["keepalive"]:
        headers.append("Connection: close")
    elements = [f"{settings['element']}{number}" for number in range(1, settings.get("elements", 0) + 1)]
    printed = stack.run(
        *("generator", "bash", "-c", SCRIPT, "wrk"),
        *("-c", str(settings["clients"]), "-d", f"{math.ceil(settings['seconds'])}s"),
        *(word for line in headers for word in ("-H", line)),
        *(["-s", ROUND_ROBIN] if elements else []),
        settings["url"] + settings["path"],
        *(["--", settings["path"], *elements] if elements else []),
    )
    # With elements, `bytes` is the length of the page, and perhaps only one response in a hundred is the
    # page.
    figures = metrics(printed, 0 if elements else settings.get("bytes", 0))
    if elements:
        figures["pages_per_second"] = figures["requests_per_second"] / (1 + len(elements))
    return figures


def metrics(printed: str, expected: int = 0) -> dict[str, float]:
    """Return the metrics of wrk's report; raise Problem as `measure` does, or if wrk measured nothing."""
    total = re.search(r"^ +(\d+) requests in ([\d.]+)(s|m),", printed, re.M)
    if not total or total[1] == "0":
        raise Problem(f"wrk measured nothing: {printed.strip().splitlines()[-1]}")
    requests, seconds = int(total[1]), float(total[2]) * (60 if total[3] == "m" else 1)
    if errors := re.search(r"^ +Socket errors: .*", printed, re.M):
        raise Problem(errors[0].strip())
    if bad := re.search(r"^ +Non-2xx or 3xx responses: (\d+)", printed, re.M):
        raise Problem(f"{bad[1]} of {requests} requests were not answered by a 2xx")
    amount, unit = re.findall(r", ([\d.]+)([KMGT]?B) read$", printed, re.M)[0]
    if (length := float(amount) * BYTES[unit] / requests) < 0.99 * expected:
        raise Problem(f"the responses had {length:.0f} bytes instead of {expected}")
    percentiles = re.findall(r"^ +(50|99)% +([\d.]+)(us|ms|s)$", printed, re.M)
    return {
        "requests": float(requests),
        "seconds": seconds,
        "requests_per_second": requests / seconds,
        **{f"p{name}_milliseconds": float(value) * PER_UNIT[unit] for name, value, unit in percentiles},
        "generator_cpu_percent": generator_cpu_percent(printed, seconds),
    }
