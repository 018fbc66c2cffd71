"""What is where: a line for each node and one for each task that is not well.

    status.py STACK

The percentages are the parts of all URLs that each Varnish has.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict

from ring import Ring

NGINX_PORT = 8083  # of Varnish, for nginx: part of the name on the ring


def docker(*command: str) -> list[dict[str, str]]:
    """Return what a docker command lists, a dictionary for each line."""
    listed = subprocess.run(
        ["docker", *command, "--format", "{{json .}}"], capture_output=True, text=True, check=True
    ).stdout
    return [json.loads(line) for line in listed.splitlines()]


def main(stack: str) -> None:
    """Print the table."""
    tasks = docker("stack", "ps", "--no-trunc", "--filter", "desired-state=running", stack)
    for task in tasks:
        # proscenium_varnish.2, or proscenium_nginx.ID of the node
        task["Service"], _, task["Slot"] = task["Name"].removeprefix(f"{stack}_").partition(".")
    well = [task for task in tasks if task["CurrentState"].startswith("Running")]
    slots = sorted(int(task["Slot"]) for task in well if task["Service"] == "varnish")
    shares = Ring(f"varnish-{slot}:{NGINX_PORT}" for slot in slots).shares if slots else {}

    on_node = defaultdict(list)
    for task in well:
        text = task["Service"]
        if text == "varnish":
            text = f"varnish-{task['Slot']}"
            text += f" ({shares[f'{text}:{NGINX_PORT}']:.0%})"
        on_node[task["Node"]].append(text)
    nodes = sorted(docker("node", "ls"), key=lambda node: natural(node["Hostname"]))
    width = max(len(node["Hostname"]) for node in nodes)
    for node in nodes:
        state = "" if node["Availability"] == "Active" else f", {node['Availability'].lower()}"
        kind = "manager" if node["ManagerStatus"] else "worker"
        about = f"{node['Status'].lower()}{state}, {kind}"
        services = ", ".join(sorted(on_node[node["Hostname"]]))
        print(f"{node['Hostname']:{width}}  {about:22}  {services}")
    for task in tasks:
        if task not in well:
            where = f" on {task['Node']}" if task["Node"] else ""
            print(f"{task['Service']}{where}: {task['CurrentState']} {task['Error']}".rstrip())


def natural(name: str) -> list[tuple[str, int]]:
    """Sort key that puts node-10 after node-9."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", name)]


if __name__ == "__main__":
    main(sys.argv[1])
