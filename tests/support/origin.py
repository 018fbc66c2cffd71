"""An origin for the server under test: it answers over TCP or a Unix socket and records the requests."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """A request as it arrived; header names in lower case."""

    method: str
    target: str
    version: str
    headers: dict[str, str]
    body: bytes
    connection: int  # 1 for the first connection to this origin, 2 for the second, ...


def response(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Return a response with Content-Length; `cache_status="x"` becomes `cache-status: x`."""
    content = body.encode() if isinstance(body, str) else body
    fields = {"date": formatdate(usegmt=True), "content-length": str(len(content)), **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + content


class Origin:
    """An HTTP server in threads; serves until `close`.

    `respond` makes the bytes of each response, after `delay` seconds; without it the body is the origin's
    name. `requests` holds the requests, except those for `quiet` paths (a probe's). `behave`, for another
    protocol, takes each connection instead.
    """

    def __init__(
        self,
        name: str,
        path: Path | None = None,
        quiet: tuple[str, ...] = (),
        behave: Callable[[socket.socket], None] | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.name = name
        self.host = host
        self.path = path
        self.port = 0
        self.quiet = quiet
        self.behave = behave
        self.respond: Callable[[Request], bytes] | None = None
        self.delay = 0.0
        self.requests: list[Request] = []
        self.sent: list[str] = []  # the targets whose responses the client has received completely
        self.connections = 0
        self._open: set[socket.socket] = set()
        self.listen()

    @property
    def address(self) -> str:
        """The address as configuration files write it: `unix:/path` or `127.0.0.1:port`."""
        return f"unix:{self.path}" if self.path else f"127.0.0.1:{self.port}"

    @property
    def targets(self) -> list[str]:
        """The targets of the requests, in order."""
        return [request.target for request in self.requests]

    def listen(self) -> None:
        """Open the socket; after `close`, open a new one at the same address."""
        if self.path is None:
            self._listener = socket.create_server((self.host, self.port), backlog=512)
            self.port = self._listener.getsockname()[1]
        else:
            self.path.unlink(missing_ok=True)  # a killed process leaves it behind
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(self.path))
            self.path.chmod(0o666)  # the server under test runs as another user
            self._listener.listen(512)
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def close(self) -> None:
        """Disappear as a killed process does: connections are cut, and the path of a Unix socket stays."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # close() alone would not wake accept()
        self._listener.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def forget(self) -> None:
        """Forget requests and responses of the previous test."""
        self.requests.clear()
        self.sent.clear()
        self.respond = None
        self.delay = 0.0

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                self.connections += 1
                if connection.family == socket.AF_INET:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                # With a small send buffer, `sent` means that the client has read nearly all of a response.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
                self._open.add(connection)
                threading.Thread(target=self._run, args=[connection, self.connections], daemon=True).start()

    def _run(self, connection: socket.socket, number: int) -> None:
        with connection, contextlib.suppress(OSError, ValueError):
            if self.behave:
                self.behave(connection)
            else:
                self.serve(connection, number)
        self._open.discard(connection)

    def serve(self, connection: socket.socket, number: int) -> None:
        """Read requests and respond, until the client or the protocol ends the connection."""
        stream = connection.makefile("rb")
        while line := stream.readline().decode("latin-1"):
            method, target, version = line.split()
            headers: dict[str, str] = {}
            while field := stream.readline().decode("latin-1").rstrip("\r\n"):
                name, _, value = field.partition(":")
                headers[name.lower()] = value.strip()
            body = stream.read(int(headers.get("content-length", 0)))
            request = Request(method, target, version, headers, body, number)
            if target not in self.quiet:
                self.requests.append(request)
                time.sleep(self.delay)
            made = self.respond(request) if self.respond else response(self.name)
            connection.sendall(made)
            self.sent.append(target)
            if headers.get("upgrade"):
                self.upgraded(connection, request)
            close = headers.get("connection", "").lower() == "close"
            if close or version == "HTTP/1.0" or b"\r\nconnection: close\r\n" in made:
                return

    def upgraded(self, connection: socket.socket, request: Request) -> None:
        """Echo in capitals the rest of a connection whose request asked for an upgrade."""
        while data := connection.recv(4096):
            connection.sendall(data.upper())


class EchoServer(Origin):
    """A server that does not speak HTTP: it sends back all bytes in capitals, a PROXY header included."""

    def serve(self, connection: socket.socket, number: int) -> None:
        """Echo in capitals."""
        while data := connection.recv(4096):
            connection.sendall(data.upper())
