"""httperf, the article's driver: connections at a fixed rate, one request each.

Why this old driver: of Debian's load generators, only this one opens a connection for each request at a fixed
rate, whether or not the earlier ones have been answered. ab, wrk and hey send their next request after a
response: they send less to a slow server, and the time that the missing requests would have waited is never
measured (coordinated omission). h2load --rate has a clock as well, but opens connections in bursts, one burst
per tick, and does not count the time to connect. httperf spreads them evenly, catches up when it is late, and
measures from the first packet of a connection to the end of the response.

Its limits: it has one thread, so several processes share the rate, and their reports are merged. It never
sleeps, so its CPU time does not show how busy it is. A process can hold 1,022 connections; one more is an
error. The longest burst, the connections that were due when httperf next checked, shows the cause: if it is
too long, httperf was the bottleneck and the measurement is rejected. Only answered connections have times: if
there are errors, the longest waits are missing.

Settings: `host`, `port`, `path`; `service`, whose memory is measured; `bytes`, the required length of a
response; `rate`, per second; `seconds`; `timeout`, seconds until httperf gives up a connection; `generators`,
the number of processes.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from labs.bench.drivers import number, numbers, repeated
from labs.bench.lab_stack import LabStack, Problem
from labs.bench.memory import Memory
from labs.bench.percentile import percentile

LATE = 100.0  # milliseconds behind schedule, above which the rate does not count as steady
BURST = 256  # connections opened at once: a quarter of those that httperf can hold
ATTEMPTS = 5  # if httperf is late, other programs are the cause, not the server: measure again
KEPT_UP = 0.95  # share of the rate: a server that answers less is saturated

# The processes run side by side; their reports are printed one after another.
SCRIPT = r"""
processes=()
for ((number = 0; number < $1; number++)); do
    httperf "${@:2}" >"/tmp/httperf.$number" 2>"/tmp/httperf.$number.errors" & processes+=($!)
done
for ((number = 0; number < $1; number++)); do
    if ! wait "${processes[number]}"; then
        kill "${processes[@]}" 2>/dev/null  # the others would load the next measurement
        wait 2>/dev/null
        tail -n 1 "/tmp/httperf.$number.errors" >&2
        exit 1
    fi
    echo "=== report"; cat "/tmp/httperf.$number"
done
"""


class Late(Problem):
    """httperf fell behind its schedule."""


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Offer one rate. Raise Problem if httperf is late every time, or if no response is a 2xx of the required
    length.
    """
    generators = settings["generators"]
    rate = settings["rate"] / generators
    due = max(1, round(rate * settings["seconds"]))  # connections of each process
    command = ("bash", "-c", SCRIPT, "fixed_rate", str(generators), *options(settings, rate, due))

    def offer() -> dict[str, float]:
        with Memory(stack, settings["service"]) as memory:
            printed = stack.run("generator", *command)
        return {**metrics(printed, rate, due, settings["bytes"]), "memory_bytes": memory.highest()}

    return repeated(ATTEMPTS, offer, Late)


def options(settings: Mapping[str, Any], rate: float, connections: int) -> list[str]:
    """Return a process's arguments. The server closes, as in the article, so its side keeps the port busy."""
    return [
        *("-v", "-v"),  # adds the histogram
        f"--server={settings['host']}",
        f"--port={settings['port']}",
        f"--uri={settings['path']}",
        r"--add-header=Connection: close\n",
        f"--rate={rate:g}",
        f"--num-conns={connections}",
        f"--timeout={settings['timeout']}",
    ]


@dataclass(frozen=True)
class Report:
    """The report of one httperf process. Times are in milliseconds, for a connection."""

    answered: int
    seconds: float
    burst: int  # connections opened at once
    cpu_percent: float
    at_once: float
    content: float  # mean bytes of a response
    lowest: float
    mean: float
    highest: float
    deviation: float
    durations: Sequence[float]  # of all connections, rounded up, from httperf's histogram (-v -v)

    @classmethod
    def read(cls, printed: str) -> Self:
        """Read a report; raise Problem if something is missing."""
        lowest, mean, highest, deviation = numbers(
            r"^Connection time .* min ([\d.]+) avg ([\d.]+) max ([\d.]+) .*stddev ([\d.]+)", printed
        )
        bins = re.findall(r"^ +(\d+\.5) (\d+)$", printed, re.M)
        return cls(
            answered=int(number(r"2xx=(\d+)", printed)),
            seconds=number(r"test-duration ([\d.]+) s", printed),
            burst=int(number(r"^Maximum connect burst length: (\d+)", printed)),
            cpu_percent=number(r"total ([\d.]+)%\)$", printed),
            at_once=number(r"<=(\d+) concurrent", printed),
            content=number(r"^Reply size .* content ([\d.]+)", printed),
            lowest=lowest,
            mean=mean,
            highest=highest,
            deviation=deviation,
            durations=[float(middle) + 0.5 for middle, count in bins for _ in range(int(count))],
        )


def metrics(printed: str, rate: float, due: int, expected: int) -> dict[str, float]:
    """Merge the reports. `rate` and `due` are those of one process.

    Raise Late if a process fell behind its schedule, Problem as `measure` does.
    """
    reports = [Report.read(each) for each in printed.split("=== report\n")[1:]]
    for report in reports:
        late = report.burst / rate * 1000
        if late > LATE or report.burst > BURST:
            raise Late(
                f"the generator was the bottleneck: httperf was up to {late:.0f} ms late, "
                f"{report.burst} connections at once, {report.cpu_percent:.0f} % of a core"
            )
    due *= len(reports)
    good = [report for report in reports if report.answered]
    if not good:
        raise Problem(f"none of {due} connections was answered by a 2xx")
    for report in good:
        if report.content != expected:
            raise Problem(f"the responses had {report.content:g} bytes instead of {expected}")
        if not report.durations:
            raise Problem("httperf printed no histogram")
    answered = sum(report.answered for report in good)
    seconds = max(report.seconds for report in reports)
    mean = sum(report.answered * report.mean for report in good) / answered
    squares = sum(report.answered * (report.deviation**2 + report.mean**2) for report in good) / answered
    return {
        "seconds": seconds,
        "requests_per_second": answered / seconds,
        "lowest_milliseconds": min(report.lowest for report in good),
        "milliseconds": mean,
        "highest_milliseconds": max(report.highest for report in good),
        "deviation_milliseconds": math.sqrt(max(0.0, squares - mean**2)),
        "p99_milliseconds": percentile([each for report in good for each in report.durations], 99),
        "errors": due - answered,
        "saturated": float(answered < due or answered / seconds < KEPT_UP * rate * len(reports)),
        "connections_at_once": sum(report.at_once for report in reports),
        "late_milliseconds": max(report.burst for report in reports) / rate * 1000,
        "httperf_cpu_percent": sum(report.cpu_percent for report in reports),
    }
