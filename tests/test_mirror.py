"""The mirror in the whole stack: every site, both sockets, media and webcams move to it and back together.

backend/tests/test_mirror.py tests the two servers, this file the effect on nginx and Varnish.
"""

import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest

from tests.editing import add_player, store
from tests.stack import SITES, Stack
from tests.support.wait import wait_until

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


def said(stack: Stack) -> str:
    """The frames that a client gets that joins now."""
    client = stack.stage_client()
    try:
        return str(client.join())
    except EOFError:  # nginx has not reached a server
        return ""
    finally:
        client.close()


def say(stack: Stack) -> str:
    """A line that a player of the stage socket says, and a visitor with a WebSocket hears."""
    line, player, visitor = f"line {uuid.uuid4().hex}", stack.stage_client(), stack.web_stage_client()
    for client in (player, visitor):
        client.join()
    player.send("TEXT", msg=line)
    assert visitor.until("ANONTEXT")[-1]["text"] == line
    player.close()
    visitor.close()
    return line


def test_a_failure_moves_everything_to_the_mirror_and_back(ready: Stack) -> None:
    """What was said, the media, which nginx reads itself, and a webcam's picture come back, too."""
    stack = ready
    with suppress(AssertionError):  # a run before this one may have left it
        add_player(stack, "cam")

    def drawn() -> str:
        return stack.get("/media/drawn.svg", "static.localhost").text

    stack.write_medium("backend", "drawn.svg", "on the backend")
    assert_all_are_at(stack, "backend")
    assert drawn() == "on the backend"
    before = say(stack)
    stack.control("stop", "backend")
    try:
        wait_until(lambda: before in said(stack))
        assert_all_are_at(stack, "mirror")
        during = say(stack)
        store(stack, "cam", JPEG)
        assert drawn() == "on the backend"
        stack.write_medium("mirror", "drawn.svg", "on the mirror")
        assert drawn() == "on the mirror"
    finally:
        stack.control("start", "backend")
    assert_all_are_at(stack, "backend")
    chat = said(stack)
    assert chat.index(before) < chat.index(during)
    assert drawn() == "on the mirror"
    assert stack.get("/media/video/cam.jpg").content == JPEG


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
