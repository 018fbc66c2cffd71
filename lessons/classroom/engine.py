"""The container engine: starting a copy, looking at all of them, and removing one with everything it has. And
what ends a command: Ctrl-C, and other signals."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from lessons.classroom.plan import Copy

PROJECT = "com.docker.compose.project"
PATIENCE = 60  # seconds for the answer to a question; a busy engine needs some
UNITS = {"B": 1, "kB": 1e3, "KiB": 2**10, "MB": 1e6, "MiB": 2**20, "GB": 1e9, "GiB": 2**30}

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EngineError(Exception):
    """A command failed; the text is its output, or the reason in it."""


class Commands:
    """Commands that run side by side and end together: Ctrl-C reaches only this program, which ends them."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._ended = False

    def run(self, *command: str, folder: Path, environment: dict[str, str]) -> str:
        """Run a command; return its output. Raise EngineError if it fails or `end` is called."""
        with self._lock:
            if self._ended:
                raise EngineError("interrupted")
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            self._running.add(process)
        try:
            printed, _ = process.communicate()
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode:
            raise EngineError(printed.strip())
        return printed

    def end(self) -> None:
        """End all that run, and start no more."""
        with self._lock:
            self._ended = True
            running = list(self._running)
        for process in running:
            _signal_group(process, signal.SIGTERM)
        for process in running:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                _signal_group(process, signal.SIGKILL)


def _signal_group(process: subprocess.Popen[str], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # it has ended by itself meanwhile
        os.killpg(process.pid, number)


def docker(*arguments: str, within: float | None = None) -> str:
    """What a Docker command prints. Raise EngineError with its message, or after so many seconds."""
    try:
        done = subprocess.run(
            ["docker", *arguments],
            capture_output=True,
            text=True,
            start_new_session=True,
            timeout=within,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(f"The container engine has not answered within {within:.0f} s.") from None
    if done.returncode:
        raise EngineError(done.stderr.strip())
    return done.stdout


def remove(copy: Copy) -> None:
    """Remove containers, networks, volumes and images of a copy, in several attempts.

    The engine may still be creating a container for a command that has been ended.
    """
    for seconds in (2, 5):
        try:
            return _remove(copy)
        except EngineError:
            time.sleep(seconds)
    return _remove(copy)


def _remove(copy: Copy) -> None:
    """Find them by label, because the learner's compose.yaml may be broken."""
    mine = ("--quiet", "--filter", f"label={PROJECT}={copy.project}")
    if containers := docker("ps", "--all", *mine).split():
        docker("rm", "--force", "--volumes", *containers)
    if networks := docker("network", "ls", *mine).split():
        docker("network", "rm", *networks)
    if volumes := docker("volume", "ls", *mine).split():
        docker("volume", "rm", "--force", *volumes)
    names = [f"{copy.project}-{service}:latest" for service in ("backend", "policyd")]
    here = docker(
        "image", "ls", "--format", "{{.Repository}}:{{.Tag}}", f"--filter=reference={copy.project}-*"
    )
    if images := [name for name in here.split() if name in names]:
        docker("rmi", *images)


@dataclass
class Usage:
    """The containers of a copy."""

    # Each with its state: healthy, unhealthy, exited ...
    services: dict[str, str] = field(default_factory=dict)
    memory: float = 0  # bytes
    cpu: float = 0  # percent of one core


def usage(copies: list[Copy]) -> dict[int, Usage]:
    """Each copy's containers, by the copy's number."""
    numbers = {copy.project: copy.number for copy in copies}
    found = {copy.number: Usage() for copy in copies}
    owners = {}
    for line in _lines("ps", "--all", "--filter", f"label={PROJECT}"):
        labels = dict(label.partition("=")[::2] for label in line["Labels"].split(","))
        if number := numbers.get(labels.get(PROJECT, "")):
            found[number].services[labels["com.docker.compose.service"]] = _state(line)
            owners[line["ID"]] = number
    if owners:
        for line in _lines("stats", "--no-stream", *owners):
            of = found[owners[line["ID"][:12]]]
            of.memory += _bytes(line["MemUsage"].partition(" ")[0])
            of.cpu += float(line["CPUPerc"].rstrip("%"))
    return found


def _lines(*arguments: str) -> Iterator[dict[str, str]]:
    for line in docker(*arguments, "--format", "{{json .}}", within=PATIENCE).splitlines():
        yield json.loads(line)


def _state(line: dict[str, str]) -> str:
    """healthy or unhealthy, starting, or the container's own state if it does not run."""
    if line["State"] != "running":
        return line["State"]
    _, _, health = line["Status"].partition("(")
    return health.rstrip(")").removeprefix("health: ")


def _bytes(text: str) -> float:
    number = text.rstrip("kKMGiB")
    return float(number) * UNITS[text.removeprefix(number)]


def handle_interrupts() -> None:
    """From now on the first signal raises KeyboardInterrupt, and the next ones have no effect, so that
    nothing is left behind."""
    for name in INTERRUPTS:
        signal.signal(name, _interrupt)


def ignore_interrupts() -> None:
    """From now on Ctrl-C has no effect here. (SIG_IGN would be inherited by programs, which then could not
    be ended.)"""
    for name in INTERRUPTS:
        signal.signal(name, lambda number, frame: None)


def _interrupt(number: int, frame: FrameType | None) -> None:
    ignore_interrupts()
    raise KeyboardInterrupt
