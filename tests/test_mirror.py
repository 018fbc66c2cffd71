"""The mirror in the whole stack: all users move there and back while they chat, and no line is lost."""

import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.stack import SITES, Stack

pytestmark = [
    pytest.mark.slow,  # `make test` has backend/tests/test_backup.py
    pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session"),
]


class Speaker(threading.Thread):
    """Speaks without a pause, and connects again when it is cut off. `heard`: the lines that came back."""

    def __init__(self, stack: Stack) -> None:
        super().__init__(daemon=True)
        self.stack = stack
        self.heard: list[str] = []
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.05):
            with suppress(OSError, EOFError):  # nginx has no server behind it
                self._speak()

    def _speak(self) -> None:
        client = self.stack.stage_client()
        try:
            client.join()
            while not self.ended.wait(0.02):
                line = f"line {uuid.uuid4().hex}"
                client.send("TEXT", msg=line)
                while client.until("ANONTEXT")[-1]["text"] != line:
                    pass
                self.heard.append(line)
        finally:
            client.close()


@pytest.fixture
def mirrored(stack: Stack) -> Iterator[Stack]:
    """Yield the stack with a mirror."""
    extras = stack.settings["EXTRAS"]
    stack.settings["EXTRAS"] = f"{extras},mirror"
    try:
        stack.make("up")
        yield stack
        stack.make("mirror", "TO=backend")
    finally:
        stack.settings["EXTRAS"] = extras
        stack.make("up")
    stack.wait_until_ready()


def signed_in(stack: Stack) -> dict[str, str]:
    login = stack.get(
        "/admin/login", method="POST", data={"username": "admin", "password": stack.admin_password}
    )
    return {"Cookie": login.headers["Set-Cookie"].split(";")[0]}


def test_all_users_move_to_the_mirror_and_back(mirrored: Stack) -> None:
    stack = mirrored
    session, speaker = signed_in(stack), Speaker(stack)
    speaker.start()
    for place, other in (("mirror", "backend"), ("backend", "mirror")):
        stack.compose("exec", "-T", other, "sh", "-c", "cat >/srv/media/drawn.svg", typed=f"on {other}")
        # A move needs no EXTRAS.
        assert f"active: {place}" in stack.make("mirror", f"TO={place}", "EXTRAS=")
        stack.make("status")
        assert "backend page" in stack.make("trace", f"URL=/nowhere-{uuid.uuid4().hex}")
        for host in SITES:
            marker = f"/nowhere-{uuid.uuid4().hex}"
            assert stack.get(marker, host).status_code == 404
            assert marker in stack.log_of(place)
        # On this site nginx reads the media itself, and must read those of the active server.
        assert stack.get("/media/drawn.svg", "static.localhost").text == f"on {other}"
        assert "admin" in stack.get("/admin/id", headers=session).text
        heard = len(speaker.heard)
        while len(speaker.heard) < heard + 5:
            speaker.join(0.1)
    speaker.ended.set()
    speaker.join(60)
    assert len(speaker.heard) > 10
    log = stack.get("/stages/demo/log").text
    assert [line for line in speaker.heard[-1000:] if line not in log] == []


def test_make_up_goes_on_with_the_active_server_whatever_extras_says(mirrored: Stack) -> None:
    stack = mirrored
    stack.make("mirror", "TO=mirror")
    stack.make("up", "EXTRAS=")
    assert "active: mirror" in stack.make("mirror")
    assert "backend" not in stack.compose("ps", "--services").split()
    assert stack.get("/media/fox.svg", "static.localhost").status_code == 200
