"""Unix sockets, for proxies, and the direct listener, for clients whose headers are not trusted."""

import re
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import websocket
from twisted.logger import capturedLogs

from backend.tests.running_backend import FORM, PASSWORD, Backend
from tests.support.http import Address, Response, connect, message, receive, request
from tests.support.ports import free_ports
from tests.support.stage_client import StageClient
from tests.support.wait import wait_until
from upstage import service
from upstage.net.listening import remove_stale

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
    """Yield a server that allows one stage connection for each address."""
    server = Backend(
        tmp_path_factory.mktemp("listening"),
        stage_endpoint="haproxy:tcp:0:interface=127.0.0.1:backlog=16",
        UPSTAGE_SOCKETS=f"{folder}/b",
        UPSTAGE_WEB_ENDPOINT=f"tcp:{free_ports(1)[0]}:interface=127.0.0.1",
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


def proxy_header(client: str) -> bytes:
    return f"PROXY TCP4 {client} 192.0.2.1 4711 7230\r\n".encode()


def ask(path: Address, data: bytes, client: str = "192.0.2.9", method: str = "GET") -> Response:
    """Send one request behind a PROXY header; return the response."""
    with connect(path) as connection:
        connection.sendall(proxy_header(client) + data)
        return receive(connection, method)


def direct(folder: Path, path: str, host: str = "direct.localhost", **more: str) -> Response:
    return ask(folder / "b-direct.sock", message(path, host, **more))


def test_the_site_is_served_to_proxies(backend: Backend, folder: Path) -> None:
    path = folder / "b.sock"
    for socket_path in (path, folder / "b-stage.sock"):
        assert stat.S_IMODE(socket_path.stat().st_mode) == 0o666  # nginx and Varnish are other users
    assert request(path, "/media/fox.svg").headers["content-type"] == "image/svg+xml"
    response = request(path, "/stages", host="stage.example.org")
    assert response.headers["location"] == f"http://stage.example.org:{backend.web_port}/stages/"
    assert request(path, "/stages/?mine", X_Real_IP="192.0.2.7").status == 200
    assert request(path, "/stages/?direct").status == 200

    def clients() -> dict[object, object]:
        return {line["path"]: line["client"] for line in backend.logged("request")}

    backend.wait_for(lambda: "/stages/?direct" in clients())
    assert (clients()["/stages/?mine"], clients()["/stages/?direct"]) == ("192.0.2.7", "unknown")


@pytest.mark.parametrize("transport", ["tcp", "websocket", "direct websocket"])
def test_stage_clients_are_counted_by_the_address_that_the_proxy_names(
    backend: Backend, folder: Path, transport: str
) -> None:
    def joined(client: str) -> StageClient | websocket.WebSocket:
        if transport == "tcp":
            flash = StageClient(folder / "b-stage.sock")
            flash.socket.sendall(proxy_header(client))
            flash.send_frames(b"stage_ID=demo&mode=JOIN")
            flash.frames_until(b"&mode=JOINED")
            return flash
        stream = connect(folder / ("b.sock" if transport == "websocket" else "b-direct.sock"))
        claim = client if transport == "websocket" else "192.0.2.66"
        if transport != "websocket":
            stream.sendall(proxy_header(client))
        options = {"header": [f"X-Real-IP: {claim}"], "suppress_origin": True}
        browser = websocket.create_connection("ws://localhost/ws", timeout=60, socket=stream, **options)
        browser.send("stage_ID=demo&mode=JOIN")
        while not browser.recv().endswith("&mode=JOINED"):
            pass
        return browser

    clients = [joined("192.0.2.1"), joined("192.0.2.2")]
    with pytest.raises((OSError, EOFError, websocket.WebSocketException)):
        joined("192.0.2.1")
    for client in clients:
        client.close()


def test_bytes_without_a_proxy_header_end_the_connection(backend: Backend, folder: Path) -> None:
    assert request(folder / "b-direct.sock", "/").status == 0
    client = StageClient(folder / "b-stage.sock")
    client.send_frames(b"stage_ID=demo&mode=JOIN")
    with pytest.raises((EOFError, ConnectionError)):
        client.frames_until(b"&mode=JOINED")


def test_a_client_cannot_claim_what_proxies_say(backend: Backend, folder: Path) -> None:
    response = direct(folder, BIG, **CLAIMS)
    assert len(response.body) == 1_300_000  # and no X-Accel-Redirect instead of it
    request_id = response.headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{32}", request_id)
    [line] = wait_until(lambda: [each for each in backend.logged("request") if each["path"] == BIG])
    assert (line["client"], line["request_id"]) == ("192.0.2.9", request_id)
    # Only the web listener trusts a proxy's headers.
    proxied = request(folder / "b.sock", BIG, "localhost", **CLAIMS)
    assert proxied.headers["x-accel-redirect"]
    assert "x-request-id" not in proxied.headers
    cookies = direct(folder, "/admin/", **CLAIMS).headers["set-cookie"]
    assert "Secure" not in cookies
    for path in ("/", "/media/fox.svg"):
        assert ask(folder / "b-direct.sock", message(path, "x", "PURGE")).status == 405


def test_wrong_passwords_count_against_the_address_that_sent_them(backend: Backend, folder: Path) -> None:
    wrong = message("/admin/login", "x", "POST", b"username=admin&password=wrong", **FORM, **CLAIMS)
    responses = [ask(folder / "b-direct.sock", wrong, "192.0.2.7", "POST").status for _ in range(11)]
    assert responses == [401] * 10 + [429]
    assert ask(folder / "b-direct.sock", wrong, "192.0.2.8", "POST").status == 401


def test_a_client_may_leave_before_its_page_is_rendered(backend: Backend, folder: Path) -> None:
    """The client leaves while its password is checked, so the page's path can no longer be asked for."""
    wrong = message("/admin/login?left", "x", "POST", b"username=nobody&password=wrong", **FORM)
    with connect(folder / "b-direct.sock") as connection:
        connection.sendall(proxy_header("192.0.2.3") + wrong)
    wait_until(lambda: any(line.get("aborted") for line in backend.logged("request")))
    assert ask(folder / "b-direct.sock", wrong, "192.0.2.3", "POST").status == 401  # checked after the first
    assert not backend.logged("a request failed")


def test_redirects_name_the_published_port_as_in_2011(backend: Backend, folder: Path) -> None:
    for host in ("direct.localhost", "stage.example.org:81"):
        moved = direct(folder, "/admin", host)
        assert moved.headers["location"] == f"http://{host.split(':')[0]}:9081/admin/"
    body = f"username=admin&password={PASSWORD}".encode()
    form = message("/admin/login", "direct.localhost", "POST", body, **FORM)
    signed_in = ask(folder / "b-direct.sock", form, method="POST")
    assert signed_in.headers["location"] == "http://direct.localhost:9081/admin/"
    session = signed_in.headers["set-cookie"].partition(";")[0]
    assert "canAdmin=True" in direct(folder, "/admin/id", Cookie=session).text


@pytest.mark.parametrize("host", ["direct.localhost", "classic.localhost", "127.0.0.1", "192.0.2.1:9081"])
def test_every_page_says_that_it_came_from_upstage_itself(backend: Backend, folder: Path, host: str) -> None:
    """This holds for any Host: a port is bound to addresses, not to names."""
    page = direct(folder, "/", host).text
    assert 'data-topology="direct"' in page
    assert f"curl -I http://{host.partition(':')[0]}:9081/media" in page
    assert "Varnish looked" not in page
    assert "Server-Timing" not in page
    stations = re.findall(r'data-station="(\w+)"', direct(folder, "/stages/demo", host).text)
    assert set(stations) == {"browser", "upstage"}


HERE = {f"http://{name}.localhost:9080/" for name in ("classic", "nginx", "static", "second", "third")}


@pytest.mark.parametrize(
    ("host", "links"),
    [
        ("localhost", HERE | {"http://direct.localhost:9081/", "http://localhost:9089/"}),
        # Elsewhere, .localhost would mean the reader's own machine.
        ("192.0.2.7", {"http://192.0.2.7:9081/", "http://192.0.2.7:9089/"}),
    ],
)
def test_links_have_the_published_ports(backend: Backend, folder: Path, host: str, links: set[str]) -> None:
    page = request(folder / "b.sock", "/", host).text
    assert set(re.findall('href="(http://[^"]+)"', page)) == links
    assert f"curl -I http://{host}:9080/media" in page
    assert "make up" not in page  # all is open already


def test_the_direct_listener_also_speaks_tcp(backend: Backend) -> None:
    port = int(re.findall(r"Site \(PROXY\) starting on (\d+)", backend.log.read_text())[0])
    assert ask(("127.0.0.1", port), message("/stages/", "x")).status == 200


def test_the_health_check_covers_unix_sockets_and_a_start_replaces_those_of_a_killed_server(
    tmp_path: Path, folder: Path
) -> None:
    proxied = "haproxy:tcp:0:interface=127.0.0.1"
    server = Backend(tmp_path, stage_endpoint=proxied, UPSTAGE_SOCKETS=f"{folder}/h")
    assert server.upstage("healthcheck") == (0, "", "")
    server.kill()
    server = Backend(tmp_path, stage_endpoint=proxied, UPSTAGE_SOCKETS=f"{folder}/h")
    assert request(folder / "h.sock", "/health").status == 200
    for name in ("h-direct.sock", "h-stage.sock", "h.sock"):
        (folder / name).unlink()
        status, _, errors = server.upstage("healthcheck")
        assert (status, str(folder / name) in errors) == (1, True)
    assert server.stop() == 0  # even if the sockets are gone
    assert not list(folder.glob("h*"))


def test_a_limit_of_open_files_below_the_connections_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(1024, 4096)]
    monkeypatch.setattr("resource.getrlimit", lambda _: limits[-1])
    monkeypatch.setattr("resource.setrlimit", lambda _, both: limits.append(both))
    with capturedLogs() as events:
        service.raise_file_limit(6000)
        service.raise_file_limit(4000)
    assert limits[1:] == [(4096, 4096)] * 2
    assert [event["fields"] for event in events] == [{"files": 4096, "connections": 6000}]


def test_a_path_in_use_is_not_taken(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        remove_stale(folder / "away" / "b.sock")
    (folder / "f.sock").write_text("a file")
    with pytest.raises(FileExistsError, match="the path exists and is not a socket"):
        remove_stale(folder / "f.sock")
    assert (folder / "f.sock").read_text() == "a file"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(folder / "c.sock"))
        other.listen()
        with pytest.raises(FileExistsError, match="another process is listening on it"):
            remove_stale(folder / "c.sock")
        connect(folder / "c.sock").close()
