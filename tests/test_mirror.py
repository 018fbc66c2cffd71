"""The mirror in the whole stack: every site, both sockets, media and webcams move to it and back together.

backend/tests/test_mirror.py has what the two servers do; this is what nginx and Varnish make of it.
"""

import ftplib
import io
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest

from stack import Stack
from support.stage_client import StageClient
from support.wait import wait_until

pytestmark = pytest.mark.slow  # backend/tests/test_mirror.py, nginx/tests/test_upstreams.py: each part alone
SITES = ("localhost", "classic.localhost", "nginx.localhost", "static.localhost")
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9"


@pytest.fixture(scope="module")
def mirrored(stack: Stack) -> Iterator[Stack]:
    """The stack with a mirror that is ready."""
    extras = stack.settings["EXTRAS"]
    stack.settings["EXTRAS"] = extras + ",mirror"
    try:
        stack.make("up")
        wait_until(lambda: "stands by: mirror" in stack.make("mirror"), within=30)
        yield stack
    finally:
        stack.settings["EXTRAS"] = extras
        stack.control("start", "backend") if stack.mode == "containers" else None
        with suppress(AssertionError):  # it is there already
            stack.make("mirror", "TO=backend")
        stack.make("up")
    stack.wait_until_ready()


def serves(stack: Stack, place: str, host: str) -> bool:
    """Whether a request for that site is in the log of that place."""
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
    """What a client which joins now is sent."""
    client = stack.stage_client()
    try:
        return str(client.join())
    finally:
        client.close()


def test_a_failure_moves_everything_to_the_mirror_and_back(mirrored: Stack) -> None:
    """A line said, a picture changed and a webcam's picture: on each side, and back again."""
    stack = mirrored
    stack.upstage("player", "add", "cam", password="a password\n")
    assert_all_are_at(stack, "backend")
    talker, idle, web = stack.stage_client(), stack.stage_client(), stack.web_stage_client()
    for client in (talker, idle, web):
        client.join()
    before, during = f"before {uuid.uuid4().hex}", f"during {uuid.uuid4().hex}"
    talker.send("TEXT", msg=before)
    talker.until("ANONTEXT")
    stack.control("stop", "backend")
    for client in (talker, idle, web):
        assert_cut_off(client)
    wait_until(lambda: before in said(stack), within=20)
    assert_all_are_at(stack, "mirror")
    talker, idle, web = stack.stage_client(), stack.stage_client(), stack.web_stage_client()
    for client in (talker, idle, web):
        client.join()
    talker.send("TEXT", msg=during)
    for client in (talker, idle, web):
        assert client.until("ANONTEXT")[-1]["text"] == during

    camera = ftplib.FTP()
    camera.connect("127.0.0.1", int(stack.settings["FTP_PORT"]), timeout=10)
    camera.login("cam", "a password")
    camera.storbinary("STOR cam.jpg", io.BytesIO(JPEG))
    camera.close()
    for host in SITES:
        assert stack.get("/media/video/cam.jpg", host).content == JPEG, host
    # nginx reads the mirror's media: this file differs from the backend's.
    stack.change_media("mirror", "fox.svg", "<svg><!-- changed --></svg>")
    assert stack.get("/media/fox.svg", "static.localhost").text == "<svg><!-- changed --></svg>"

    stack.control("start", "backend")
    for client in (talker, idle, web):
        assert_cut_off(client)
    assert_all_are_at(stack, "backend")
    chat = said(stack)
    assert chat.index(before) < chat.index(during)
    assert stack.get("/media/fox.svg", "static.localhost").text == "<svg><!-- changed --></svg>"
    assert stack.get("/media/video/cam.jpg").content == JPEG


def test_an_operator_copies_and_switches(mirrored: Stack) -> None:
    stack = mirrored
    wait_until(lambda: "active: backend; stands by: mirror" in stack.make("mirror"), within=30)
    idle = stack.stage_client()
    idle.join()
    if stack.mode == "containers":
        in_backend = ("exec", "-T", "backend", "upstage", "mirror")
        assert "copied: the database (" in stack.compose(*in_backend)
        assert stack.compose(*in_backend, "--to", "mirror") == "active: mirror\n"
    else:
        assert "active: mirror" in stack.make("mirror", "TO=mirror")
    assert "active: mirror" in stack.make("mirror", "TO=mirror")
    assert_cut_off(idle)
    assert_all_are_at(stack, "mirror")
    wait_until(lambda: "active: mirror; stands by: backend" in stack.make("mirror"), within=30)
    assert "active: backend" in stack.make("mirror", "TO=backend")
    assert_all_are_at(stack, "backend")
    with pytest.raises(AssertionError, match="TO is 'elsewhere'; it can be backend or mirror"):
        stack.make("mirror", "TO=elsewhere")


@pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session")
def test_a_frozen_container_gives_up_when_it_returns(mirrored: Stack) -> None:
    stack = mirrored
    wait_until(lambda: "active: backend; stands by: mirror" in stack.make("mirror"), within=30)
    left = stack.stage_client()
    left.join()
    stack.compose("pause", "backend")
    try:
        wait_until(partial(serves, stack, "mirror", "localhost"), within=30)
        assert_all_are_at(stack, "mirror")
    finally:
        stack.compose("unpause", "backend")
    left.socket.settimeout(2)
    assert_cut_off(left)
    assert_all_are_at(stack, "backend", within=30)


@pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session")
def test_make_up_without_the_extra_removes_the_mirror(mirrored: Stack) -> None:
    stack = mirrored
    extras = stack.settings["EXTRAS"]
    stack.make("mirror", "TO=mirror")
    stack.settings["EXTRAS"] = extras.removesuffix(",mirror")
    try:
        with pytest.raises(AssertionError, match="make mirror TO=backend"):
            stack.make("up")  # the mirror has the newer data
        stack.make("mirror", "TO=backend")
        stack.make("up")
        assert "mirror" not in stack.compose("ps", "--all", "--services").split()
        stack.wait_until_ready()
        assert stack.get("/media/fox.svg", "static.localhost").status_code == 200
    finally:
        stack.settings["EXTRAS"] = extras
        stack.make("up")
