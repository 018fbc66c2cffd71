"""How many of a client's requests are hits, when the files together are larger than one cache?

Each of `files` URLs (`path` with a query) is requested twice in random order, to fill the caches; then each
of `requests` requests is for one of them at random. Settings: `url`, `host`, `path`, `files`, `requests`.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from labs.bench.drivers import report, with_address
from labs.bench.drivers.crowd import requests_to_origin
from labs.bench.lab_stack import LabStack, Problem


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """The hits, and what reached the backend, once the caches are full. Raise Problem if a request fails."""
    wanted = {**with_address(settings), "path": f"{settings['path']}?{uuid.uuid4().hex}-"}

    def ask(seed: int, requests: int) -> dict[str, Any]:
        found = report(stack, {**wanted, "seed": seed, "requests": requests}, "working_set")
        if lost := found["statuses"].keys() - {"206"}:
            raise Problem(f"status {', '.join(sorted(lost))}")
        return found

    for seed in (1, 2):
        ask(seed, 0)
    before = requests_to_origin(stack, "media")
    found = ask(3, settings["requests"])
    return {
        "hit_ratio": found["hits"] / settings["requests"],
        "requests_to_backend": requests_to_origin(stack, "media") - before,
        "seconds": found["seconds"],
    }
