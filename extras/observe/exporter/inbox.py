"""A Unix socket that receives datagrams, such as log lines, from the other services."""

import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from prometheus_client.metrics_core import Metric

LONGEST = 131_072  # bytes of a datagram: nginx's buffer (nginx/observe/stream.conf.template)
PATIENCE = 5.0  # seconds without a datagram, after which the socket is checked


class Inbox:
    """The socket at `path`; `take` is called with each datagram."""

    def __init__(self, path: Path, take: Callable[[bytes], None]) -> None:
        self._path = path
        self._take = take
        self._listening = False

    def check(self) -> list[Metric]:
        """Return no metric: the datagrams count elsewhere. Raise OSError while none can be received."""
        if not (self._listening and self._path.is_socket()):
            raise OSError(f"no socket {self._path}")
        return []

    def listen(self) -> None:
        """Receive datagrams, forever."""
        while True:
            try:
                self._receive()
            except OSError as error:
                print(f"{self._path}: {error}", file=sys.stderr, flush=True)
                time.sleep(PATIENCE)

    def _receive(self) -> None:
        """Receive datagrams until the path has been removed or there is an OSError."""
        self._path.unlink(missing_ok=True)  # the last run has left it: a socket's file outlives its process
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as inbox:
            inbox.bind(str(self._path))
            self._path.chmod(0o666)  # the senders run as other users
            inbox.settimeout(PATIENCE)
            self._listening = True
            try:
                while True:
                    try:
                        self._take(inbox.recv(LONGEST))
                    except TimeoutError:
                        if not self._path.is_socket():
                            return
            finally:
                self._listening = False
