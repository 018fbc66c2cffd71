"""Both stage transports of a real server, and the commands serve, healthcheck and admin-password."""

import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest
import websocket

from forked import run_upstage
from running_backend import Backend, join, serve

JOIN = "stage_ID=demo&mode=JOIN"
SMALL_WINDOW = (socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # so that the kernel buffers little


def open_websocket(server: Backend, **options: object) -> websocket.WebSocket:
    url = f"ws://127.0.0.1:{server.web_port}/ws"
    return websocket.create_connection(url, timeout=5, **{"suppress_origin": True, **options})


def until(socket: websocket.WebSocket, ending: str) -> list[str]:
    messages = [socket.recv()]
    while not messages[-1].endswith(ending):
        messages.append(socket.recv())
    return messages


def test_chat_between_tcp_and_websocket(server: Backend) -> None:
    flash, browser = server.connect(), server.connect_web()
    assert flash.receive_frame().endswith(b"&mode=SET")
    assert browser.receive_frame().endswith(b"&mode=SET")
    join(flash)
    # The same frames over both transports, without the NUL over WebSocket.
    modes = [frame.rpartition(b"mode=")[2].decode() for frame in join(browser)]
    assert (modes[0], modes[-1], modes.count("DRAW_VIS")) == ("STAGE_NAME", "JOINED", 4)
    flash.frames_until(b"aCount=2&mode=JOINED")
    flash.send_frames("msg=von der Bühne&mode=TEXT".encode())
    assert browser.frames_until(b"ANONTEXT")[-1] == b"text=von+der+B%C3%BChne&mode=ANONTEXT"
    browser.send_frames(b"msg=aus%20dem%20Saal&mode=TEXT")
    assert flash.frames_until(b"text=aus+dem+Saal&mode=ANONTEXT")
    browser.close()
    flash.frames_until(b"aCount=1&mode=JOINED")
    flash.close()


def test_binary_messages_are_the_tcp_stream(server: Backend) -> None:
    client = open_websocket(server)
    client.recv()
    client.send_binary(b"stage_ID=de")
    client.send_binary(b"mo&mode=JOIN\0mode=LOADED\0mode=IN")
    answer = b""
    while not answer.endswith(b"&mode=JOINED\0"):
        answer += client.recv()
    assert answer.startswith(b"stageName=Demo+Stage&stageID=demo&mode=STAGE_NAME\0")
    client.close()


def test_an_endless_message_is_cut_off(server: Backend) -> None:
    client = open_websocket(server)
    client.recv()
    before = len(server.logged("cut off"))
    client.send("x" * 3000)  # the first one is tolerated
    client.send(JOIN)
    until(client, "&mode=JOINED")
    client.send_frame(websocket.ABNF(0, 0, 0, 0, websocket.ABNF.OPCODE_TEXT, 1, "x" * 1000))
    for _ in range(2):  # without an end: three fragments are enough
        client.send_frame(websocket.ABNF(0, 0, 0, 0, websocket.ABNF.OPCODE_CONT, 1, "x" * 1000))
    server.wait_for(lambda: len(server.logged("cut off")) > before)
    assert server.logged("cut off")[-1]["reason"] == "overlong"
    with pytest.raises((OSError, websocket.WebSocketException)):
        client.recv()


@pytest.mark.parametrize("transport", ["tcp", "websocket"])
def test_a_client_that_does_not_read_is_cut_and_delays_no_other(server: Backend, transport: str) -> None:
    before = len(server.logged("cut off"))
    talker = server.connect()
    join(talker)
    if transport == "tcp":
        stalled = server.connect()
        stalled.socket.setsockopt(*SMALL_WINDOW)
        stalled.send_frames(JOIN.encode())
    else:
        browser = open_websocket(server, sockopt=(SMALL_WINDOW,))
        browser.send(JOIN)
    talker.frames_until(b"aCount=2&mode=JOINED")
    line = b"msg=" + b"<" * 2000 + b"&mode=TEXT"  # 2 kB in, 16 kB out
    for _ in range(1000):
        talker.send_frames(line)
        assert talker.receive_frame().endswith(b"mode=ANONTEXT")
        if len(server.logged("cut off")) > before:
            break
    assert server.logged("cut off")[-1]["reason"] == "laggard"
    talker.frames_until(b"aCount=1&mode=JOINED")
    talker.close()


def test_a_heartbeat_keeps_quiet_clients_and_finds_dead_ones(tmp_path: Path) -> None:
    server = Backend(tmp_path, serve(heartbeat=0.3))
    try:
        flash, browser, dead = server.connect(), open_websocket(server), open_websocket(server)
        assert flash.frames_until(b"mode=HEARTBEAT")
        browser.settimeout(0.1)
        while not server.logged("cut off"):  # a WebSocket answers pings while it reads
            with suppress(websocket.WebSocketTimeoutException):
                browser.recv()
        assert [line["reason"] for line in server.logged("cut off")] == ["silent"]
        browser.settimeout(5)
        browser.send(JOIN)
        until(browser, "&mode=JOINED")
        dead.shutdown()
    finally:
        assert server.stop() == 0


def test_the_health_check_names_the_failed_listener(server: Backend) -> None:
    assert server.upstage("healthcheck") == (0, "", "")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        closed = f"tcp:{listener.getsockname()[1]}:interface=127.0.0.1"  # bound, but not listening
        for name in ("web", "stage"):
            status, _, text = server.upstage("healthcheck", **{f"UPSTAGE_{name.upper()}_ENDPOINT": closed})
            assert (status, text.startswith(f"upstage: {name} 127.0.0.1:")) == (1, True), text


def test_the_metrics_are_printed(server: Backend) -> None:
    status, text, _ = server.upstage("metrics")
    assert (status, 'upstage_clients_cut_total{reason="laggard"} ' in text) == (0, True), text
    status, _, text = server.upstage("metrics", UPSTAGE_METRICS_ENDPOINT="tcp:1:interface=127.0.0.1")
    assert (status, text.startswith("upstage: the server does not answer: ")) == (1, True), text


def test_a_stop_with_clients_is_clean_and_the_generated_password_stays(tmp_path: Path) -> None:
    """The shipped site and content, a password that stays, and a stop with clients connected."""
    server = Backend(tmp_path, ["-m", "upstage", "serve"], forked=False)
    password = (server.data / "admin-password").read_text()
    assert server.upstage("admin-password") == (0, password, "")
    assert server.upstage("admin-password", UPSTAGE_ADMIN_PASSWORD="mine") == (0, "mine\n", "")
    clients = [server.connect() for _ in range(5)]
    for client in clients:
        join(client)
    browser = open_websocket(server)
    browser.recv()
    assert server.stop() == 0
    with pytest.raises(EOFError):
        clients[0].frames_until(b"no such frame")
    browser.recv_data_frame()
    assert not server.logged("Unhandled Error")
    again = Backend(tmp_path)
    assert again.upstage("admin-password") == (0, password, "")
    assert again.stop() == 0


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"UPSTAGE_WEB_ENDPOINT": "here"}, "upstage: UPSTAGE_WEB_ENDPOINT=here: expected"),
        ({"UPSTAGE_MEDIA": "/proc/media"}, "upstage: "),
        ({"UPSTAGE_WEB_ENDPOINT": "{taken}"}, "upstage: Couldn't listen on 127.0.0.1:"),
    ],
)
def test_a_start_that_fails_says_why(
    server: Backend, tmp_path: Path, env: dict[str, str], message: str
) -> None:
    taken = f"tcp:{server.web_port}:interface=127.0.0.1"
    filled = {name: value.format(taken=taken) for name, value in env.items()}
    folders = {"UPSTAGE_DATA": str(tmp_path / "data"), "UPSTAGE_MEDIA": str(tmp_path / "media")}
    status, _, errors = run_upstage("serve", env=os.environ | folders | filled)
    assert status == 1
    assert errors.startswith(message)
    assert "Traceback" not in errors


def test_there_is_no_password_before_the_first_start(tmp_path: Path) -> None:
    env = dict(os.environ, UPSTAGE_DATA=str(tmp_path))
    status, out, errors = run_upstage("admin-password", env=env)
    assert (status, out) == (1, "")
    assert "no password yet" in errors
