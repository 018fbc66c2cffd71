"""httperf, the article's tool: connections at a fixed rate, one request each.

Why this old tool: of Debian's load generators it alone opens a connection for each request at a fixed rate,
whether or not the earlier ones have been answered. ab, wrk and hey send their next request after a response:
they send less to a slow server, and the time the missing requests would have waited is never measured
(coordinated omission). h2load --rate has a clock as well, but opens connections in bursts, one burst per
tick, and excludes the connection from the time of a request. httperf spreads them evenly, catches up when it
is late, and measures from the first packet of a connection to the end of the response.

Its limits: it never sleeps, so its CPU time does not say how busy it is. It can hold 1,022 connections; one
more is an error. The longest burst, the connections that were due when httperf next looked, shows the cause:
if it is too long, httperf was the bottleneck and the measurement is rejected. Only answered connections have
times: if there are errors, the longest waits are missing.

Settings: `host`, `port`, `path`; `service`, whose memory is measured; `bytes`, the required length of a
response; `rate`, per second; `seconds`; `timeout`, seconds until a connection is given up.
"""

import re
from collections.abc import Mapping
from typing import Any

from bench.lab_stack import LabStack, Problem
from bench.memory import Memory
from bench.percentile import percentile

LATE = 100.0  # milliseconds behind schedule: no steady rate
BURST = 256  # connections at once: a quarter of what httperf can hold
ATTEMPTS = 5  # other programs make httperf late, which says nothing about the server
KEPT_UP = 0.95  # of the rate: a server that answers less is saturated


class Late(Problem):
    """httperf fell behind its schedule."""


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Offer one rate. Problem if httperf is late every time, or no response is a good one."""
    attempt = 1
    while True:
        with Memory(stack, settings["service"]) as memory:
            printed = stack.run("generator", "httperf", *options(settings))
        try:
            found = metrics(printed, settings["rate"], connections(settings), settings["bytes"])
        except Late:
            if attempt == ATTEMPTS:
                raise
            attempt += 1
        else:
            return {**found, "memory_bytes": memory.highest()}


def connections(settings: Mapping[str, Any]) -> int:
    """The connections of a measurement."""
    return max(1, round(float(settings["rate"]) * float(settings["seconds"])))


def options(settings: Mapping[str, Any]) -> list[str]:
    """The arguments of httperf. The server closes, as in the article: its side keeps the port for a while."""
    return [
        *("-v", "-v"),  # with the histogram
        f"--server={settings['host']}",
        f"--port={settings['port']}",
        f"--uri={settings['path']}",
        r"--add-header=Connection: close\n",
        f"--rate={settings['rate']}",
        f"--num-conns={connections(settings)}",
        f"--timeout={settings['timeout']}",
    ]


def metrics(printed: str, rate: float, due: int, expected: int) -> dict[str, float]:
    """Parse httperf's report. Late if it fell behind its schedule, Problem as `measure`."""
    answered = number(r"2xx=(\d+)", printed)
    (burst,) = numbers(r"^Maximum connect burst length: (\d+)", printed)
    late = burst / rate * 1000
    cpu = number(r"total ([\d.]+)%\)$", printed)
    if late > LATE or burst > BURST:
        how = f"up to {late:.0f} ms late, {burst:.0f} connections at once, {cpu:.0f} % of a core"
        raise Late(f"the generator was the bottleneck: httperf was {how}")
    if not answered:
        raise Problem(f"none of {due} connections was answered by a 2xx")
    length = number(r"^Reply size .* content ([\d.]+)", printed)
    if length != expected:
        raise Problem(f"the responses had {length:g} bytes instead of {expected}")
    seconds = number(r"test-duration ([\d.]+) s", printed)
    mean, deviation = numbers(r"^Connection time .* avg ([\d.]+) .* stddev ([\d.]+)", printed)
    return {
        "seconds": seconds,
        "replies_per_second": answered / seconds,
        "milliseconds": mean,
        "deviation_milliseconds": deviation,
        "p99_milliseconds": percentile(durations(printed), 99),
        "errors": due - answered,
        "saturated": float(answered < due or answered / seconds < KEPT_UP * rate),
        "connections_at_once": number(r"<=(\d+) concurrent", printed),
        "late_milliseconds": late,
        "httperf_cpu_percent": cpu,
    }


def durations(printed: str) -> list[float]:
    """The milliseconds of every connection, rounded up, from the histogram of -v -v."""
    bins = re.findall(r"^ +(\d+\.5) (\d+)$", printed, re.M)
    if not bins:
        raise Problem("httperf printed no histogram")
    return [float(middle) + 0.5 for middle, count in bins for _ in range(int(count))]


def numbers(pattern: str, text: str) -> tuple[float, ...]:
    """The groups of a pattern's first match, as numbers; Problem if there is none."""
    if found := re.search(pattern, text, re.M):
        return tuple(map(float, found.groups()))
    raise Problem(f"httperf did not print {pattern!r}")


def number(pattern: str, text: str) -> float:
    """The same, for a pattern with one group."""
    return numbers(pattern, text)[0]
