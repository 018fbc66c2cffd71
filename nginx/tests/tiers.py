"""A tier behind nginx: answers HTTP on a unix socket or a TCP port, and remembers what it was asked."""

import contextlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path


@dataclass(frozen=True)
class Seen:
    """A request as it arrived; header names in lower case."""

    method: str
    target: str
    version: str
    headers: dict[str, str]
    body: bytes
    connection: int  # the how-manieth connection it came through


def response(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """An answer with Content-Length; `cache_status="x"` becomes `cache-status: x`."""
    content = body.encode() if isinstance(body, str) else body
    fields = {"date": formatdate(usegmt=True), "content-length": str(len(content)), **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + content


class Mock:
    """Serves until `close`. `answer` makes an answer of a request; it says its name without one."""

    def __init__(self, name: str, path: Path | None = None) -> None:
        self.name = name
        self.seen: list[Seen] = []
        self.answer: Callable[[Seen], bytes] | None = None
        self.sent: list[str] = []  # the targets whose answers nginx has taken whole
        self.connections = 0
        self.port = 0
        self._path = path
        self._open: set[socket.socket] = set()
        self.listen()

    def listen(self) -> None:
        """Open the socket, also again after `close`: under the same address, but a new one."""
        if self._path is None:
            self._listener = socket.create_server(("127.0.0.1", self.port), backlog=512)
            self.port = self._listener.getsockname()[1]
        else:
            self._path.unlink(missing_ok=True)
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(self._path))
            self._path.chmod(0o666)  # nginx's workers are somebody else
            self._listener.listen(512)
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def close(self) -> None:
        """Disappear as a killed process does: connections are cut, a socket's path stays."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # close() alone would not wake accept()
        self._listener.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                self.connections += 1
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # no cushion of our own
                self._open.add(connection)
                threading.Thread(target=self._serve, args=[connection, self.connections], daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection, contextlib.suppress(OSError, ValueError):
            self.serve(connection, number)
        self._open.discard(connection)

    def serve(self, connection: socket.socket, number: int) -> None:
        """Requests and answers, until the client or the protocol ends it."""
        stream = connection.makefile("rb")
        while line := stream.readline().decode("latin-1"):
            method, target, version = line.split()
            headers: dict[str, str] = {}
            while field := stream.readline().decode("latin-1").rstrip("\r\n"):
                name, _, value = field.partition(":")
                headers[name.lower()] = value.strip()
            body = stream.read(int(headers.get("content-length", 0)))
            seen = Seen(method, target, version, headers, body, number)
            self.seen.append(seen)
            connection.sendall(self.answer(seen) if self.answer else response(self.name))
            self.sent.append(target)
            if headers.get("upgrade"):
                while data := connection.recv(4096):
                    connection.sendall(data.upper())
            if version == "HTTP/1.0":
                return


class LineMock(Mock):
    """A tier that speaks no HTTP: says back in capitals what it hears, first of all the PROXY line."""

    def serve(self, connection: socket.socket, number: int) -> None:
        """Echo."""
        while data := connection.recv(4096):
            connection.sendall(data.upper())
