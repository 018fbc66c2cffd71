"""Something happens to the nodes while clients ask for files at a steady rate: what do the clients see?

Settings: `event`, one of those below; `files`, `path`, `host`, `headers` and `rate` as in programs/steady.py;
`way` and `copies` as in spread.py; `before` and `after`, the seconds of load on either side of the event.

Metrics: of all requests `asked`, `failed`, `retried`, `misses`, `p99_milliseconds` and
`slowest_milliseconds`; `failed_percent` of those after the event; `healed_seconds`, from the event until
every request is again answered soon and from a cache, if necessary by another node. And for each second,
with its number counted from the event (`p99_milliseconds@-3`): `hit_ratio`, `misses`, `errors` (failed or
retried) and `p99_milliseconds`.
"""

import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.cluster_stack import ClusterStack
from bench.lab_stack import LabStack, Problem
from bench.tools.spread import arrange, reports

SLOW = 1000.0  # milliseconds: a client notices
FILLED_WITHIN = 60.0  # seconds until every file is in a cache


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """One event, undone afterwards. Problem if the nodes do not become whole before or after it."""
    assert isinstance(stack, ClusterStack)
    arrange(stack, {**settings, "nodes": len(stack.nodes)})
    service = "self" if settings["way"] == "self" else "varnish"
    if len({node for node, _ in stack.tasks(service)}) < len(stack.nodes):
        # Swarm leaves them where they are when a node comes back.
        stack.docker("service", "update", "--quiet", "--force", f"{stack.project}_{service}")
        stack.wait_until_settled()
        arrange(stack, {**settings, "nodes": len(stack.nodes)})
    happen, undo = EVENTS[settings["event"]]
    node = max(node for node in stack.slots().values() if node != 1)  # with a Varnish, without the backend
    if settings["event"] == "backend's node lost":
        node = 1
    # Nobody reaches the nginx behind a cut cable: its clients are not counted.
    asked = [other for other in stack.nodes if settings["event"] not in ALONE or other != node]
    fill(stack, service, settings)
    with ThreadPoolExecutor(1) as pool:
        seconds = settings["before"] + settings["after"]
        clients = pool.submit(steady, stack, {**settings, "seconds": seconds}, asked)
        time.sleep(settings["before"])
        at = time.time()
        try:
            happen(stack, node)
            report = clients.result()
        finally:
            undo(stack, node)
            stack.wait_until_settled()
    return metrics(report, int(at - report["begin"]))


def metrics(report: Mapping[str, Any], event: int) -> dict[str, float]:
    """Figures of a report of programs/steady.py; the event was in that second."""
    seconds: list[dict[str, float]] = report["seconds"]
    every = {
        name: sum(second[name] for second in seconds) for name in ("asked", "failed", "retried", "misses")
    }
    after = seconds[event:]
    figures = {
        "failed_percent": 100 * sum(one["failed"] for one in after) / sum(one["asked"] for one in after),
        **every,
        "p99_milliseconds": report["p99_milliseconds"],
        "slowest_milliseconds": max(second["slowest_milliseconds"] for second in seconds),
        "healed_seconds": 0.0,
    }
    for number, second in enumerate(seconds, -event):
        answered = second["hits"] + second["misses"]
        errors = second["failed"] + second["retried"]
        figures |= {
            f"hit_ratio@{number}": second["hits"] / answered if answered else 0.0,
            f"misses@{number}": second["misses"],
            f"errors@{number}": errors,
            f"p99_milliseconds@{number}": second["p99_milliseconds"],
        }
        if number >= 0 and (second["misses"] or second["failed"] or second["slowest_milliseconds"] > SLOW):
            figures["healed_seconds"] = number + 1.0
    return figures


def steady(stack: ClusterStack, settings: Mapping[str, Any], nodes: list[int]) -> dict[str, Any]:
    """The clients: programs/steady.py."""
    chosen = {name: settings[name] for name in ("host", "path", "files", "headers", "rate", "seconds")}
    chosen |= {"addresses": [stack.address(node) for node in nodes], "port": 8080}
    printed = stack.run("generator", "python3", "-m", "bench.programs.steady", json.dumps(chosen))
    return json.loads(printed)  # type: ignore[no-any-return]


def fill(stack: ClusterStack, service: str, settings: Mapping[str, Any]) -> None:
    """Have every file in one cache, and in no other. Problem if that does not succeed."""
    for _, container in stack.tasks(service):
        everything = ("varnishadm", "-n", "/var/lib/varnish/varnishd", "ban", "obj.status != 0")
        stack.execute(service, container, *everything)
    deadline = time.monotonic() + FILLED_WITHIN
    while not all("varnish; hit" in one for one in reports(stack, 1, settings, settings["files"])):
        if time.monotonic() > deadline:
            raise Problem("the caches do not keep all files")


# --- The events, each with what undoes it.

Change = Callable[[ClusterStack, int], object]
ALONE = ("cable cut", "backend's node lost")  # without clients of the node itself


def three_four_three(stack: ClusterStack, node: int) -> None:
    stack.make("cluster-scale", "VARNISH=4")
    time.sleep(12)  # until most files have been asked for
    stack.make("cluster-scale", "VARNISH=3")


def reload(stack: ClusterStack, node: int) -> None:
    """New files on each node, as distribute.sh brings them; in fact the same ones under another name."""
    script = 'cd /etc/proscenium && cp -a "$VERSION" 0$$ && ln -sfn 0$$ link && mv -T link current'
    with ThreadPoolExecutor() as pool:
        for _, container in stack.tasks("files"):
            pool.submit(stack.execute, "files", container, "sh", "-c", script)


def drain(stack: ClusterStack, node: int, availability: str = "drain") -> None:
    stack.docker("node", "update", "--availability", availability, f"node-{node}")


def nothing(stack: ClusterStack, node: int) -> None:
    pass


EVENTS: Mapping[str, tuple[Change, Change]] = {
    "power lost": (
        lambda stack, node: stack.engines("kill", str(node)),
        lambda stack, node: stack.engines("start", str(node)),
    ),
    "backend's node lost": (
        lambda stack, node: stack.engines("kill", str(node)),
        lambda stack, node: stack.engines("start", str(node)),
    ),
    "cable cut": (
        lambda stack, node: stack.engines("cut", str(node)),
        lambda stack, node: stack.engines("plug", str(node)),
    ),
    "drained": (drain, lambda stack, node: drain(stack, node, "active")),
    "rolling update": (
        lambda stack, node: stack.docker(
            "service", "update", "--quiet", "--force", f"{stack.project}_varnish"
        ),
        nothing,
    ),
    "reload": (reload, nothing),
    "3, 4, 3 Varnishes": (three_four_three, nothing),
}
