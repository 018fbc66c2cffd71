"""The lowest layer: a TCP socket, on which UpStage's frames end with a NUL.

Look at: the row `stage chat`, how old a line is when its speaker sees it. Locust replaces Python's sockets,
so that a thousand users can wait in one process. Watch them at http://localhost:8080/stages/load.
"""

import os
import socket
import time
from urllib.parse import urlsplit

from locust import User, between, task

PORT = int(os.environ.get("LOADTEST_STAGE_PORT", "17230"))


class Talker(User):
    """Joins over the stage socket once, then says a line every few seconds."""

    wait_time = between(2, 4)

    def on_start(self) -> None:
        self.socket = socket.create_connection((urlsplit(self.host).hostname, PORT), timeout=10)
        self.ask("join", "MD5=undefined&mode=IDENT\0stage_ID=load&mode=JOIN\0mode=LOADED", "CONFIRM_LOADED")

    @task
    def talk(self) -> None:
        line = f"line+{time.monotonic_ns()}"
        self.ask("chat", f"msg={line}&mode=TEXT", line)

    def ask(self, name: str, frames: str, answer: str) -> None:
        """Send the frames, and report the time until the answer. An exception ends this user's task."""
        began, received = time.perf_counter(), b""
        self.socket.sendall(f"{frames}\0".encode())
        while answer.encode() not in received:
            received = received[-100:] + self.socket.recv(65536)
        passed = 1000 * (time.perf_counter() - began)
        self.environment.events.request.fire(
            request_type="stage", name=name, response_time=passed, response_length=0, context={}
        )
