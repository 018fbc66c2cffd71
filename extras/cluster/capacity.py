"""How many users 1, 2, 3 ... nodes carry: the load shape Capacity, once for each number of nodes.

    capacity.py STACK ADDRESS COUNTS [NAME=VALUE]...

ADDRESS: of Locust's page, on the first node. COUNTS: numbers of nodes; empty: 1, 2, 3 ... NAME=VALUE: fields
of its form. LOCUST_LOGIN: name:password. During a measurement the other nodes have neither nginx nor Varnish
(label proscenium.serves=no); Locust's workers stay on all of them.
"""

import http.cookiejar
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import Any

from status import docker, natural

SETTLE = 5.0  # seconds until every name server and nginx knows which nodes serve
WARM_UP = ("20", 10.0)  # users and seconds before each measurement: a Varnish that was moved is empty
PATIENCE = 180.0  # seconds for Swarm to move the services

Form = Sequence[tuple[str, str]]


class Page:
    """Locust's page, signed in."""

    def __init__(self, address: str, login: str) -> None:
        self._address = address
        jar = http.cookiejar.CookieJar()
        self._browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        name, _, password = login.partition(":")
        self.send("/login", [("username", name), ("password", password)])

    def send(self, path: str, form: Form = ()) -> str:
        """Send a form; the answer."""
        data = urllib.parse.urlencode(form).encode()
        with self._browser.open(self._address + path, data, timeout=30) as answer:
            return str(answer.read().decode())

    def read(self, path: str) -> Any:
        """Fetch JSON."""
        with self._browser.open(self._address + path, timeout=30) as answer:
            return json.load(answer)

    def _start(self, form: Form) -> None:
        reply = json.loads(self.send("/swarm", form))
        if not reply["success"]:
            sys.exit(str(reply["message"]))

    def measure(self, form: Form) -> tuple[str, list[dict[str, Any]]]:
        """One run of the shape; the answer in words, and the measurements."""
        users, seconds = WARM_UP
        self._start([("user_count", users), *(field for field in form if field[0] != "user_count")])
        time.sleep(seconds)
        self.send("/stop")
        self._start([*form, ("shape_class", "Capacity")])
        try:
            time.sleep(3)  # the page repeats its figures for two seconds
            while self.read("/stats/requests")["state"] != "stopped":
                time.sleep(1)
        except BaseException:
            self.send("/stop")
            raise
        return self.read("/compare/picture")["text"].splitlines()[0], self.read("/compare/json")


def serve(stack: str, nodes: list[str], count: int, varnishes: int) -> None:
    """Let the first so many nodes serve, and no other."""
    for number, node in enumerate(nodes):
        label = "--label-rm=proscenium.serves" if number < count else "--label-add=proscenium.serves=no"
        subprocess.run(["docker", "node", "update", label, node], capture_output=True, check=False)
    scale = ["docker", "service", "scale", "--detach", f"{stack}_varnish={varnishes}"]
    subprocess.run(scale, capture_output=True, check=True)
    wanted = {f"{stack}_nginx": f"{count}/{count}", f"{stack}_varnish": f"{varnishes}/{varnishes}"}
    end = time.monotonic() + PATIENCE
    while wanted.items() - replicas().items():
        if time.monotonic() > end:
            sys.exit(f"nginx and Varnish are not on {count} nodes after {PATIENCE:g} s: make cluster-status")
        time.sleep(1)
    time.sleep(SETTLE)


def replicas() -> dict[str, str]:
    """Of each service: "running/wanted"."""
    return {line["Name"]: line["Replicas"] for line in docker("service", "ls")}


def line(count: int, outcome: str, measured: list[dict[str, Any]], one: dict[str, float]) -> str:
    """A line of the table; `one` has the figures of one node, or gets them."""
    found = re.search(r"carries (at least )?(\d+)", outcome)
    users = int(found[2]) if found else 0
    rates = (level["requests_per_second"] for level in measured if level["users"] == users)
    figures = {"users": users, "requests": next(rates, 0.0)}
    if not one:
        one.update(figures)
    times = [f"{figures[key] / one[key]:.2f}" if one[key] else "-" for key in figures]
    return f"| {count} | {users} | {times[0]} | {figures['requests']:.0f} | {times[1]} | {outcome} |"


def main(stack: str, address: str, counts: str, *fields: str) -> None:
    """Print the table."""
    form = [(name, value) for name, _, value in (field.partition("=") for field in fields)]
    ready = (node for node in docker("node", "ls") if node["Status"] == "Ready")
    nodes = sorted((node["Hostname"] for node in ready), key=natural)
    varnishes = int(replicas()[f"{stack}_varnish"].partition("/")[2])
    page = Page(address, os.environ["LOCUST_LOGIN"])
    one: dict[str, float] = {}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # not before every node serves again
    print("| nodes | users | times | requests/s | times | |\n|--:|--:|--:|--:|--:|---|", flush=True)
    try:
        for count in map(int, counts.split()) if counts else range(1, len(nodes) + 1):
            serve(stack, nodes, count, count)
            print(line(count, *page.measure(form), one), flush=True)
    finally:
        serve(stack, nodes, len(nodes), varnishes)


if __name__ == "__main__":
    main(*sys.argv[1:])
