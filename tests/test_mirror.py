"""The mirror in the whole stack: every site, both sockets, media and webcams move to it and back together.

backend/tests/test_mirror.py tests the two servers, this file the effect on nginx and Varnish.
"""

import ftplib
import io
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest

from stack import SITES, Stack
from support.stage_client import StageClient
from support.wait import wait_until

pytestmark = pytest.mark.slow  # each part: backend/tests/test_mirror.py, nginx/tests/test_upstreams.py
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9"


@pytest.fixture(scope="module")
def mirrored(stack: Stack) -> Iterator[Stack]:
    """The stack with a mirror."""
    extras = stack.settings["EXTRAS"]
    stack.settings["EXTRAS"] = extras + ",mirror"
    try:
        stack.make("up")
        yield stack
        bring_back(stack)
    finally:
        stack.settings["EXTRAS"] = extras
        stack.make("down")
        stack.make("up")
    stack.wait_until_ready()


@pytest.fixture
def ready(mirrored: Stack) -> Stack:
    """The backend is active and the mirror ready, whatever the previous test has left."""
    bring_back(mirrored)
    return mirrored


def bring_back(stack: Stack) -> None:
    wait_until(lambda: "active: backend" in stack.make("mirror", "TO=backend"), within=60)
    wait_until(lambda: "active: backend; standby: mirror" in stack.make("mirror"), within=60)


def serves(stack: Stack, place: str, host: str) -> bool:
    """Whether a request for that site is in that server's log."""
    marker = f"/nowhere-{uuid.uuid4().hex}"
    assert stack.get(marker, host).status_code == 404
    time.sleep(0.1)
    return marker in stack.log_of(place)


def assert_all_are_at(stack: Stack, place: str, within: float = 20) -> None:
    for host in SITES:
        wait_until(partial(serves, stack, place, host), within=within)


def assert_cut_off(client: StageClient) -> None:
    def read_all() -> None:
        while True:
            client.receive_frame()

    with pytest.raises(Exception, match=r"closed|Closed|reset|lost"):
        read_all()


def said(stack: Stack) -> str:
    """The frames that a client gets that joins now."""
    client = stack.stage_client()
    try:
        return str(client.join())
    except EOFError:  # nginx has not reached a server
        return ""
    finally:
        client.close()


def test_a_failure_moves_everything_to_the_mirror_and_back(ready: Stack) -> None:
    """A chat line, a changed picture and a webcam's picture reach each side, and come back."""
    stack = ready
    with suppress(AssertionError):  # a run before this one may have left it
        stack.upstage("player", "add", "cam", password="a password\n")
    stack.write_medium("backend", "drawn.svg", "on the backend")
    assert_all_are_at(stack, "backend")
    assert stack.get("/media/drawn.svg", "static.localhost").text == "on the backend"
    clients = join_all(stack)
    before, during = f"before {uuid.uuid4().hex}", f"during {uuid.uuid4().hex}"
    clients[0].send("TEXT", msg=before)
    clients[0].until("ANONTEXT")
    stack.control("stop", "backend")
    try:
        for client in clients:
            assert_cut_off(client)
        wait_until(lambda: before in said(stack), within=20)
        assert_all_are_at(stack, "mirror")
        clients = join_all(stack)
        clients[0].send("TEXT", msg=during)
        for client in clients:
            assert client.until("ANONTEXT")[-1]["text"] == during
        send_webcam_picture(stack)
        for host in SITES:
            assert stack.get("/media/video/cam.jpg", host).content == JPEG, host
        # nginx reads the mirror's media: this file differs from the backend's.
        assert stack.get("/media/drawn.svg", "static.localhost").text == "on the backend"
        stack.write_medium("mirror", "drawn.svg", "on the mirror")
        assert stack.get("/media/drawn.svg", "static.localhost").text == "on the mirror"
    finally:
        stack.control("start", "backend")
    for client in clients:
        assert_cut_off(client)
    assert_all_are_at(stack, "backend")
    chat = said(stack)
    assert chat.index(before) < chat.index(during)
    assert stack.get("/media/drawn.svg", "static.localhost").text == "on the mirror"
    assert stack.get("/media/video/cam.jpg").content == JPEG


def join_all(stack: Stack) -> tuple[StageClient, ...]:
    """One client that talks, and two that only listen."""
    clients = (stack.stage_client(), stack.stage_client(), stack.web_stage_client())
    for client in clients:
        client.join()
    return clients


def send_webcam_picture(stack: Stack) -> None:
    camera = ftplib.FTP()
    camera.connect("127.0.0.1", int(stack.settings["FTP_PORT"]), timeout=10)
    camera.login("cam", "a password")
    camera.storbinary("STOR cam.jpg", io.BytesIO(JPEG))
    camera.close()


@pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session")
def test_make_up_without_the_extra_removes_the_mirror(ready: Stack) -> None:
    stack = ready
    extras = stack.settings["EXTRAS"]
    stack.make("mirror", "TO=mirror")
    stack.settings["EXTRAS"] = extras.removesuffix(",mirror")
    try:
        with pytest.raises(AssertionError, match="make mirror TO=backend"):
            stack.make("up")  # the mirror has the newer data
        bring_back(stack)
        stack.make("up")
        assert "mirror" not in stack.compose("ps", "--all", "--services").split()
        stack.wait_until_ready()
        assert stack.get("/media/fox.svg", "static.localhost").status_code == 200
    finally:
        stack.settings["EXTRAS"] = extras
        stack.make("up")
