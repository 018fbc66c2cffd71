"""The lab's containers: a house of its own that publishes nothing, opened and removed by the runner.

Compose makes them. The engine's API starts them, runs commands inside and tells what they use, whichever
version of cgroups the machine has.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from graphlib import TopologicalSorter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import docker
import docker.errors
from docker.models.containers import Container

REPO = Path(__file__).resolve().parents[2]
PROJECT = os.environ.get("COMPOSE_PROJECT_NAME", "proscenium") + "-bench"
HEALTHY_WITHIN = 120  # seconds, each service


class Problem(Exception):
    """Why a figure must not be reported, in words for the report."""


class House:
    """The services of a lab. A context: opened for the block, removed with all its data at the end of it."""

    def __init__(self, lab: Path, services: Sequence[str]) -> None:
        self.files = [REPO / "compose.yaml", REPO / "labs" / "compose.yaml"]
        if (lab / "compose.yaml").exists():
            self.files.append(lab / "compose.yaml")
        self.services = services
        self.engine = docker.DockerClient(base_url=_endpoint(), version="auto", timeout=3600)
        self.containers: dict[str, Container] = {}
        self.description = ""  # as Compose understands it, in JSON

    def __enter__(self) -> Self:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Build, create and start the services and all they depend on, each when those behind it are healthy.

        Their health is asked for here and not by the engine, whose checks would go on while we measure, and
        each takes as much CPU as a hundred requests. RuntimeError if something does not start.
        """
        self.close()  # what a crashed run has left
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
            if name in self.containers:  # and not a profile's that nobody asked for
                self.containers[name].start()
                self._wait(name, described[name].get("healthcheck", {}).get("test", ["CMD", "true"]))

    def close(self) -> None:
        """Remove everything: containers, networks, volumes."""
        self._compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "3")

    def run(self, service: str, *command: str) -> str:
        """Run a command inside a service; what it printed. Problem, with its last words, if it failed."""
        code, output = self.containers[service].exec_run(list(command), demux=True)
        streams: tuple[bytes | None, bytes | None] = output  # type: ignore[assignment]  # because of demux
        out, err = ((stream or b"").decode(errors="replace") for stream in streams)
        if code != 0:
            last = (err.strip() or out.strip() or "it said nothing").splitlines()[-1]
            raise Problem(f"{Path(command[0]).name} in {service} ended with {code}: {last}")
        return out

    def cpu_seconds(self, services: Sequence[str]) -> dict[str, float]:
        """CPU time that each service has used since it was started, all cores together.

        Takes up to a second where the engine only looks once a second; all are asked together.
        """
        with ThreadPoolExecutor(len(services)) as pool:
            answers = pool.map(self._stats, services)
            return {
                service: answer["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9
                for service, answer in zip(services, answers, strict=True)
            }

    def memory_bytes(self, service: str) -> int:
        """Memory of a service without the page cache that could be given back, as `docker stats` tells it."""
        memory = self._stats(service)["memory_stats"]
        details = memory["stats"]
        # The first name is of cgroups version 1, the second of version 2.
        given_back: int = details.get("total_inactive_file", details.get("inactive_file", 0))
        usage: int = memory["usage"]
        return usage - given_back

    def _stats(self, service: str) -> Mapping[str, Any]:
        """What the engine knows of a running service; RuntimeError if it has stopped."""
        container = self.containers[service]
        # Without one_shot the engine waits for a second sample.
        answer: Mapping[str, Any] = self.engine.api.stats(str(container.id), stream=False, one_shot=True)
        if "usage" not in answer["memory_stats"]:
            raise RuntimeError(f"{service} has stopped. Its last words:\n{last_words(container)}")
        return answer

    def _wait(self, name: str, test: Sequence[str]) -> None:
        """Repeat a service's health check until it is content; RuntimeError with the log if it never is."""
        command = ["/bin/sh", "-c", test[1]] if test[0] == "CMD-SHELL" else list(test[1:])
        container, deadline = self.containers[name], time.monotonic() + HEALTHY_WITHIN
        while True:
            # One that is not running, or no longer, is no place for a command.
            with suppress(docker.errors.APIError):
                if container.exec_run(command).exit_code == 0:
                    return
            container.reload()
            given_up = container.status == "exited" or container.attrs["RestartCount"] > 3
            if given_up or time.monotonic() > deadline:
                raise RuntimeError(
                    f"{name} does not become healthy. Its last words:\n{last_words(container)}"
                )
            time.sleep(0.2)

    def _compose(self, *arguments: str) -> str:
        files: Iterable[str] = (part for file in self.files for part in ("-f", str(file)))
        done = subprocess.run(
            ["docker", "compose", "--project-directory", str(REPO), "-p", PROJECT, *files, *arguments],
            env={**os.environ, "HEALTH_INTERVAL": "24h", "COMPOSE_PROFILES": ""},
            capture_output=True,
            text=True,
            start_new_session=True,  # Ctrl-C is for us: we close the house, and that must not be broken off
        )
        if done.returncode != 0:
            raise RuntimeError(f"docker compose {' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
        return done.stdout


def last_words(container: Container) -> str:
    """The end of a container's log."""
    return bytes(container.logs(tail=20)).decode(errors="replace")


def _endpoint() -> str:
    """Where the engine is: the SDK knows DOCKER_HOST, but not the CLI's contexts."""
    command = ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]
    return os.environ.get("DOCKER_HOST") or subprocess.check_output(command, text=True).strip()
