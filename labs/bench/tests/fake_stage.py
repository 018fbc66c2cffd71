"""A stage on loopback, in place of UpStage's."""

import socket
import threading
import time
from contextlib import suppress
from typing import Any

from tests.support.origin import Origin


class Stage(Origin):
    """A stage that sends a new member its reply in two parts, and sends each line to all members.

    `refused` and `deaf` are clients, numbered in the order in which they connected: the first is disconnected
    when it joins, the second does not get the lines, nor does any client of a `silent` stage.
    """

    def __init__(self) -> None:
        self.members: dict[int, socket.socket] = {}
        self.lock = threading.Lock()
        self.refused = self.deaf = 0
        self.silent = False
        super().__init__("stage")

    def serve(self, connection: socket.socket, number: int) -> None:
        rest = b""
        while data := connection.recv(65536):
            *frames, rest = (rest + data).split(b"\0")
            for frame in frames:
                with self.lock:
                    self.handle(connection, number, frame.decode())

    def handle(self, connection: socket.socket, number: int, frame: str) -> None:
        if frame.endswith("mode=JOIN"):
            self.members[number] = connection
            if number == self.refused:
                connection.shutdown(socket.SHUT_RDWR)
                return
            connection.sendall(b"stageName=x&mode=STAGE_NAME\0pCount=0&aCount=1&mode=JO")
            time.sleep(0.01)  # so that the parts arrive separately
            connection.sendall(b"INED\0")
        elif frame.endswith("mode=LOADED"):
            connection.sendall(b"mode=CONFIRM_LOADED\0")
        elif not self.silent:
            time.sleep(self.delay)
            line = frame.removeprefix("msg=").partition("&")[0].replace("@", "%40")
            for other, member in self.members.items():
                if other != self.deaf:
                    with suppress(OSError):  # the client has left
                        member.sendall(f"text={line}&mode=ANONTEXT\0".encode())


def of(stage: Stage) -> dict[str, Any]:
    """Return the setting `stage` of a program."""
    return {"address": "127.0.0.1", "port": stage.port, "proxied": True, "stage": "demo"}
