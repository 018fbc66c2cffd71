"""A new connection for each request: how many a second does the range of client ports allow?

labs/bench/clients/connections.py is the client. Settings: `client`, the service in which it runs, with the
network settings of the cell; `url`, `host`, `path`; `closes`, the side that closes first; `seconds`.
"""

from collections.abc import Mapping
from typing import Any

from labs.bench.drivers import report, with_address
from labs.bench.lab_stack import LabStack


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Make requests until the time is over; return how many connections a second were possible."""
    found = report(stack, with_address(settings), "connections", settings["client"])
    return {
        "requests": float(found["connections"]),
        "seconds": found["seconds"],
        "connections_per_second": found["connections"] / found["seconds"],
        "attempts_without_a_port": float(found["without_port"]),
    }
