"""Unix sockets: connections, the path of a killed process, and a path in use."""

import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import websocket

from forked import run_upstage
from running_backend import PASSWORD, Backend
from support.http import connect, request
from support.ports import free_ports
from support.stage_client import StageClient

PROXY_HEADER = b"PROXY TCP4 %s 192.0.2.9 4711 7230\r\n"


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # a socket's path has to be short
        yield Path(folder)


@pytest.fixture
def backend(tmp_path: Path, folder: Path) -> Iterator[Backend]:
    server = Backend(
        tmp_path,
        stage_endpoint="haproxy:tcp:0:interface=127.0.0.1:backlog=16",
        UPSTAGE_SOCKETS=f"{folder}/backend",
        UPSTAGE_ADMIN_PASSWORD=PASSWORD,
        UPSTAGE_CONNECTIONS_PER_ADDRESS="1",
    )
    yield server
    assert server.stop() == 0
    assert not server.logged("Unhandled Error")
    assert not server.logged("Unhandled error in Deferred:")


def test_the_site_is_served_on_a_unix_socket(backend: Backend, folder: Path) -> None:
    path = folder / "backend.sock"
    assert stat.S_IMODE(path.stat().st_mode) == 0o666  # nginx and Varnish are other users
    assert request(path, "/health").status == 200
    assert request(path, "/media/fox.svg").headers["content-type"] == "image/svg+xml"
    assert request(path, "/stages/?mine", X_Real_IP="192.0.2.7").status == 200
    assert request(path, "/stages/?direct").status == 200

    def clients() -> dict[object, object]:
        return {line["path"]: line["client"] for line in backend.logged("request")}

    backend.wait_for(lambda: "/stages/?direct" in clients())
    assert clients()["/stages/?mine"] == "192.0.2.7"
    assert clients()["/stages/?direct"] == "unknown"


def test_a_redirect_names_the_web_endpoints_port(tmp_path: Path, folder: Path) -> None:
    [port] = free_ports(1)
    endpoint = f"tcp:{port}:interface=127.0.0.1"
    server = Backend(tmp_path, UPSTAGE_SOCKETS=f"{folder}/b", UPSTAGE_WEB_ENDPOINT=endpoint)
    answer = request(folder / "b.sock", "/stages", host="stage.example.org")
    assert server.stop() == 0
    assert (answer.status, answer.headers["location"]) == (302, f"http://stage.example.org:{port}/stages/")


def test_the_stage_is_served_on_a_unix_socket(backend: Backend, folder: Path) -> None:
    path = folder / "backend-stage.sock"
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    first, second, other = (StageClient(path, timeout=5) for _ in range(3))
    for client, address in ((first, b"192.0.2.1"), (second, b"192.0.2.1"), (other, b"192.0.2.2")):
        client.socket.sendall(PROXY_HEADER % address)
        client.send_frames(b"stage_ID=demo&mode=JOIN")
        if client is second:  # an address may have one connection here
            with pytest.raises((EOFError, ConnectionError)):
                client.frames_until(b"&mode=JOINED")
        else:
            client.frames_until(b"&mode=JOINED")
    direct = StageClient(path, timeout=5)
    direct.send_frames(b"stage_ID=demo&mode=JOIN")  # without a PROXY header
    with pytest.raises((EOFError, ConnectionError)):
        direct.frames_until(b"&mode=JOINED")


def test_websockets_are_served_on_a_unix_socket(backend: Backend, folder: Path) -> None:
    def open_websocket() -> websocket.WebSocket:
        return websocket.create_connection(
            "ws://localhost/ws",
            timeout=5,
            socket=connect(folder / "backend.sock"),
            suppress_origin=True,
            header=["X-Real-IP: 192.0.2.5"],
        )

    browser = open_websocket()
    browser.send("stage_ID=demo&mode=JOIN")
    while not browser.recv().endswith("&mode=JOINED"):
        pass
    with pytest.raises((OSError, websocket.WebSocketException)):  # the same address again
        open_websocket()
    browser.send("msg=here&mode=TEXT")
    while "ANONTEXT" not in browser.recv():
        pass
    browser.close()


def test_the_health_check_covers_unix_sockets(backend: Backend, folder: Path) -> None:
    assert backend.upstage("healthcheck") == (0, "", "")
    for name in (
        "backend-direct.sock",
        "backend-stage.sock",
        "backend.sock",
    ):  # the server must stop without them: see the fixture
        (folder / name).unlink()
        status, _, errors = backend.upstage("healthcheck")
        assert status == 1
        assert str(folder / name) in errors


def test_the_sockets_of_a_killed_server_are_replaced(tmp_path: Path, folder: Path) -> None:
    server = Backend(tmp_path, UPSTAGE_SOCKETS=f"{folder}/backend")
    server.kill()
    assert len(list(folder.iterdir())) == 3
    again = Backend(tmp_path, UPSTAGE_SOCKETS=f"{folder}/backend")
    assert request(folder / "backend.sock", "/health").status == 200
    assert again.stop() == 0
    assert list(folder.iterdir()) == []


def start_error(tmp_path: Path, sockets: str) -> str:
    """Start a server that must fail to start; return its standard error."""
    env = dict(os.environ, UPSTAGE_SOCKETS=sockets)
    env |= {f"UPSTAGE_{name}_ENDPOINT": "tcp:0:interface=127.0.0.1" for name in ("WEB", "STAGE", "METRICS")}
    env |= {"UPSTAGE_DATA": str(tmp_path / "data"), "UPSTAGE_MEDIA": str(tmp_path / "media")}
    status, _, errors = run_upstage("serve", env=env)
    assert status == 1
    assert errors.count("\n") == 1
    return errors


def test_a_path_in_use_prevents_the_start_and_is_not_changed(tmp_path: Path, folder: Path) -> None:
    assert start_error(tmp_path, f"{folder}/away/b").endswith("away/b.sock: there is no such folder.\n")
    (folder / "b.sock").write_text("a file")
    assert "b.sock: the path exists and is not a socket" in start_error(tmp_path, f"{folder}/b")
    assert (folder / "b.sock").read_text() == "a file"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(folder / "c.sock"))
        other.listen()
        assert "c.sock: another process is listening on it" in start_error(tmp_path, f"{folder}/c")
        connect(folder / "c.sock").close()
