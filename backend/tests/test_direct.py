"""The direct listener: clients without a proxy in front, whose headers are not trusted."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import websocket

from running_backend import FORM, PASSWORD, Backend
from support.http import Response, connect, message, receive, request
from support.wait import wait_until

CLAIMS = {
    "X_Real_IP": "192.0.2.66",
    "X_Forwarded_For": "192.0.2.66",
    "X_Forwarded_Proto": "https",
    "X_Request_Id": "0123456789abcdef-forged",
    "X_Accel_Media": "/.nginx/media",
}
BIG = "/media/bench/big.swf"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # a socket's path has to be short
        yield Path(folder)


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Backend]:
    server = Backend(
        tmp_path_factory.mktemp("direct"),
        UPSTAGE_SOCKETS=f"{folder}/b",
        UPSTAGE_DIRECT_ENDPOINT="haproxy:tcp:0:interface=127.0.0.1",
        UPSTAGE_WEB_PORT="9081",
        UPSTAGE_HTTP_PORT="9080",
        UPSTAGE_LOCUST_PORT="9089",
        UPSTAGE_THEATRES="second third",
        UPSTAGE_ADMIN_PASSWORD=PASSWORD,
        UPSTAGE_CONNECTIONS_PER_ADDRESS="1",
    )
    yield server
    server.end()


def ask(
    path: Path | tuple[str, int], data: bytes, client: str = "192.0.2.9", method: str = "GET"
) -> Response:
    """One request behind a PROXY header."""
    with connect(path) as connection:
        connection.sendall(f"PROXY TCP4 {client} 192.0.2.1 4711 8081\r\n".encode() + data)
        return receive(connection, method)


def direct(folder: Path, path: str, host: str = "direct.localhost", **more: str) -> Response:
    return ask(folder / "b-direct.sock", message(path, host, **more))


def test_a_client_cannot_claim_what_proxies_say(backend: Backend, folder: Path) -> None:
    answer = direct(folder, BIG, **CLAIMS)
    assert len(answer.body) == 1_300_000  # and no X-Accel-Redirect instead of it
    request_id = answer.headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{32}", request_id)
    [line] = wait_until(lambda: [each for each in backend.logged("request") if each["path"] == BIG])
    assert (line["client"], line["request_id"]) == ("192.0.2.9", request_id)
    # A proxy's word counts on the other listener, and only there.
    proxied = request(folder / "b.sock", BIG, "localhost", **CLAIMS)
    assert proxied.headers["x-accel-redirect"]
    assert "x-request-id" not in proxied.headers
    cookies = direct(folder, "/admin/", **CLAIMS).headers["set-cookie"]
    assert "Secure" not in cookies


def test_wrong_passwords_count_against_the_address_that_sent_them(backend: Backend, folder: Path) -> None:
    wrong = message("/admin/login", "x", "POST", b"username=admin&password=wrong", **FORM, **CLAIMS)
    answers = [ask(folder / "b-direct.sock", wrong, "192.0.2.7", "POST").status for _ in range(11)]
    assert answers == [401] * 10 + [429]
    assert ask(folder / "b-direct.sock", wrong, "192.0.2.8", "POST").status == 401


def test_a_client_may_leave_before_its_page_is_rendered(backend: Backend, folder: Path) -> None:
    """The password is checked meanwhile; then there is no connection left to ask which path the page
    takes."""
    wrong = message("/admin/login?left", "x", "POST", b"username=nobody&password=wrong", **FORM)
    with connect(folder / "b-direct.sock") as connection:
        connection.sendall(b"PROXY TCP4 192.0.2.3 192.0.2.1 4711 8081\r\n" + wrong)
    wait_until(lambda: any(line.get("aborted") for line in backend.logged("request")))
    assert ask(folder / "b-direct.sock", wrong, "192.0.2.3", "POST").status == 401  # checked after the first
    assert not backend.logged("a request failed")


def test_redirects_name_the_published_port_as_in_2011(backend: Backend, folder: Path) -> None:
    for host in ("direct.localhost", "stage.example.org:81"):
        moved = direct(folder, "/admin", host)
        assert moved.headers["location"] == f"http://{host.split(':')[0]}:9081/admin/"
    form = message(
        "/admin/login", "direct.localhost", "POST", f"username=admin&password={PASSWORD}".encode(), **FORM
    )
    signed_in = ask(folder / "b-direct.sock", form, method="POST")
    assert signed_in.headers["location"] == "http://direct.localhost:9081/admin/"
    session = signed_in.headers["set-cookie"].partition(";")[0]
    assert "canAdmin=True" in direct(folder, "/admin/id", Cookie=session).text


@pytest.mark.parametrize("host", ["direct.localhost", "classic.localhost", "127.0.0.1", "192.0.2.1:9081"])
def test_every_page_says_that_it_came_from_upstage_itself(backend: Backend, folder: Path, host: str) -> None:
    """Whatever the Host: a port is bound to addresses, not to names."""
    page = direct(folder, "/", host).text
    assert 'data-topology="direct"' in page
    assert f"curl -I http://{host.partition(':')[0]}:9081/media" in page
    assert "Varnish looked" not in page
    assert "Server-Timing" not in page
    stations = re.findall(r'data-station="(\w+)"', direct(folder, "/stages/demo", host).text)
    assert set(stations) == {"browser", "upstage"}


@pytest.mark.parametrize(
    ("host", "links"),
    [
        (
            "localhost",
            {
                *(
                    "http://classic.localhost:9080/",
                    "http://nginx.localhost:9080/",
                    "http://static.localhost:9080/",
                ),
                *("http://direct.localhost:9081/", "http://localhost:9089/"),
                *("http://second.localhost:9080/", "http://third.localhost:9080/"),
            },
        ),
        (
            "192.0.2.7",
            {"http://192.0.2.7:9081/", "http://192.0.2.7:9089/"},
        ),  # .localhost would be the reader's own
    ],
)
def test_links_have_the_published_ports(backend: Backend, folder: Path, host: str, links: set[str]) -> None:
    page = request(folder / "b.sock", "/", host).text
    assert set(re.findall('href="(http://[^"]+)"', page)) == links
    assert f"curl -I http://{host}:9080/media" in page
    assert "make up" not in page  # there is nothing left to open


def test_a_purge_is_no_method(backend: Backend, folder: Path) -> None:
    for path in ("/", "/media/fox.svg"):
        assert ask(folder / "b-direct.sock", message(path, "x", "PURGE")).status == 405


def test_stage_clients_are_counted_by_their_own_address(backend: Backend, folder: Path) -> None:
    def open_websocket(client: str) -> websocket.WebSocket:
        stream = connect(folder / "b-direct.sock")
        stream.sendall(f"PROXY TCP4 {client} 192.0.2.1 4711 8081\r\n".encode())
        return websocket.create_connection(
            "ws://direct.localhost/ws", timeout=5, socket=stream, header=["X-Real-IP: 192.0.2.66"]
        )

    first, other = open_websocket("192.0.2.1"), open_websocket("192.0.2.2")
    for browser in (first, other):
        browser.send("stage_ID=demo&mode=JOIN")
        while not browser.recv().endswith("&mode=JOINED"):
            pass
    with pytest.raises((OSError, websocket.WebSocketException)):  # an address may have one connection here
        open_websocket("192.0.2.1")
    for browser in (first, other):
        browser.close()


def test_the_listener_also_speaks_tcp(backend: Backend) -> None:
    port = int(re.findall(r"Site \(PROXY\) starting on (\d+)", backend.log.read_text())[0])
    assert ask(("127.0.0.1", port), message("/stages/", "x")).status == 200


def test_bytes_without_a_proxy_header_end_the_connection(backend: Backend, folder: Path) -> None:
    assert request(folder / "b-direct.sock", "/").status == 0
