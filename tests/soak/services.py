"""The containers of the running stack: memory, CPU time, open descriptors and bytes of output of each.

None of the four starts a process in a container for each sample: that would cost the engine as much as a
hundred requests. One shell in each container counts the descriptors whenever it is asked.
"""

import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

import docker
from docker.models.containers import Container

from labs.bench.lab_stack import endpoint, usage_of

# Counts the descriptors of all processes in the container, its own few included, for each line that it reads.
COUNT = "while read -r _; do set -- /proc/[0-9]*/fd/*; echo $#; done"
MEGABYTE = 1e6  # bytes
PROJECT, SERVICE, NUMBER, ONE_OFF = (
    f"com.docker.compose.{label}" for label in ("project", "service", "container-number", "oneoff")
)


@dataclass(frozen=True)
class Reading:
    """What a service has used until, or at, a moment of the monotonic clock in seconds."""

    moment: float
    cpu_seconds: float
    memory: float  # MB, without the file cache that the kernel takes back when it is needed
    descriptors: int
    output: int  # bytes


class Service:
    """One container under observation, from its creation until `close`."""

    def __init__(self, engine: docker.DockerClient, container: Container) -> None:
        number = container.labels.get(NUMBER, "1")
        self.name = container.labels[SERVICE] + (f"-{number}" if number != "1" else "")
        self.memory_limit = usage_of(engine, container).memory_limit / MEGABYTE
        self._engine, self._container = engine, container
        self._output = 0
        self._counting = subprocess.Popen(
            ["docker", "exec", "-i", str(container.id), "sh", "-c", COUNT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,  # Ctrl-C is for this program alone
        )
        threading.Thread(target=self._follow, daemon=True).start()

    def close(self) -> None:
        """End the shell in the container: its input has ended."""
        self._counting.communicate(timeout=10)

    def read(self) -> Reading:
        """The use at this moment. Raise RuntimeError if the service has stopped or was restarted."""
        used = usage_of(self._engine, self._container)
        return Reading(
            time.monotonic(),
            used.cpu_seconds,
            used.memory_bytes / MEGABYTE,
            self._descriptors(),
            self._output,
        )

    def _descriptors(self) -> int:
        asked, answer = self._counting.stdin, self._counting.stdout
        assert asked
        assert answer
        try:
            asked.write("\n")
            count = answer.readline()
        except BrokenPipeError:
            count = ""
        if not count:
            raise RuntimeError(f"{self.name} has stopped or was restarted; make logs has its output")
        return int(count)

    def _follow(self) -> None:
        for piece in self._container.logs(stream=True, follow=True, tail=0):
            self._output += len(piece)


class Services:
    """A context: all running containers of a Compose project under observation."""

    def __init__(self, project: str) -> None:
        engine = docker.DockerClient(base_url=endpoint(), version="auto", timeout=60)
        labels = [f"{PROJECT}={project}", f"{ONE_OFF}=False"]
        containers = engine.containers.list(filters={"label": labels})
        # In the order in which a request meets them; other services after them.
        order = ("nginx", "varnish", "backend", "policyd", "locust")
        self.all = sorted(
            (Service(engine, container) for container in containers),
            key=lambda service: (
                order.index(service.name) if service.name in order else len(order),
                service.name,
            ),
        )
        self._pool = ThreadPoolExecutor(len(self.all))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        for service in self.all:
            service.close()

    def read(self) -> dict[str, Reading]:
        """A reading of each service, all at about the same time. Raise RuntimeError if one has stopped."""
        readings = self._pool.map(Service.read, self.all)
        return {service.name: reading for service, reading in zip(self.all, readings, strict=True)}


def between(before: dict[str, Reading], now: dict[str, Reading]) -> dict[str, dict[str, float]]:
    """The four measures of each service, from one reading to the next: MB, % of a core, a number, kB/min."""
    found: dict[str, dict[str, float]] = {"memory": {}, "cpu": {}, "descriptors": {}, "log": {}}
    for name, reading in now.items():
        seconds = reading.moment - before[name].moment
        found["memory"][name] = round(reading.memory, 3)
        found["cpu"][name] = round((reading.cpu_seconds - before[name].cpu_seconds) / seconds * 100, 2)
        found["descriptors"][name] = reading.descriptors
        found["log"][name] = round((reading.output - before[name].output) / 1000 / seconds * 60, 2)
    return found
