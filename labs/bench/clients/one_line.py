"""Many clients on one stage; one line at a time is sent to all.

    python3 -m labs.bench.clients.one_line '{"stage": {"address": "nginx", "port": 17230, "proxied": true,
        "stage": "load"}, "listeners": 10000, "watched": 500, "lines": 20, "every": 2, "settle": 3}'

After all have joined, nothing is sent for `settle` seconds. Then a client says `lines` lines, one every
`every` seconds, and the milliseconds until each of the `watched` clients has received each line are measured.
The others are read between two lines, so that reading takes no CPU from the servers while a line is sent.

`generator_milliseconds_per_line` is the CPU time of this program while a line is sent; `held_from` and
`held_until`, in seconds since 1970, are when it began to say lines and when the last one had arrived.
"""

import json
import sys
import time
from typing import Any

from labs.bench.clients.stage_sockets import StageSockets, raise_file_limit
from labs.bench.percentile import percentile


def main(settings: dict[str, Any]) -> dict[str, float]:
    """Run with these settings; return the report."""
    sockets = StageSockets(**settings["stage"])
    begin = time.perf_counter()
    sockets.join(settings["listeners"])
    joined = time.perf_counter() - begin
    sockets.watch(min(settings["watched"], settings["listeners"]))
    sockets.rest(settings["settle"])
    held_from, computed = time.time(), time.process_time()
    lines, own = sockets.say(settings["lines"], settings["every"])
    held_until = time.time()
    used = (time.process_time() - computed) / (held_until - held_from)
    sockets.close()
    delays = [delay for line in lines for delay in line]
    return {
        "p50_milliseconds": percentile(delays, 50),
        "p95_milliseconds": percentile(delays, 95),
        "p99_milliseconds": percentile(delays, 99),
        "highest_milliseconds": max(delays),
        "deliveries": float(len(lines) * len(sockets)),
        "join_seconds": joined,
        "held_from": held_from,
        "held_until": held_until,
        "generator_cpu_percent": used * 100,
        "generator_milliseconds_per_line": own / len(lines) * 1000,
    }


if __name__ == "__main__":
    raise_file_limit()
    print(json.dumps(main(json.loads(sys.argv[1]))))
