"""A lab on several nodes: engines in network namespaces on this machine, joined in a Docker Swarm.

They are those of `make cluster-demo`, under names and addresses of their own. The load generator runs in a
container of this machine's engine, in this machine's own network, which the nodes are connected to.
"""

import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import docker
from docker.models.containers import Container

from bench.lab_stack import REPO, LabStack, Problem, Usage, usage_of

SETTLED_WITHIN = 120.0  # seconds after a change, until every service has all of its healthy tasks
PERIOD = 100_000  # microseconds, of the kernel's CPU quotas


class ClusterStack(LabStack):
    """The stack on nodes, with labs/NAME/swarm.yaml added. Node 1 is the manager and has the backend."""

    def __init__(self, lab: Path, project: str = "", nodes: int = 3) -> None:
        super().__init__(lab, ["generator"], project)
        self.name = f"{self.project}-cluster"
        self.nodes = tuple(range(1, nodes + 1))
        # Unlike those of another set of engines on this machine.
        self.net = f"10.{random.randint(64, 254)}.{random.randint(1, 250)}"
        self.environment = {
            **os.environ,
            "COMPOSE_PROJECT_NAME": self.project,
            "CLUSTER_NAME": self.name,
            "CLUSTER_NET": self.net,
            "CLIENT_REQUESTS": "999999",  # all clients have one address
            "CLIENT_CONNECTIONS": "9999",
            "EXTRAS": "",
            "THEATRES": "",
        }
        self.environment.pop("DOCKER_HOST", None)
        if (lab / "swarm.yaml").exists():
            self.environment["CLUSTER_COMPOSE"] = str((lab / "swarm.yaml").relative_to(REPO))
        self.printed = ""  # by `make cluster-demo`
        self._clients: dict[int, docker.DockerClient] = {}

    def start(self) -> None:
        """Start the generator and the nodes. RuntimeError if that fails, with what was printed."""
        super().start()
        self.printed = self.make("cluster-demo")

    def remove(self) -> None:
        """Remove the generator, and the engines with everything on them."""
        super().remove()
        self.engines("down")

    # --- The nodes.

    def address(self, node: int) -> str:
        """The node's address, for clients."""
        return f"{self.net}.{10 + node}"

    def engines(self, *arguments: str) -> str:
        """Run a command of engines.sh, such as `kill 3`."""
        return self._on_this_machine("extras/cluster/engines.sh", *arguments)

    def make(self, target: str, *settings: str, check: bool = True) -> str:
        """Run `make TARGET [NAME=value]`; return what it printed. RuntimeError with that if it fails."""
        return self._on_this_machine("make", "--no-print-directory", target, *settings, check=check)

    def docker(self, *arguments: str, node: int = 1) -> str:
        """Run a docker command on a node; the first is the manager."""
        return self._on_this_machine("docker", "-H", f"unix://{self._socket(node)}", *arguments)

    def _socket(self, node: int) -> str:
        return f"/run/{self.name}/{node}/docker.sock"

    def _on_this_machine(self, *command: str, check: bool = True) -> str:
        with subprocess.Popen(
            command,
            cwd=REPO,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # as in LabStack
        ) as running:
            try:
                printed, _ = running.communicate(timeout=600)
            except BaseException:
                os.killpg(running.pid, signal.SIGTERM)  # it removes what it has begun
                raise
        if check and running.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {running.returncode}:\n{printed[-3000:]}")
        return printed

    # --- The services.

    def tasks(self, service: str) -> Iterator[tuple[int, Container]]:
        """The service's running containers, with their nodes; none of a node that does not answer."""
        for node in self.nodes:
            if node not in self._clients:
                address = f"unix://{self._socket(node)}"
                self._clients[node] = docker.DockerClient(address, version="1.41", timeout=60)
            label = f"com.docker.swarm.service.name={self.project}_{service}"
            try:
                containers = self._clients[node].containers.list(filters={"label": label})
            except OSError:  # the connection is refused, or it was lost
                continue
            yield from ((node, container) for container in containers)

    def slots(self) -> dict[str, int]:
        """Each Varnish, such as varnish-2, and its node."""
        return {
            f"varnish-{re.search(r'_varnish[.]([0-9]+)[.]', str(container.name))[1]}": node  # type: ignore[index]
            for node, container in self.tasks("varnish")
        }

    def run(self, service: str, *command: str) -> str:
        """As in LabStack; of a service with several containers, in the first."""
        if service not in self.containers:
            tasks = list(self.tasks(service))
            if not tasks:
                raise Problem(f"{service} does not run")
            return self.execute(service, tasks[0][1], *command)
        return super().run(service, *command)

    def usage(self, services: Sequence[str]) -> dict[str, Usage]:
        """As in LabStack; of a service with several containers, the sum."""
        found = super().usage(["generator"])
        for service in services:
            if service != "generator":
                found[service] = total([usage_of(service, container) for _, container in self.tasks(service)])
        return found

    def settled(self) -> bool:
        """Whether each service has all of its healthy tasks, and no update of one goes on."""
        services = json.loads(self.docker("service", "inspect", *self.docker("service", "ls", "-q").split()))
        updating = [
            service.get("UpdateStatus", {}).get("State", "") in ("updating", "rollback_started")
            for service in services
        ]
        listed = self.docker("service", "ls", "--format", "{{.Replicas}}").splitlines()
        counts = [line.split()[0].split("/") for line in listed]
        return not any(updating) and all(running == wanted for running, wanted in counts)

    def wait_until_settled(self) -> None:
        """Problem if a service stays incomplete."""
        deadline = time.monotonic() + SETTLED_WITHIN
        while not self.settled():
            if time.monotonic() > deadline:
                raise Problem(
                    f"incomplete: {self.docker('service', 'ls', '--format', '{{.Name}} {{.Replicas}}')}"
                )
            time.sleep(0.3)

    def limit(self, cores: Mapping[str, float]) -> None:
        """Let each container of these services have so many cores at most; 0 ends the limit."""
        for service, share in cores.items():
            for _, container in self.tasks(service):
                container.update(cpu_period=PERIOD, cpu_quota=round(share * PERIOD) or -1)

    def varnish_counters(self, service: str, *names: str) -> dict[str, int]:
        """Counters of varnishstat, summed over the service's containers; a * stands for anything."""
        sums: dict[str, int] = dict.fromkeys(names, 0)
        for _, container in self.tasks(service):
            printed = self.execute(
                service, container, "varnishstat", "-1", "-j", "-n", "/var/lib/varnish/varnishd"
            )
            counters: Mapping[str, Any] = json.loads(printed)["counters"]
            for name in names:
                pattern = re.escape(name).replace(r"\*", ".*")
                sums[name] += sum(it["value"] for key, it in counters.items() if re.fullmatch(pattern, key))
        return sums


def total(usages: Sequence[Usage]) -> Usage:
    """The sum of several containers' use."""
    return Usage(
        **{field.name: sum(getattr(usage, field.name) for usage in usages) for field in fields(Usage)}
    )
