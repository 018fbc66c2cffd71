"""The stack on three nodes of a Docker Swarm, as labs/cluster has it."""

import re
import subprocess
from typing import Any

import requests

from bench.cluster_stack import ClusterStack
from stack import NOT_INHERITED, PROJECT, REPO
from support.http import Response, request
from support.stage_client import StageClient, WebStageClient

LAB = REPO / "labs" / "cluster"


class Cluster(ClusterStack):
    """A context: started for the block; at its end nothing is left."""

    def __init__(self) -> None:
        super().__init__(LAB, f"{PROJECT}-swarm")
        for name in NOT_INHERITED:
            self.environment.pop(name, None)
        self.environment["THEATRES"] = "second third"

    def url(self, path: str, node: int = 1) -> str:
        """The URL of a path on a node."""
        return f"http://{self.address(node)}:8080{path}"

    def get(self, path: str, node: int = 1, host: str = "localhost", **headers: str) -> Response:
        """One request to a node, over a connection of its own."""
        return request((self.address(node), 8080), path, host, "GET", b"", "", **headers)

    def stage_client(self, node: int, port: int = 7230) -> StageClient:
        """A connection to the stage socket of a node."""
        return StageClient((self.address(node), port))

    def web_stage_client(self, node: int, host: str = "localhost") -> WebStageClient:
        """A WebSocket to a node."""
        return WebStageClient(8080, host, address=self.address(node))

    def upstage(self, *arguments: str, typed: str = "") -> str:
        """Run a command in the backend's container."""
        [container] = self.docker("ps", "-qf", "name=_backend").split()
        return subprocess.run(
            ["docker", "-H", f"unix:///run/{self.name}/1/docker.sock", "exec", "-i", container, *arguments],
            input=typed,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def load_page(self) -> "LoadPage":
        """Locust's page, on the first node."""
        password = re.findall(r"load test +name: locust +password: (\w+)", self.printed)[0]
        return LoadPage(f"http://{self.address(1)}:8089", password)

    def nodes_of(self, service: str) -> list[int]:
        """The node of each running task of a service."""
        running = ("--filter", "desired-state=running", "--format", "{{.Node}}")
        nodes = self.docker("service", "ps", *running, f"{self.project}_{service}").split()
        return sorted(int(node.removeprefix("node-")) for node in nodes)

    def requests_of(self, service: str, node: int) -> int:
        """How many requests of a service's containers the nginx of a node has logged within a minute."""
        [nginx] = self.docker("ps", "-qf", f"name={self.project}_nginx", node=node).split()
        known = set(self.docker("exec", nginx, "getent", "ahostsv4", service, node=node).split())
        log = self.docker("logs", "--since", "1m", nginx, node=node)
        return sum(line.split(" ", 1)[0] in known and "HTTP/1.1" in line for line in log.splitlines())


class LoadPage:
    """Locust's page, signed in."""

    def __init__(self, address: str, password: str) -> None:
        self._address = address
        self._browser = requests.Session()
        self.post("/login", username="locust", password=password)

    def post(self, path: str, **form: str) -> None:
        """Send a form."""
        self._browser.post(f"{self._address}{path}", form, timeout=30).raise_for_status()

    @property
    def figures(self) -> dict[str, Any]:
        """What the page polls; it repeats itself for two seconds."""
        figures: dict[str, Any] = self._browser.get(f"{self._address}/stats/requests", timeout=30).json()
        return figures

    @property
    def users(self) -> list[int]:
        """The users of each worker that is well."""
        workers = self.figures["workers"]
        return sorted(worker["user_count"] for worker in workers if worker["state"] == "running")

    @property
    def verdict(self) -> dict[str, str]:
        """Each line that holds or does not: `ok`, or another word and the reason."""
        [lines] = (table["data"] for table in self.figures["extended_stats"] if table["key"] == "verdict")
        return {line["what"]: f"{line['verdict']} {line['why']}".strip() for line in lines}
