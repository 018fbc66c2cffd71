"""The properties of nginx's sites that a request and its response (nginx/tests/rules.txt) cannot show."""

import re

import pytest

from nginx.tests.nginx_server import NGINX, SITES, UPGRADED, NginxServer
from tests.support.http import receive
from tests.support.origin import response
from tests.support.wait import wait_until

SETTINGS = {"SERVER_NAMES": "stage.example.org 192.0.2.7"}
MAIN_CSS = NGINX.parent / "backend/src/upstage/site/style/main.css"


HEAD = b" HTTP/1.1\r\nHost: localhost\r\n"


def test_a_space_before_the_colon_hides_no_length(server: NginxServer) -> None:
    """`Content-Length : 30` must not be a length for the upstream and none for nginx."""
    smuggled = b"GET /smuggled HTTP/1.1\r\nX: y\r\n\r\n"
    server.exchange(b"POST /" + HEAD + b"Content-Length : %d\r\n\r\n" % len(smuggled) + smuggled)
    assert all("content-length " not in received.headers for received in server.varnish.requests)
    assert "/smuggled" not in server.varnish.targets


@pytest.mark.parametrize("host", SITES)
def test_without_a_fault_there_is_no_note(server: NginxServer, host: str) -> None:
    """A page that requests the note every two seconds must not fill the logs."""
    got = server.request("/.nginx/fault", host)
    assert (got.status, got.text) == (204, "")
    server.request(f"/later-at-{host}", host)  # lines wait for a second
    wait_until(lambda: server.log_lines(f"/later-at-{host}"))
    assert not server.log_lines(r"/\.nginx/fault")


@pytest.mark.parametrize("host", SITES)
def test_a_websocket_goes_to_the_backend_on_every_site(server: NginxServer, host: str) -> None:
    server.backend.respond = lambda _: UPGRADED
    assert server.websocket("/ws", host) == (101, b"BRAVO")
    (received,) = server.backend.requests
    assert received.headers["upgrade"] == "websocket"
    assert received.headers["connection"].lower() == "upgrade"
    assert received.headers["x-forwarded-for"] == "127.0.0.1"


def test_the_backend_judges_a_handshake_and_only_http_1_1_has_one(server: NginxServer) -> None:
    refusal = response("x", "426 Upgrade Required", upgrade="websocket", connection="close")
    server.backend.respond = lambda _: refusal
    asked = b"GET /ws HTTP/%s\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    for version, forwarded, back in ((b"1.1", "websocket", "websocket"), (b"1.0", None, None)):
        with server.connect() as client:
            client.sendall(asked % version)
            got = receive(client)
        assert server.backend.requests[-1].headers.get("upgrade") == forwarded
        assert got.headers.get("upgrade") == back
        assert ("upgrade" in got.headers["connection"]) == (back is not None)


def test_connections_are_kept_except_on_classic(server: NginxServer) -> None:
    for host, origin, http_version in [
        ("localhost", server.varnish, "HTTP/1.1"),
        ("nginx.localhost", server.backend, "HTTP/1.1"),
        ("classic.localhost", server.varnish_tcp, "HTTP/1.0"),
    ]:
        with server.connect() as connection:  # one worker
            for number in range(20):
                connection.sendall(f"GET /{number} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                while b"HTTP/1.1 200" not in (data := connection.recv(65536)):
                    pass
                while not data.endswith(origin.name.encode()):
                    data += connection.recv(65536)
        assert {received.version for received in origin.requests} == {http_version}
        opened = {received.connection for received in origin.requests}
        assert len(opened) == (20 if host == "classic.localhost" else 1), host
        origin.requests.clear()


def test_the_page_has_the_colours_of_the_backends() -> None:
    page = (NGINX / "sites" / "error_page.html").read_text()
    colours = set(re.findall(r"#[0-9a-f]{6}", page))
    assert len(colours) == 8
    assert colours <= set(re.findall(r"#[0-9a-f]{6}", MAIN_CSS.read_text()))
