"""The command in a separate process."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.wait import wait_until

FOLDER = Path(__file__).parents[1]
COMMAND = [sys.executable, str(FOLDER / "src" / "policyd.py")]
SHIPPED = FOLDER / "flashpolicy.xml"
LOCAL = "127.0.0.1"


class Daemon(subprocess.Popen[bytes]):
    """policyd with the shipped policy on a free port, until the end of a `with`. Its log is a file."""

    def __init__(self, *options: str, before: Callable[[], None] | None = None) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        command = [*COMMAND, "--port", "0", "--file", str(SHIPPED), *options]
        super().__init__(command, stdout=self.log, preexec_fn=before)
        self.addresses: list[Any] = self.event("listening")["addresses"]
        self.port: int = self.addresses[0][1]

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        self.log.close()

    def events(self, name: str) -> list[dict[str, Any]]:
        events = map(json.loads, os.pread(self.log.fileno(), 10_000_000, 0).splitlines())
        return [event for event in events if event["event"] == name]

    def event(self, name: str) -> dict[str, Any]:
        """Return the newest event of this name, as soon as there is one."""
        return wait_until(lambda: self.events(name))[-1]

    def stop(self) -> dict[str, int]:
        """End the daemon; return the number of connections with each outcome."""
        self.terminate()
        assert self.wait(60) == 0
        return {name: count for name, count in self.events("counters")[-1].items() if type(count) is int}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with these arguments to its end; return the finished process."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False)
