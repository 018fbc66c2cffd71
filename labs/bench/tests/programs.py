"""The programs of bench/clients as processes, the servers that they need, and a stack that replaces them."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any, cast

from bench.lab_stack import LabStack, Problem, Usage
from stack import REPO
from support.origin import Origin, Request, response

FILES = ("/style/main.css", "/script/main.js", "/media/queen.svg", "/media/castle.svg", "/media/bell.mp3")
PAGE = '<a href="/stages/">Stages</a>' + "".join(f'<link href="{path}">' for path in FILES)
EVERYTHING = {"/stages/demo", "/admin/id", *FILES}


def printed(client: str, settings: dict[str, Any], **environment: str) -> str:
    """Return a program's output; if it fails, raise with its last line on standard error."""
    done = subprocess.run(
        [sys.executable, "-m", f"bench.clients.{client}", json.dumps(settings)],
        env={**os.environ, "PYTHONPATH": str(REPO / "labs"), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def report(client: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The report of a program."""
    return json.loads(printed(client, settings))  # type: ignore[no-any-return]


class Site(Origin):
    """The stage's page and files; `responses` replaces them by path."""

    def __init__(self) -> None:
        self.responses: dict[str, bytes] = {}
        super().__init__("site")
        self.answer = self.respond

    @property
    def web(self) -> dict[str, Any]:
        """The setting `web` of a program."""
        return {
            "address": "127.0.0.1",
            "port": self.port,
            "host": "upstage.localhost",
            "page": "/stages/demo",
        }

    def respond(self, request: Request) -> bytes:
        body = PAGE if request.target == "/stages/demo" else "body"
        return self.responses.get(request.target, response(body))


class Stage(Origin):
    """A stage that repeats each line to every client; `lost` lines are not repeated."""

    def __init__(self) -> None:
        self.clients: set[socket.socket] = set()
        self.received: Counter[str] = Counter()
        self.frames: list[str] = []
        self.lock = threading.Lock()
        self.lost = False
        super().__init__("stage")

    def serve(self, connection: socket.socket, number: int) -> None:
        rest = b""
        while data := connection.recv(65536):
            *frames, rest = (rest + data).split(b"\0")
            for frame in frames:
                self.handle(connection, frame.decode())

    def handle(self, connection: socket.socket, frame: str) -> None:
        mode = frame.rpartition("mode=")[2]
        with self.lock:
            self.received[mode] += 1
            self.frames.append(frame)
            if mode == "JOIN":
                self.clients.add(connection)
            elif mode == "LOADED":
                connection.sendall(b"mode=CONFIRM_LOADED\0")
            elif mode == "TEXT" and not self.lost:
                time.sleep(self.delay)
                line = frame.removeprefix("msg=").partition("&")[0]
                for client in self.clients:
                    client.sendall(f"text={line}&mode=ANONTEXT\0".encode())


class Generator:
    """A stack whose generator answers each command with the next report, and keeps the commands.

    A report is what is printed, or an object that is printed as JSON, or a problem to raise.
    """

    def __init__(self, *reports: str | dict[str, Any] | Problem) -> None:
        self.reports = list(reports)
        self.commands: list[tuple[str, ...]] = []

    def run(self, service: str, *command: str) -> str:
        assert service == "generator"
        self.commands.append(command)
        report = self.reports.pop(0)
        if isinstance(report, Problem):
            raise report
        return report if isinstance(report, str) else json.dumps(report)

    def usage(self, services: list[str]) -> dict[str, Usage]:
        assert services == ["nginx-today"]
        return {"nginx-today": Usage(0.0, 3_000_000, 10**9)}

    @property
    def stack(self) -> LabStack:
        return cast(LabStack, self)

    def settings(self, number: int) -> Any:
        """The input that one of our programs was given."""
        return json.loads(self.commands[number][-1])
