"""HTTP/1.1 and the WebSocket handshake: the bytes of a client, and the status and fields of the response."""

from io import BytesIO
from socket import socket
from typing import cast

import pytest
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from backend.tests.fake_clients import turn
from backend.tests.forked import SRC
from tests.support.http import Response, receive
from upstage.net.connection import Connections
from upstage.net.lane import Lane
from upstage.web.channel import Channel
from upstage.web.headers import host_name
from upstage.web.nodes import Node, Page
from upstage.web.request import Site
from upstage.web.templates import Pages
from upstage.web.websocket import WebSocketEndpoint

HOST = b"Host: direct.localhost:8081\r\n"
LONG = b"x" * 20_000
CHUNKED = b"Transfer-Encoding: chunked\r\n"


class Wire(StringTransport):
    """The server's side of a connection, which `receive` reads like a client's socket."""

    loseWriteConnection = StringTransport.loseConnection

    def makefile(self, mode: str) -> "Stream":
        self.stream = Stream(self.value())
        return self.stream


class Stream(BytesIO):
    def close(self) -> None:
        """Stay open: the test reads what follows a response."""


def exchange(connections: Connections, sent: bytes) -> tuple[Response, bytes, bool]:
    """Return the response, the bytes after it, and whether the server closed the connection."""
    pages = Pages(SRC / "upstage/site")
    root = Node(pages)
    root.putChild(b"", Page(pages, lambda request: f"{host_name(request)} {request.uri!r}".encode()))
    root.putChild(b"ws", WebSocketEndpoint(connections))
    site = Site(root, pages, connections.shared.slices, Lane(connections.reactor, 2), direct=True)
    site.reactor = connections.reactor
    channel, wire = cast(Channel, site.buildProtocol(None)), Wire()
    channel.makeConnection(wire)
    channel.dataReceived(sent)
    turn(connections)
    response = receive(cast(socket, wire), sent.partition(b" ")[0].decode("latin-1"))
    rest = wire.stream.read()
    closed = wire.disconnecting
    channel.connectionLost(Failure(ConnectionDone()))
    turn(connections)
    return response, rest, closed


def post(*fields: bytes) -> bytes:
    return b"POST / HTTP/1.1\r\n" + HOST + b"".join(field + b"\r\n" for field in fields) + b"\r\n"


ACCEPTED = [
    (b"GET / HTTP/1.1\r\n" + HOST, 200, "direct.localhost b'/'"),
    (b"GET / HTTP/1.0\r\n", 200, "None b'/'"),
    (b"GET / HTTP/1.2\r\n" + HOST, 200, "direct.localhost b'/'"),
    (b"\r\nGET / HTTP/1.1\n" + HOST, 200, "direct.localhost b'/'"),
    (b"GET http://other.localhost:8081?q HTTP/1.1\r\n" + HOST, 200, "other.localhost b'/?q'"),
    (b"GET HTTP://[::1]/?http://x HTTP/1.1\r\n" + HOST, 200, "[::1] b'/?http://x'"),
    (b"OPTIONS * HTTP/1.1\r\n" + HOST, 200, ""),
    (b"OPTIONS / HTTP/1.1\r\n" + HOST, 200, ""),
    (b"BREW / HTTP/1.1\r\n" + HOST, 405, None),
    (b"TRACE / HTTP/1.1\r\n" + HOST, 405, None),
    (b"GET / HTTP/1.1\r\nExpect: tea\r\n" + HOST, 200, "direct.localhost b'/'"),
]


@pytest.mark.parametrize(("header", "status", "body"), ACCEPTED)
def test_a_valid_message_is_served(
    connections: Connections, header: bytes, status: int, body: str | None
) -> None:
    response, rest, closed = exchange(connections, header + b"\r\n")
    assert (response.status, rest, closed) == (status, b"", b"HTTP/1.0" in header)
    assert len(response.fields) == len(response.headers)
    assert body is None or response.text == body
    if body in ("", None):
        assert response.headers["allow"] == "GET, HEAD"


