"""What the tests of several labs do with the containers of a running one."""

import importlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack
from tests.stack import REPO

NETWORK = "198.19.14"  # of labs/opendata; a run beside the tests uses the default one
PROJECT = os.environ.get("COMPOSE_PROJECT_NAME", "proscenium") + "-test-lab"
HOLDING = ("open_connections", "production")  # drivers whose setting `host` is an address
needs_engine = pytest.mark.skipif(os.environ.get("ENGINE") == "no", reason="no container engine can run here")

# A film is too long to be passed on; its beginning and its hash are not.
ASK = """
import hashlib, http.client, json, sys
server, port, kept, post, requests = json.loads(sys.argv[1])
connection = http.client.HTTPConnection(server, port, timeout=60)
for path, headers in requests:
    connection.request("GET" if post is None else "POST", path, body=post, headers=headers)
    response = connection.getresponse()
    body = response.read()
    print(json.dumps({
        "status": response.status,
        "headers": {name.lower(): value for name, value in response.getheaders()},
        "length": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        "text": body[:kept].decode("latin-1"),
    }))
"""


@dataclass(frozen=True)
class Received:
    """A response of a lab's server. `text` is the beginning of the body, one character for each byte."""

    status: int
    headers: Mapping[str, str]
    length: int
    sha256: str
    text: str


def ask_often(
    stack: LabStack,
    server: str,
    port: int,
    requests: Sequence[tuple[str, Mapping[str, str]]],
    kept: int = 0,
    post: str | None = None,
) -> list[Received]:
    """Requests of the generator over one connection: each a path and its headers. A form makes them POST."""
    arguments = json.dumps([server, port, kept, post, requests])
    printed = stack.run("generator", "python3", "-c", ASK, arguments)
    return [Received(**json.loads(line)) for line in printed.splitlines()]


def ask(
    stack: LabStack, server: str, path: str, post: str | None = None, port: int = 8080, **headers: str
) -> Received:
    """One request. `_` in a header's name stands for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if post is not None:
        named["Content-Type"] = "application/x-www-form-urlencoded"
    [received] = ask_often(stack, server, port, [(path, named)], 22_000, post)
    return received


def measure_briefly(stack: LabStack, lab: str) -> dict[str, dict[str, float]]:
    """Measure the last cell of each driver as its warm-up does; the figures by driver.

    Each must have the metric that the cell is for.
    """
    experiment = load(REPO / "labs" / lab, "quick")
    found = {}
    for name, cell in {cell.driver: cell for cell in experiment.cells}.items():
        driver = importlib.import_module(f"labs.bench.drivers.{name}")
        found[name] = driver.measure(stack, {**cell.settings, **experiment.warm_up})
        assert found[name][cell.primary] >= 0, name
    return found


def check_cells(stack: LabStack, lab: str) -> None:
    """Request the URL of every cell in a lab's lab.toml; it must have the length that the cell says.

    Cells with If-None-Match must be answered with 304.
    """
    cells = load(REPO / "labs" / lab, "full").cells
    assert len(cells) > 10
    for cell in cells:
        settings: Mapping[str, Any] = cell.settings
        url = settings.get("url") or f"http://{settings['host']}:{settings['port']}"
        server = urlsplit(url)
        headers = dict(line.split(": ", 1) for line in settings.get("headers", []))
        if name := settings.get("vhost" if cell.driver in HOLDING else "host"):
            headers["Host"] = name
        received = ask(
            stack,
            str(server.hostname),
            settings["path"],
            settings.get("post"),
            server.port or 8080,
            **headers,
        )
        if "If-None-Match" in headers:
            assert received.status == 304, cell
            continue
        assert received.status == 200, cell
        assert received.length == settings.get("bytes", received.length), cell
        # HTTP/1.0, which ab speaks, keeps no connection without it.
        assert int(received.headers["content-length"]) == received.length, cell
