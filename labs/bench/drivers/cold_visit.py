"""A first visit from a distance: the time to the end of a small file over a new connection.

labs/bench/clients/distance.py adds the distance; curl is the client. Settings: `address` and `port`; `host`
and `path`; `round_trip`, in milliseconds; `http`, curl's option for the version; `version`, which must be the
result; `bytes`, the length of the file; `visits`, one after another.
"""

import json
import statistics
from collections.abc import Mapping
from typing import Any

from labs.bench.lab_stack import LabStack, Problem

WRITE_OUT = "%{http_version} %{http_code} %{size_download} %{time_total}\\n"


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Measure the median visit. Raise Problem if a response is not a whole 200 over the wanted version."""
    host, port = settings["host"], settings["port"]
    curl = ["curl", "-sk", settings["http"], "--resolve", f"{host}:{port}:127.0.0.1"]
    curl += ["-o", "/dev/null", "-w", WRITE_OUT, f"https://{host}:{port}{settings['path']}"]
    arguments = json.dumps({**settings, "command": curl})
    visits = [
        stack.run("generator", "python3", "-m", "labs.bench.clients.distance", arguments)
        for _ in range(settings["visits"])
    ]
    return metrics(visits, settings)


def metrics(visits: list[str], settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the median visit, in milliseconds and in round trips, from curl's output lines; raise Problem as
    `measure` does.
    """
    good = f"{settings['version']} 200 {settings['bytes']} "
    for visit in visits:
        if not visit.startswith(good):
            raise Problem(f"a response was not {good!r}, but {visit.strip()!r}")
    milliseconds = statistics.median(float(visit.split()[-1]) for visit in visits) * 1000
    return {"milliseconds": milliseconds, "round_trips": milliseconds / settings["round_trip"]}