REFUSED = [
    *((b"GET / HTTP/1.1\r\n" + host + b"\r\n", 400) for host in (b"", HOST + HOST, b" " + HOST)),
    *(
        (b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n", 400)
        for host in (
            b"",
            b"a b",
            b"a/b",
            b"a@b",
            b"a,b",
            b"a..b",
            b":80",
            b"a:b",
            b"[::1",
            b"\xff",
            b"x" * 300,
        )
    ),
    (b"GET / HTTP/1.0\r\nHost: a b\r\n\r\n", 400),
    (b"HEAD / HTTP/1.1\r\n\r\n", 400),
    *(
        (b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n", status)
        for target, status in {
            b"*": 400,
            b"x": 400,
            b"/a b": 400,
            b"http:///": 400,
            b"http://a@b/": 400,
            b"ftp://a/": 400,
            b"https://a/": 421,
            b"/" + LONG: 414,
        }.items()
    ),
    (b"GET http://a/ HTTP/1.1\r\n\r\n", 400),
    (b"GET http://a/ HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    (b"CONNECT a:80 HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    (b"\x16\x03\x01 hello\r\n\r\n", 400),
    (b"GET /\r\n\r\n", 400),
    (b"G@T / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    *(
        (b"GET / " + version + b"\r\n" + HOST + b"\r\n", status)
        for version, status in {b"HTTP/2.0": 505, b"HTTP/3": 505, b"HTTP/0.9": 400, b"http/1.1": 400}.items()
    ),
    (b"GET /" + LONG, 414),
    (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + LONG, 431),
    (b"GET / HTTP/1.1\r\n" + HOST + (b"X: " + LONG[:9000] + b"\r\n") * 2 + b"\r\n", 431),
    (b"GET / HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 501 + b"\r\n", 431),
    *(
        (b"GET / HTTP/1.1\r\n" + field + b"\r\n" + HOST + b"\r\n", 400)
        for field in (b"X : y", b"X: y\r\n z", b"X", b": y", b"X: \0", b"X: a\rb", b"X@: y")
    ),
    *(
        (post(b"Transfer-Encoding: " + coding), 501)
        for coding in (b"gzip", b"identity", b"gzip, chunked", b"")
    ),
    (b"POST / HTTP/1.0\r\n" + CHUNKED + b"\r\n0\r\n\r\n", 400),
    (post(CHUNKED + CHUNKED), 400),
    (post(CHUNKED + b"Content-Length: 0"), 400),
    (post(b"Content-Length: 0\r\n" + CHUNKED), 400),
    (post(b"Content-Length: 0", b"Content-Length: 0"), 400),
    *((post(b"Content-Length: " + size), 400) for size in (b"0, 0", b"-1", b"+1", b"x", b"", b"9" * 5000)),
    (post(CHUNKED) + b"x\r\n", 400),
]


@pytest.mark.parametrize(("sent", "status"), REFUSED)
def test_an_invalid_message_is_refused_and_nothing_after_it_is_read(
    connections: Connections, sent: bytes, status: int
) -> None:
    response, rest, closed = exchange(connections, sent + b"\r\n\r\nGET / HTTP/1.1\r\n" + HOST + b"\r\n")
    assert (response.status, rest, closed) == (status, b"", True)
    assert (response.headers["connection"], response.headers["server"]) == ("close", "UpStage")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert int(response.headers["content-length"]) > 0
    assert response.body or sent.startswith(b"HEAD")
    assert len(response.fields) == len(response.headers)


@pytest.mark.parametrize("fields", [b"Connection: te,Close\r\n", b"Connection: te\r\nConnection: close\r\n"])
def test_close_may_be_anywhere_in_the_list(connections: Connections, fields: bytes) -> None:
    response, _, closed = exchange(connections, b"GET / HTTP/1.1\r\n" + HOST + fields + b"\r\n")
    assert (response.status, response.headers["connection"], closed) == (200, "close", True)


HANDSHAKE = {
    "Host": "direct.localhost",
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
HANDSHAKES: list[tuple[str, dict[str, str], int]] = [
    ("GET /ws HTTP/1.1", {}, 101),
    ("GET http://direct.localhost:8081/ws HTTP/1.1", {"Host": "x"}, 101),
    ("GET /ws HTTP/1.1", {"Upgrade": "h2c, WebSocket", "Connection": "keep-alive, UPGRADE"}, 101),
    (
        "GET /ws HTTP/1.1",
        {"Upgrade": "h2c\r\nUpgrade: websocket", "Connection": "te\r\nConnection: upgrade"},
        101,
    ),
    ("GET /ws HTTP/1.1", {"Connection": "upgrade, \xff", "X": "\x01"}, 101),
    ("GET /ws HTTP/1.1", {"Sec-WebSocket-Protocol": "chat, x", "Sec-WebSocket-Extensions": "a; b=c"}, 101),
    ("GET /ws HTTP/1.1", {"Origin": "http://direct.localhost:8081"}, 101),
    ("GET /ws HTTP/1.1", {"Origin": "http://evil.example"}, 403),
    ("GET /ws HTTP/1.1", {"Origin": "null"}, 403),
    ("GET /ws HTTP/1.1", {"Origin": "http://evil.example\r\nOrigin: http://direct.localhost"}, 403),
    ("POST /ws HTTP/1.1", {}, 405),
    ("HEAD /ws HTTP/1.1", {}, 405),
    ("POST /ws HTTP/1.1", {"Upgrade": ""}, 405),
    ("GET /ws HTTP/1.0", {}, 426),
    ("GET /ws HTTP/1.1", {"Upgrade": ""}, 426),
    ("GET /ws HTTP/1.1", {"Upgrade": "websocket2"}, 426),
    ("GET /ws HTTP/1.1", {"Connection": ""}, 400),
    ("GET /ws HTTP/1.1", {"Connection": "keep-alive"}, 400),
    ("GET /ws HTTP/1.1", {"Sec-WebSocket-Version": ""}, 400),
    *(
        ("GET /ws HTTP/1.1", {"Sec-WebSocket-Version": version}, 426)
        for version in ("8", "013", "13, 8", "13\r\nSec-WebSocket-Version: 13")
    ),
    *(
        ("GET /ws HTTP/1.1", {"Sec-WebSocket-Key": key}, 400)
        for key in (
            *("", "dGhl", "dGhlIHNhbXBsZSBub25jZQ", "!GhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZSE="),
            "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        )
    ),
    ("GET /ws HTTP/1.1", {"Content-Length": "2"}, 413),
]


@pytest.mark.parametrize(("line", "fields", "status"), HANDSHAKES)
def test_a_handshake_is_judged_by_rfc_6455(
    connections: Connections, line: str, fields: dict[str, str], status: int
) -> None:
    header = "".join(f"{name}: {value}\r\n" for name, value in {**HANDSHAKE, **fields}.items() if value)
    response, rest, closed = exchange(connections, f"{line}\r\n{header}\r\n\r\n".encode("latin-1"))
    assert response.status == status
    if status == 101:
        assert rest.endswith(b"mode=SET")
        assert response.headers == {
            "upgrade": "websocket",
            "connection": "Upgrade",
            "sec-websocket-accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        }
        return
    assert int(response.headers["content-length"]) > 0
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["sec-websocket-version"] == "13"
    assert len(response.fields) == len(response.headers)
    assert response.headers.get("allow") == ("GET" if status == 405 else None)
    assert response.headers.get("upgrade") == ("websocket" if status == 426 else None)
    assert ("upgrade" in response.headers["connection"]) == (status == 426)
    assert ("close" in response.headers["connection"]) == closed == (status != 426 or "1.0" in line)
