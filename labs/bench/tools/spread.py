"""Many files over several nodes: clients of each nginx ask for files at random, as fast as they get them.

Settings: `nodes`, how many have clients, and as many Varnishes; `way`: "ring", each URL on one Varnish,
"any", or "self", any, and that one asks the owner; `copies` of each file for "self"; `files`, how many;
`path`, which makes a path of a number; `host`; `clients` of each node; `seconds`; `warm_up`, seconds before
them without limits; `cores`, the most that each container of a service may use.

Metrics besides wrk's, of which the percentiles are those of the slowest node: `hit_ratio`, of the Varnishes
that own a file, and `backend_share`, requests to the backend for each request of a client.
"""

import json
import re
import time
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import Any

from bench.cluster_stack import ClusterStack
from bench.lab_stack import LabStack, Problem
from bench.tools import wrk

SCRIPT = r"""
TIMEFORMAT="Generator: %U %S"
clients=$1 seconds=$2 host=$3 path=$4 files=$5
shift 5
for address; do
    # With a range nginx's own cache stays out, so that Varnish is what is measured.
    { time wrk -t 1 -c "$clients" -d "${seconds}s" --latency -H "Host: $host" -H "Range: bytes=0-" \
        -s /labs/bench/programs/random_files.lua "http://$address:8080/" -- "$path" "$files" "$RANDOM"; } \
        >"/tmp/$address" 2>&1 &
done
wait
for address; do
    cat "/tmp/$address"
    echo "-- "
done
"""
KNOWN = "for name; do until getent hosts $name; do sleep 0.3; done; done"
CHANGED_WITHIN = 60.0  # seconds until nginx uses other Varnishes
HIT, MISS, BACKEND = "MAIN.cache_hit", "MAIN.cache_miss", "VBE.*.upstage.req"


def prepare(stack: LabStack, settings: Mapping[str, Any]) -> None:
    """Arrange the services, and fill the caches."""
    assert isinstance(stack, ClusterStack)
    arrange(stack, settings)
    load(stack, settings, settings["warm_up"])


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """One measurement. Problem if a request fails."""
    assert isinstance(stack, ClusterStack)
    service = "self" if settings["way"] == "self" else "varnish"
    stack.limit(settings["cores"])
    try:
        before = stack.varnish_counters(service, HIT, MISS, BACKEND)
        figures = load(stack, settings, settings["seconds"])
        after = stack.varnish_counters(service, HIT, MISS, BACKEND)
    finally:
        stack.limit(dict.fromkeys(settings["cores"], 0))
    hits, misses, fetched = (after[name] - before[name] for name in (HIT, MISS, BACKEND))
    figures["hit_ratio"] = hits / (hits + misses)
    figures["backend_share"] = fetched / figures["requests"]
    return figures


def load(stack: ClusterStack, settings: Mapping[str, Any], seconds: float) -> dict[str, float]:
    """Load all nodes at once; the sum of their figures."""
    addresses = [stack.address(node) for node in stack.nodes[: settings["nodes"]]]
    words = (settings["clients"], seconds, settings["host"], settings["path"], settings["files"])
    printed = stack.run("generator", "bash", "-c", SCRIPT, "spread", *map(str, words), *addresses)
    found = [wrk.metrics(one) for one in printed.split("-- \n")[:-1]]
    return {
        name: max(values) if name == "seconds" or name.startswith("p") else sum(values)
        for name, values in ((name, [one[name] for one in found]) for name in found[0])
    }


def arrange(stack: ClusterStack, settings: Mapping[str, Any]) -> None:
    """As many Varnishes as nodes, and nginx with the way to choose one. Does nothing if it is so already."""
    nodes, way = settings["nodes"], settings["way"]
    service = "self" if way == "self" else "varnish"
    if way == "self":
        environment = {"NODES": str(nodes), "COPIES": str(settings["copies"])}
        change(stack, "self", "--quiet", f"--replicas={nodes}", **environment)
        names = [f"self-{slot}" for slot in range(1, nodes + 1)]
        # Without one of these names nginx would not start, and Swarm would bring back its old settings.
        stack.run("backend", "sh", "-c", KNOWN, "known", *names)
        address = " ".join(f"{name}:8083" for name in names)
        started = " ".join(sorted(str(container.short_id) for _, container in stack.tasks("self")))
    else:
        change(stack, "varnish", "--detach", f"--replicas={nodes}")
        address, started = "shards", ""
    # STARTED: nginx looks these names up when it starts.
    key = "$host$uri" if way == "ring" else "$request_id"
    change(stack, "nginx", "--detach", VARNISH_ADDRESS=address, SHARD_KEY=key, STARTED=started)
    stack.wait_until_settled()
    deadline = time.monotonic() + CHANGED_WITHIN
    expected = {f"{service}-{slot}" for slot in range(1, nodes + 1)}
    for node in stack.nodes[:nodes]:
        while answering(stack, node, settings) != expected:
            if time.monotonic() > deadline:
                raise Problem(f"nginx on node {node} does not use {', '.join(sorted(expected))}")
            time.sleep(0.5)


def change(stack: ClusterStack, service: str, *options: str, **environment: str) -> None:
    """Change a service; all containers at once, if its environment changes."""
    name = f"{stack.project}_{service}"
    [inspected] = json.loads(stack.docker("service", "inspect", name))
    found = inspected["Spec"]["TaskTemplate"]["ContainerSpec"].get("Env", [])
    wanted = [f"{key}={value}" for key, value in environment.items()]
    changed = [word for one in wanted if one not in found for word in ("--env-add", one)]
    if changed:
        changed += ["--update-parallelism", "0", "--update-delay", "0s"]
    stack.docker("service", "update", *options, *changed, name)


def reports(stack: ClusterStack, node: int, settings: Mapping[str, Any], files: int) -> list[str]:
    """Cache-Status of the first so many files through one node; one empty text without an answer."""
    connection = HTTPConnection(stack.address(node), 8080, timeout=10)
    found = []
    try:
        for number in range(1, files + 1):
            headers = {"Host": settings["host"], "Range": "bytes=0-0"}
            connection.request("GET", settings["path"] % number, headers=headers)
            response = connection.getresponse()
            response.read()
            found.append(response.headers["Cache-Status"] or "")
    except OSError:
        return [""]
    finally:
        connection.close()
    return found


def answering(stack: ClusterStack, node: int, settings: Mapping[str, Any]) -> set[str]:
    """The names of the Varnishes that answer through a node."""
    found = (re.search(r"varnish;[^,]* node=([\w-]+)", one) for one in reports(stack, node, settings, 40))
    return {match[1] if match else "" for match in found}
