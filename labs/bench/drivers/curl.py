"""curl: the only client in Debian that speaks HTTP/1.1, HTTP/2 and HTTP/3 alike.

With HTTP/1.1 it opens a connection for each request in progress; with HTTP/2 and HTTP/3 all share one.

Settings: `url` and `path`; `http`, curl's option for the version; `version`, which must be the result;
`clients`, the requests in progress; `requests`; `bytes`, the length of each response; `options`, further
options of curl.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from labs.bench.drivers import repeated
from labs.bench.lab_stack import LabStack, Problem

# Some runs of curl 8.14 over HTTP/3 stall, most of them with large files on a busy machine.
ATTEMPTS = 3
STALLED = 60  # seconds for a whole run, after which it counts as stalled

# TIMEFORMAT: the duration of the whole run, and the CPU seconds of curl.
SCRIPT = r"""
TIMEFORMAT="Took: %R %U %S"
time timeout "$1" curl -sk -Z "${@:2}" -o /dev/null 2>/dev/null
"""
WRITE_OUT = "%{http_version} %{http_code} %{size_download}\\n"


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Request one URL repeatedly and return the figures. Raise Problem unless every response is a complete
    200 over the wanted version of HTTP.
    """
    url = f"{settings['url']}{settings['path']}?[1-{settings['requests']}]"
    command = (
        *("bash", "-c", f"{{ {SCRIPT} }} 2>&1", "curl", str(STALLED)),
        *("--parallel-max", str(settings["clients"]), settings["http"], *settings.get("options", [])),
        *("-w", WRITE_OUT, url),
    )
    return repeated(ATTEMPTS, lambda: metrics(stack.run("generator", *command), settings))


def metrics(printed: str, settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a run; raise Problem as `measure` does."""
    *responses, took = printed.splitlines()
    requests = settings["requests"]
    good = f"{settings['version']} 200 {settings['bytes']}"
    found = Counter(responses)
    if found != {good: requests}:
        raise Problem(f"{requests - found[good]} of {requests} responses were not {good!r}, but {found}")
    times = re.fullmatch(r"Took: ([\d.]+) ([\d.]+) ([\d.]+)", took)
    if not times:
        raise Problem(f"curl ended with {took!r}")
    seconds, user, system = map(float, times.groups())
    return {
        "requests": float(requests),
        "seconds": seconds,
        "requests_per_second": requests / seconds,
        "bytes_per_second": requests * settings["bytes"] / seconds,
        "generator_cpu_percent": (user + system) / seconds * 100,
    }
