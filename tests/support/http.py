"""An HTTP/1.1 client for tests: one request over a separate connection, byte for byte as the test says."""

import http.client
import socket
from dataclasses import dataclass, field
from pathlib import Path

Address = tuple[str, int] | Path  # a TCP address, or the path of a Unix socket


@dataclass
class Response:
    """A response as received; header names in lower case, repeated ones joined by a comma.

    `fields` lists the header fields one by one, as they came. Status 0: the server closed the connection
    without a response.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    fields: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


def connect(address: Address, timeout: float = 60, source: str = "") -> socket.socket:
    """Open a connection; `source` is the local address of a TCP connection, any of 127.0.0.0/8."""
    if isinstance(address, Path):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout)
        connection.connect(str(address))
        return connection
    # Without a source address, a connection shares its port with connections to other servers.
    return socket.create_connection(address, timeout, (source, 0) if source else None)


def receive(connection: socket.socket, method: str = "GET") -> Response:
    """Read one response; its status is 0 if the server closes the connection instead."""
    response = http.client.HTTPResponse(connection, method=method)
    try:
        response.begin()
    except (http.client.BadStatusLine, ConnectionError):
        return Response(0, {}, b"")
    names = {name.lower() for name, _ in response.getheaders()}
    headers = {name: ", ".join(response.msg.get_all(name, [])) for name in names}
    return Response(response.status, headers, response.read(), response.getheaders())


def exchange(address: Address, message: bytes, method: str = "GET", source: str = "") -> Response:
    """Send bytes as they are; return the first response."""
    with connect(address, source=source) as connection:
        connection.sendall(message)
        return receive(connection, method)


def message(
    path: str, host: str = "localhost", method: str = "GET", body: bytes = b"", **headers: str
) -> bytes:
    """Return a request; `if_none_match="x"` becomes `if-none-match: x`, a body gets a Content-Length."""
    fields = {"host": host, **{name.replace("_", "-"): value for name, value in headers.items()}}
    if body:
        fields["content-length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def request(
    address: Address,
    path: str,
    host: str = "localhost",
    method: str = "GET",
    body: bytes = b"",
    source: str = "",
    **headers: str,
) -> Response:
    """Send one request over a separate connection; return the response."""
    return exchange(address, message(path, host, method, body, **headers), method, source)
