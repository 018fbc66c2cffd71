"""Programs under test: a process with its log, and a service of the stack that its own start.sh starts."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from tests.support.checks import REPO, ran
from tests.support.origin import Origin
from tests.support.wait import wait_until

# The path of native mode. Debian keeps nginx and varnishd in /usr/sbin.
PATH = f"{Path(__file__).parents[2] / 'native' / 'bin'}:{os.environ['PATH']}:/usr/sbin"


class Process(Protocol):
    """The part of `subprocess.Popen` that is used here."""

    pid: int

    def poll(self) -> int | None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...
    def wait(self, timeout: float) -> int: ...


class Program:
    """A process whose output goes to a log."""

    process: Process

    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str], log: Path) -> None:
        self.log = log
        log.unlink(missing_ok=True)  # the log of the process before
        with log.open("ab") as output:  # nginx opens /dev/stdout again: appending keeps all lines
            self.process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition; raise RuntimeError with the log if the process ends instead."""

        def check() -> bool:
            if self.process.poll() is not None:
                raise RuntimeError(f"the program has ended: {self.log.read_text()}")
            return condition()

        wait_until(check, every=0.02, report=self.log.read_text)

    def stop(self) -> int:
        """Stop the process; return its exit code."""
        self.process.terminate()
        return self.process.wait(60)

    def kill(self) -> None:
        """Kill the process, and wait for its end."""
        self.process.kill()
        self.process.wait(60)


class Service:
    """A folder, the origins and, from `start` on, the program that start.sh becomes.

    `settings` are the environment of all its scripts.
    """

    def __init__(self, scripts: Path) -> None:
        self.original = self.scripts = scripts
        prefix = f"{scripts.name}-"
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))  # a socket's path must be short
        self.log = self.folder / "log"
        self.settings: dict[str, str] = {}
        self.origins: list[Origin] = []
        self.program: Program | None = None

    def copy_scripts(self) -> None:
        """Run the scripts from a copy, whose files a test may change."""
        self.scripts = self.folder / self.original.name
        for folder in (self.original, REPO / "starter"):  # nginx and Varnish include its files
            copy = self.folder / folder.name
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("tests"))

    def environment(self, **settings: str) -> dict[str, str]:
        """Return the environment of the scripts, with further settings."""
        return {"PATH": PATH, **self.settings, **settings}

    def run(self, *command: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the scripts' environment to its end; return it, with its output."""
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return ran(*command, env=self.environment(**settings), timeout=60, **both)

    def run_script(self, name: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run one of the shell scripts to its end; return it, with its output."""
        return self.run("sh", self.scripts / name, **settings)

    def run_start(self, healthy: Callable[[], bool], *options: str) -> None:
        """Run start.sh; wait until the service is healthy."""
        self.program = Program(["sh", self.scripts / "start.sh", *options], self.environment(), self.log)
        self.program.wait_for(healthy)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.program:
            self.program.stop()
        for origin in self.origins:
            origin.close()
        shutil.rmtree(self.folder)
