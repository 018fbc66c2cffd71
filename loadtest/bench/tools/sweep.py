"""httperf, as the article used it: connections at a fixed rate, for one request each.

Why this old tool: of Debian's it is the one that opens a connection for each request and has a clock that
waits for nobody. ab, wrk and hey ask again when they have been answered: a slow server is asked less, and
how long the others would have waited is never seen (coordinated omission). h2load --rate has a clock too,
but opens connections in bursts, one at each tick, and times requests without their connections. httperf
spreads them evenly, makes up for those it is late with, and times each from its first packet to the end of
the answer.

What one must know of it: it never sleeps, so its CPU time does not say how busy it is. It has room for
1,022 connections; one that finds none is an error. What tells whose fault that is, is the longest burst, the
connections that had become due when it came round to them: too many or too late, and httperf was the limit
and not the server, and there is no figure. Times are of those who were answered: where there are errors, the
longest waits are missing.

Settings: `host`, `port`, `path`; `service`, whose memory is looked at; `bytes`, which every answer must have;
`rate`, a second; `seconds`; `timeout`, seconds until a connection is given up.
"""

import re
from collections.abc import Mapping
from typing import Any

from bench.house import House, Problem
from bench.watch import Memory

LATE = 100.0  # milliseconds behind the clock: that was no steady rate
BURST = 256  # connections at once: httperf itself has taken a quarter of its room
ATTEMPTS = 5  # being late is somebody else's doing, and says nothing about the server
KEPT_UP = 0.95  # of the rate: a server that answers less is saturated


class Late(Problem):
    """httperf did not keep to its clock."""


def measure(house: House, settings: Mapping[str, Any]) -> dict[str, float]:
    """Offer one rate. Problem if httperf was always late, or if no answer or one of another length came."""
    attempt = 1
    while True:
        with Memory(house, settings["service"]) as memory:
            printed = house.run("generator", "httperf", *options(settings))
        try:
            found = metrics(printed, settings["rate"], connections(settings), settings["bytes"])
        except Late:
            if attempt == ATTEMPTS:
                raise
            attempt += 1
        else:
            return {**found, "memory_bytes": memory.most()}


def connections(settings: Mapping[str, Any]) -> int:
    """How many are due in the time of a measurement."""
    return max(1, round(float(settings["rate"]) * float(settings["seconds"])))


def options(settings: Mapping[str, Any]) -> list[str]:
    """What httperf gets. The server closes, as in the article: who does so loses a port for a minute."""
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
    """Read a report of httperf. Late if it did not keep to its clock, Problem as `measure`."""
    answered = number(r"2xx=(\d+)", printed)
    (burst,) = numbers(r"^Maximum connect burst length: (\d+)", printed)
    late = burst / rate * 1000
    cpu = number(r"total ([\d.]+)%\)$", printed)
    if late > LATE or burst > BURST:
        how = f"up to {late:.0f} ms late, {burst:.0f} connections at once, {cpu:.0f} % of a core"
        raise Late(f"the generator was the limit: httperf was {how}")
    if not answered:
        raise Problem(f"not one of {due} connections was answered by a 2xx")
    length = number(r"^Reply size .* content ([\d.]+)", printed)
    if length != expected:
        raise Problem(f"the answers had {length:g} bytes instead of {expected}")
    seconds = number(r"test-duration ([\d.]+) s", printed)
    mean, deviation = numbers(r"^Connection time .* avg ([\d.]+) .* stddev ([\d.]+)", printed)
    return {
        "seconds": seconds,
        "replies_per_second": answered / seconds,
        "milliseconds": mean,
        "deviation_milliseconds": deviation,
        "p99_milliseconds": percentile(printed, 0.99),
        "errors": due - answered,
        "saturated": float(answered < due or answered / seconds < KEPT_UP * rate),
        "connections_at_once": number(r"<=(\d+) concurrent", printed),
        "late_milliseconds": late,
        "httperf_cpu_percent": cpu,
    }


def percentile(printed: str, share: float) -> float:
    """The millisecond within which that share of the connections was over, from the histogram of -v -v."""
    bins = [(float(middle), int(count)) for middle, count in re.findall(r"^ +(\d+\.5) (\d+)$", printed, re.M)]
    wanted = share * sum(count for _, count in bins)
    for middle, count in bins:
        wanted -= count
        if wanted <= 0:
            return middle + 0.5
    raise Problem("httperf printed no histogram")


def numbers(pattern: str, text: str) -> tuple[float, ...]:
    """The numbers in the groups of a pattern, where it is found first; Problem if it is not."""
    if found := re.search(pattern, text, re.M):
        return tuple(map(float, found.groups()))
    raise Problem(f"httperf did not print {pattern!r}")


def number(pattern: str, text: str) -> float:
    """The same for a pattern with one group."""
    return numbers(pattern, text)[0]
