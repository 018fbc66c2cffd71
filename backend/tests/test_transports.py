"""Both stage transports of a real server, and the commands serve, healthcheck and admin-password."""

import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest
import websocket

from backend.tests.forked import run_upstage
from backend.tests.running_backend import Backend, join, serve

SMALL_WINDOW = (socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # so that the kernel buffers little


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


def test_a_websocket_that_does_not_read_is_cut_and_delays_no_other(server: Backend) -> None:
    """A WebSocket's transport had another producer first, the HTTP channel. (TCP: test_connection.py.)"""
    before = len(server.logged("cut off"))
    talker = server.on_stage()
    url = f"ws://127.0.0.1:{server.web_port}/ws"
    stalled = websocket.create_connection(url, timeout=60, suppress_origin=True, sockopt=(SMALL_WINDOW,))
    stalled.send("stage_ID=demo&mode=JOIN")
    talker.frames_until(b"aCount=2&mode=JOINED")
    line = b"msg=" + b"<" * 2000 + b"&mode=TEXT"  # 2 kB in, 16 kB out
    for _ in range(1000):
        talker.send_frames(line)
        assert talker.receive_frame().endswith(b"mode=ANONTEXT")
        if len(server.logged("cut off")) > before:
            break
    assert [line["reason"] for line in server.logged("cut off")[before:]] == ["laggard"]
    talker.frames_until(b"aCount=1&mode=JOINED")
    talker.close()
    stalled.shutdown()


def test_a_heartbeat_keeps_quiet_clients_and_finds_dead_ones(tmp_path: Path) -> None:
    server = Backend(tmp_path, serve(heartbeat=0.3))
    flash, browser, dead = server.connect(), server.connect_web(), server.connect_web()
    assert flash.frames_until(b"mode=HEARTBEAT")
    browser.websocket.settimeout(0.1)
    while not server.logged("cut off"):  # a WebSocket answers pings while it reads
        with suppress(websocket.WebSocketTimeoutException):
            browser.receive_frame()
    assert [line["reason"] for line in server.logged("cut off")] == ["silent"]
    browser.websocket.settimeout(60)
    browser.send_frames(b"stage_ID=demo&mode=JOIN")
    browser.frames_until(b"&mode=JOINED")
    dead.close()
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


def test_a_stop_with_clients_is_clean(tmp_path: Path) -> None:
    """The server runs in a new interpreter, as an operator starts it."""
    server = Backend(tmp_path, ["-m", "upstage", "serve"], forked=False)
    clients = [server.on_stage() for _ in range(5)]
    browser = server.connect_web()
    assert server.stop() == 0
    for client in (clients[0], browser):
        with pytest.raises(EOFError):
            client.frames_until(b"no such frame")
    assert not server.logged("Unhandled Error")


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"UPSTAGE_WEB_ENDPOINT": "here"}, "upstage: UPSTAGE_WEB_ENDPOINT=here: expected"),
        ({"UPSTAGE_MEDIA": "/proc/media"}, "upstage: "),
        ({"UPSTAGE_SOCKETS": "/away/b"}, "upstage: Couldn't listen on "),
        ({"UPSTAGE_WEB_ENDPOINT": "{taken}"}, "upstage: Couldn't listen on 127.0.0.1:"),
    ],
)
def test_a_failed_start_says_why(server: Backend, tmp_path: Path, env: dict[str, str], message: str) -> None:
    taken = f"tcp:{server.web_port}:interface=127.0.0.1"
    filled = {name: value.format(taken=taken) for name, value in env.items()}
    folders = {"UPSTAGE_DATA": str(tmp_path / "data"), "UPSTAGE_MEDIA": str(tmp_path / "media")}
    status, _, errors = run_upstage("serve", env=os.environ | folders | filled)
    assert status == 1
    assert errors.startswith(message)
    assert "Traceback" not in errors
