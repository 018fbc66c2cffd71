"""The containers of a lab: a Compose project that publishes no port, started and removed by the runner.

Compose creates them. The engine's API starts them, runs commands inside, and reports their CPU time and
memory, with either version of cgroups.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Self

import docker
import docker.errors
from docker.models.containers import Container

REPO = Path(__file__).resolve().parents[2]
PROJECT = os.environ.get("COMPOSE_PROJECT_NAME", "proscenium") + "-bench"
HEALTHY_WITHIN = 120  # seconds, for each service


class Problem(Exception):
    """A rejected measurement; the message, for the report, gives the reason."""


@dataclass(frozen=True)
class Usage:
    """The resources of a service: CPU seconds since its start, and its present memory.

    `memory_bytes` excludes the reclaimable page cache, as in `docker stats`; `process_bytes` is the part of
    it that the processes have allocated; most of the rest is the kernel's. `page_cache_bytes`: the files that
    the kernel keeps for the service. `tasks`: processes and threads.
    """

    cpu_seconds: float
    memory_bytes: int
    memory_limit: int
    process_bytes: int = 0
    tasks: int = 0
    page_cache_bytes: int = 0


class LabStack:
    """The services of a lab. A context: started for the block, removed with all their data after it."""

    def __init__(self, lab: Path, services: Sequence[str]) -> None:
        self.files = [REPO / "compose.yaml", REPO / "labs" / "compose.yaml"]
        if (lab / "compose.yaml").exists():
            self.files.append(lab / "compose.yaml")
        self.services = services
        self.engine = docker.DockerClient(base_url=endpoint(), version="auto", timeout=3600)
        self.containers: dict[str, Container] = {}
        self.description = ""  # the merged configuration, in JSON
        self._checks: dict[str, Sequence[str]] = {}  # the health check of each service

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def start(self) -> None:
        """Build, create and start the services, each once its dependencies are healthy.

        The health checks run here, not in the engine, which would repeat them during the measurement; each
        costs as much CPU as a hundred requests. Raise RuntimeError if a service does not start.
        """
        self.remove()  # removes containers that a crashed run has left
        self._compose("build", "--with-dependencies", *self.services)
        self._compose("create", *self.services)
        self.description = self._compose("config", "--format", "json")
        described: Mapping[str, Any] = json.loads(self.description)["services"]
        for container in self.engine.containers.list(
            all=True, filters={"label": f"com.docker.compose.project={PROJECT}"}
        ):
            self.containers[container.labels["com.docker.compose.service"]] = container
        order = TopologicalSorter(
            {name: described[name].get("depends_on", {}).keys() for name in self.containers}
        )
        for name in order.static_order():
            if name in self.containers:  # an optional dependency may be missing
                self._checks[name] = described[name].get("healthcheck", {}).get("test", ["CMD", "true"])
                self.containers[name].start()
                self._wait(name)

    def restart(self, service: str) -> None:
        """Restart a service, so that its memory is that of new processes; wait until it is healthy."""
        self.containers[service].restart(timeout=10)
        self._wait(service)

    def remove(self) -> None:
        """Remove everything: containers, networks, volumes."""
        self._compose("down", "--volumes", "--remove-orphans", "--timeout", "3")

    def run(self, service: str, *command: str) -> str:
        """Run a command inside a service; return its output, or raise Problem with its last line."""
        code, output = self.containers[service].exec_run(list(command), demux=True)
        streams: tuple[bytes | None, bytes | None] = output  # type: ignore[assignment]  # because of demux
        out, err = ((stream or b"").decode(errors="replace") for stream in streams)
        if code != 0:
            last = (err.strip() or out.strip() or "no output").splitlines()[-1]
            raise Problem(f"{Path(command[0]).name} in {service} ended with {code}: {last}")
        return out

    def usage(self, services: Sequence[str]) -> dict[str, Usage]:
        """Return the use of each service. It takes up to a second if the engine samples once a second."""
        with ThreadPoolExecutor(len(services)) as pool:
            return dict(zip(services, pool.map(self._usage, services), strict=True))

    def _usage(self, service: str) -> Usage:
        return usage_of(self.engine, self.containers[service])

    def _wait(self, name: str) -> None:
        """Repeat a health check until it succeeds; raise RuntimeError with the log if it never does."""
        test = self._checks[name]
        command = ["/bin/sh", "-c", test[1]] if test[0] == "CMD-SHELL" else list(test[1:])
        container, deadline = self.containers[name], time.monotonic() + HEALTHY_WITHIN
        while True:
            # A container that is not running accepts no command.
            with suppress(docker.errors.APIError):
                if container.exec_run(command).exit_code == 0:
                    return
            container.reload()
            given_up = container.status == "exited" or container.attrs["RestartCount"] > 3
            if given_up or time.monotonic() > deadline:
                raise RuntimeError(
                    f"{name} does not become healthy. The end of its log:\n{end_of_log(container)}"
                )
            time.sleep(0.2)

    def _compose(self, *arguments: str) -> str:
        files: Iterable[str] = (part for file in self.files for part in ("-f", str(file)))
        done = subprocess.run(
            ["docker", "compose", "--project-directory", str(REPO), "-p", PROJECT, *files, *arguments],
            env={**os.environ, "HEALTH_INTERVAL": "24h"},
            capture_output=True,
            text=True,
            start_new_session=True,  # Ctrl-C goes to this process, which must still remove the containers
        )
        if done.returncode != 0:
            raise RuntimeError(f"docker compose {' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
        return done.stdout


def usage_of(engine: docker.DockerClient, container: Container) -> Usage:
    """Return the present use of a container. Raise RuntimeError with the end of its log if it has stopped."""
    # Without one_shot, the engine would wait for a second sample.
    stats: Mapping[str, Any] = engine.api.stats(str(container.id), stream=False, one_shot=True)
    memory = stats["memory_stats"]
    if "usage" not in memory:
        raise RuntimeError(f"{container.name} has stopped. The end of its log:\n{end_of_log(container)}")
    # The first name belongs to cgroups version 1, the second one to version 2.
    details = memory["stats"]
    reclaimable: int = details.get("total_inactive_file", details.get("inactive_file", 0))
    allocated: int = details.get("total_rss", details.get("anon", 0))
    files: int = details.get("total_cache", details.get("file", 0))
    shared: int = details.get("total_shmem", details.get("shmem", 0))  # memory that counts as a file's
    return Usage(
        cpu_seconds=stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9,
        memory_bytes=memory["usage"] - reclaimable,
        memory_limit=memory["limit"],
        process_bytes=allocated,
        tasks=stats.get("pids_stats", {}).get("current", 0),
        page_cache_bytes=files - shared,
    )


def end_of_log(container: Container) -> str:
    """Return the last lines of a container's log."""
    return bytes(container.logs(tail=20)).decode(errors="replace")


def endpoint() -> str:
    """Return the engine's address: the SDK knows DOCKER_HOST, but not the command line's contexts."""
    command = ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]
    return os.environ.get("DOCKER_HOST") or subprocess.check_output(command, text=True).strip()
