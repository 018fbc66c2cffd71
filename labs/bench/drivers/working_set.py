"""How many of a client's requests are hits, when the files together are larger than one cache?

Each of `files` URLs (`path` with a query) is asked for twice in random order, which fills the caches, then
`requests` times one of them at random. Settings: `url`, `host`, `path`, `files`, `requests`.
"""

import json
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from bench.drivers.crowd import requests_to_origin
from bench.lab_stack import LabStack, Problem


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """The hits, and what reached the backend, once the caches are full. Raise Problem if a request fails."""
    server = urlsplit(settings["url"])
    wanted = {name: settings[name] for name in ("host", "files")}
    wanted |= {
        "address": server.hostname,
        "port": server.port,
        "path": f"{settings['path']}?{uuid.uuid4().hex}-",
    }

    def ask(seed: int, requests: int) -> dict[str, Any]:
        told = json.dumps(wanted | {"seed": seed, "requests": requests})
        report: dict[str, Any] = json.loads(
            stack.run("generator", "python3", "-m", "bench.clients.working_set", told)
        )
        if lost := report["statuses"].keys() - {"206"}:
            raise Problem(f"status {', '.join(sorted(lost))}")
        return report

    for seed in (1, 2):
        ask(seed, 0)
    before = requests_to_origin(stack, "media")
    report = ask(3, settings["requests"])
    return {
        "hit_ratio": report["hits"] / settings["requests"],
        "requests_to_backend": requests_to_origin(stack, "media") - before,
        "seconds": report["seconds"],
    }
