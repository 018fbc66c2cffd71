"""Players who edit stages and media, through the forms of the workshop."""

import ftplib
import io
import re

import pytest
import requests

from tests.stack import Stack
from tests.support.wait import wait_until

PASSWORD = "a horse, a horse"
MEDIA = "/admin/workshop/media"
PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg"><!-- kept --></svg>'


class Editor:
    """A signed-in player who sends forms as a browser does."""

    def __init__(self, stack: Stack, name: str) -> None:
        self.session = requests.Session()
        self.stack = stack
        self.post("/admin/", "/admin/login", username=name, password=PASSWORD)
        assert "Sign out" in self.session.get(stack.url("/admin/")).text

    def post(self, page: str, target: str, picture: bytes | None = None, **fields: str) -> requests.Response:
        """Open a page, take its form's token and send the form; a picture goes into the field `file`."""
        token = re.search(r'name="csrf" value="([^"]+)"', self.session.get(self.stack.url(page)).text)
        assert token, page
        files = {"file": ("picture.svg", io.BytesIO(picture), "image/svg+xml")} if picture else None
        return self.session.post(
            self.stack.url(target),
            data={"csrf": token[1], **fields},
            files=files,
            headers={"Origin": self.stack.url("").rstrip("/")},
            timeout=20,
        )


def add_player(stack: Stack, name: str) -> None:
    """Add a player who may act and edit stages; wait until the running backend knows it."""
    stack.upstage("player", "add", name, "--rights", "act,admin", password=PASSWORD + "\n")
    login = {"username": name, "password": PASSWORD}
    # The backend checks the database once a second. After ten wrong sign-ins it locks an address out.
    wait_until(
        lambda: stack.get("/admin/login", method="POST", data=login).status_code == 302, within=5, every=0.3
    )


def is_stored(ftp: ftplib.FTP, player: str, picture: bytes) -> bool:
    """Upload a picture; return False if the simulated camera is using the only port for data now."""
    try:
        ftp.storbinary(f"STOR {player}.jpg", io.BytesIO(picture))
    except ftplib.error_perm as error:
        if "in use" not in str(error):
            raise
        return False
    return True


def store(stack: Stack, player: str, picture: bytes) -> None:
    """Upload a webcam picture as webcam programs do."""
    with ftplib.FTP(timeout=10) as ftp:
        ftp.connect("127.0.0.1", int(stack.settings["FTP_PORT"]))
        ftp.login(player, PASSWORD)
        wait_until(lambda: is_stored(ftp, player, picture))
        with pytest.raises(ftplib.error_perm):
            ftp.retrbinary(f"RETR {player}.jpg", lambda data: None)


def leave_data(stack: Stack) -> str:
    """Add a player, a line of chat and an upload; return the path of the upload."""
    add_player(stack, "ann")
    page = Editor(stack, "ann").post(MEDIA, MEDIA, PICTURE, name="Ghost", kind="avatar").url
    client = stack.stage_client()
    client.join()
    client.send("TEXT", msg="remember me")
    client.until("ANONTEXT")
    client.close()
    return "/media/" + page.removeprefix(stack.url(MEDIA)).split("?")[0].lstrip("/")


def has_data(stack: Stack, upload: str) -> bool:
    """Return whether the player, the line of chat and the upload are there."""
    Editor(stack, "ann")
    client = stack.stage_client()
    seen = str(client.join())
    client.close()
    return "remember me" in seen and stack.get(upload).content == PICTURE
