"""The containers of a running stack: nginx's address, memory in use, killed processes."""

import http.client
import json
import re
import socket
import subprocess
from dataclasses import dataclass
from functools import cached_property

Address = tuple[str, int]
SERVICES = ("nginx", "varnish", "backend")


class Engine(http.client.HTTPConnection):
    """The container engine's API over its Unix socket."""

    def __init__(self) -> None:
        super().__init__("engine", timeout=20)

    def connect(self) -> None:
        """Open the engine's socket instead of a TCP connection."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect("/var/run/docker.sock")

    def memory(self, container: str) -> float:
        """Return the share of its memory limit that a container uses, without reclaimable file cache."""
        self.request("GET", f"/containers/{container}/stats?stream=false&one-shot=true")
        found = json.load(self.getresponse())["memory_stats"]
        if not found:
            return 0.0
        dropped = found["stats"].get("total_inactive_file", found["stats"].get("inactive_file", 0))
        return float(found["usage"] - dropped) / float(found["limit"])


@dataclass
class Containers:
    """The containers of one project."""

    project: str

    @cached_property
    def address(self) -> Address:
        """nginx's load port, where no limits per client apply."""
        inspected = self._docker("inspect", self.container("nginx"))
        networks = json.loads(inspected)[0]["NetworkSettings"]["Networks"]
        return next(net["IPAddress"] for name, net in networks.items() if name.endswith("_edge")), 8000

    def container(self, service: str) -> str:
        """Return the identifier of a service's container."""
        return self._docker("compose", "-p", self.project, "ps", "-q", service).strip()

    def picture(self) -> None:
        """Give the backend a new webcam picture."""
        folder = "/srv/media/video"
        write = f"head -c 20000 /dev/urandom >{folder}/new && mv {folder}/new {folder}/flood.jpg"
        script = f"mkdir -p {folder} && {write}"
        self._docker("exec", self.container("backend"), "sh", "-c", script)

    def killed(self, since: float) -> list[str]:
        """Return log lines since a time about killed processes."""
        found = []
        for service in SERVICES:
            log = self._docker("logs", "--since", f"{since:.3f}", self.container(service), errors=True)
            found += re.findall(r".*(?:exited on signal|Child \(\d+\) (?:died|not responding)).*", log)
        return found

    def _docker(self, *arguments: str, errors: bool = False) -> str:
        wanted = subprocess.STDOUT if errors else subprocess.DEVNULL
        command = ("docker", *arguments)
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=wanted, text=True, check=True).stdout
