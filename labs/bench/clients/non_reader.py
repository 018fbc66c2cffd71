"""A client that joins a stage and never reads: how long until the stage disconnects it?

    python3 -m labs.bench.clients.non_reader '{"stage": {"address": "nginx", "port": 17230, "proxied": true,
        "stage": "rehearsal"}, "kilobytes_per_second": 5, "within": 120}'

Another client reads, and says so much that the stage sends that many kilobytes a second to each. The time
begins when the stage tells this client of the new member, and ends when the stage tells it that it has one
member fewer: the client that never reads does not notice that it is disconnected. `cut_seconds` is null if
this takes longer than `within`. `bytes` is the number of bytes sent to each of the two clients in that time.
"""

import json
import re
import socket
import sys
import time
from typing import Any

from labs.bench.clients.speakers import PROXY

LINES = 20  # lines a second
ESCAPED = 8  # bytes that the stage sends for a "<": %26lt%3B
RECEIVE_BUFFER = 2048  # bytes that the kernel keeps for the client that never reads
COUNTS = re.compile(rb"aCount=(\d+)&mode=JOINED\0")
TIMEOUT = 10.0  # seconds until the stage announces a new member


class Member:
    """One connection that joins a stage."""

    def __init__(
        self, address: str, port: int, proxied: bool, stage: str, receive_buffer: int | None = None
    ) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect((address, port))
        self.socket.sendall((b"" if proxied else PROXY) + f"stage_ID={stage}&mode=JOIN\0".encode())
        self.audience = 0  # the size that the stage has announced
        self.bytes = 0
        self._rest = b""

    def read(self, seconds: float) -> None:
        """Read arriving data for that long. Raise ConnectionError if the server closes the connection."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(1 << 18)
            except TimeoutError:
                return
            if not data:
                raise ConnectionError("the server has closed the connection of the client that reads")
            self.bytes += len(data)
            frames = self._rest + data
            if found := COUNTS.findall(frames):
                self.audience = int(found[-1])
            self._rest = frames[frames.rfind(b"\0") + 1 :]

    def wait_for(self, audience: int) -> None:
        """Read until the stage announces that many members; raise TimeoutError if it does not."""
        deadline = time.monotonic() + TIMEOUT
        while self.audience < audience:
            if time.monotonic() > deadline:
                raise TimeoutError(f"an audience of {audience} is not announced within {TIMEOUT:g} s")
            self.read(0.05)


def main(settings: dict[str, Any]) -> dict[str, float | None]:
    """Run with these settings; return the report."""
    reader = Member(**settings["stage"])
    reader.wait_for(1)
    before = reader.audience
    silent = Member(**settings["stage"], receive_buffer=RECEIVE_BUFFER)
    reader.wait_for(before + 1)
    line = b"<" * round(settings["kilobytes_per_second"] * 1000 / LINES / ESCAPED)
    begin, received, number = time.monotonic(), reader.bytes, 0
    while (seconds := time.monotonic() - begin) < settings["within"] and reader.audience > before:
        reader.socket.sendall(b"msg=%s&mode=TEXT\0" % line)
        number += 1
        reader.read(begin + number / LINES - time.monotonic())
    cut = reader.audience <= before
    for member in (reader, silent):
        member.socket.close()
    return {"cut_seconds": seconds if cut else None, "bytes": float(reader.bytes - received)}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
