"""A new connection for each request: how many a second does the range of client ports allow?

clients/connections.py is the client. Settings: `client`, the service in which it runs, with the network
settings of the cell; `url`, `host`, `path`; `closes`, the side that closes first; `seconds`.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from bench.lab_stack import LabStack


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """One run."""
    server = urlsplit(settings["url"])
    wanted = {name: settings[name] for name in ("host", "path", "closes", "seconds")}
    wanted |= {"address": server.hostname, "port": server.port}
    printed = stack.run(settings["client"], "python3", "-m", "bench.clients.connections", json.dumps(wanted))
    return metrics(json.loads(printed))


def metrics(report: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a report."""
    return {
        "requests": float(report["connections"]),
        "seconds": report["seconds"],
        "connections_per_second": report["connections"] / report["seconds"],
        "attempts_without_a_port": float(report["without_port"]),
    }
