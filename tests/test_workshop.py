"""Accounts, media, speech and webcams: from the shell and the workshop to the audience."""

import base64
import ftplib
import io
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from playwright.sync_api import expect

from browsing import Visit, on_stage
from editing import PASSWORD, Editor
from stack import SITES, Stack
from support.stage_client import StageClient
from support.wait import wait_until

MEDIA = "/admin/workshop/media"
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9" fill="{}"/></svg>'
)
# In the browser: a picture of one colour as a JPEG, and the colour in the middle of an image.
PAINT = """colour => {
    const canvas = Object.assign(document.createElement("canvas"), {width: 32, height: 24});
    const pen = canvas.getContext("2d");
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 32, 24);
    return canvas.toDataURL("image/jpeg");
}"""
MIDDLE = """image => {
    const pen = document.createElement("canvas").getContext("2d");
    pen.drawImage(image, 0, 0);
    return [...pen.getImageData(16, 12, 1, 1).data];
}"""


@pytest.fixture(scope="module")
def player(stack: Stack) -> str:
    """A player who may act and edit stages, created from the shell."""
    stack.upstage("player", "add", "yorick", "--rights", "act,admin", password=PASSWORD + "\n")
    assert "yorick" in stack.upstage("player", "list")
    login = {"username": "yorick", "password": PASSWORD}
    # The running backend reads changes of the database once a second. After ten wrong sign-ins it locks an
    # address out.
    wait_until(
        lambda: stack.get("/admin/login", method="POST", data=login).status_code == 302, within=5, every=0.3
    )
    return "yorick"


def player_client(stack: Stack, name: str) -> StageClient:
    """A player's stage socket, joined."""
    stage = stack.stage_client()
    stage.join(stack.player_key(name, PASSWORD))
    return stage


def test_a_replaced_picture_is_served_nowhere_after_a_second(stack: Stack, player: str) -> None:
    """A replaced picture is new on every site, while clients keep requesting it."""
    editor = Editor(stack, player)
    answer = editor.post(MEDIA, MEDIA, PICTURE.format("red").encode(), name="A square", kind="prop")
    assert answer.status_code == 200, answer.text
    page = answer.url.removeprefix(stack.url("")).split("?")[0]
    url = page.replace(MEDIA, "/media")
    seen: list[tuple[str, str, float]] = []  # host, the content that it sent, and the time of the request
    done = threading.Event()

    def client(host: str) -> None:
        while not done.is_set():
            asked = time.monotonic()
            answer = stack.get(url, host)
            seen.append((host, answer.text if answer.status_code == 200 else "nothing", asked))

    def sees(what: str) -> set[str]:
        return {host for host, sent, asked in seen if what in sent and asked > changed}

    changed = 0.0
    watchers = [threading.Thread(target=client, args=[host]) for host in SITES]
    for watcher in watchers:
        watcher.start()
    try:
        wait_until(lambda: sees("red") == set(SITES))
        for change, before, after in ((blue, "red", "blue"), (gone, "blue", "nothing")):
            assert change(editor, page).status_code == 200
            changed = time.monotonic()
            time.sleep(2.5)
            late = [asked - changed for _, sent, asked in seen if before in sent and asked > changed + 1]
            assert late == []
            assert sees(after) == set(SITES)
    finally:
        done.set()
        for watcher in watchers:
            watcher.join()


def blue(editor: Editor, page: str) -> requests.Response:
    return editor.post(page, page, PICTURE.format("blue").encode())


def gone(editor: Editor, page: str) -> requests.Response:
    return editor.post(page, page, action="delete")


def test_a_spoken_line_can_be_heard(stack: Stack, player: str) -> None:
    stage, listener = player_client(stack, player), stack.stage_client()
    listener.join()
    stage.send("AV", ID="1")
    stage.send("TEXT", msg="Alas, poor Yorick")
    assert listener.until("TEXT")[-1]["text"] == "Alas, poor Yorick"
    url = listener.until("WAVE")[-1]["url"]
    with ThreadPoolExecutor(20) as audience:
        answers = list(audience.map(lambda _: stack.get(url), range(20)))
    first, second = answers[0], stack.get(url)
    assert {answer.content for answer in answers} == {first.content}
    assert first.headers["Content-Type"] == "audio/mpeg"
    assert first.content[:2] in (b"\xff\xf3", b"\xff\xfb", b"ID")
    assert len(first.content) > 2000
    assert "hit" in second.headers["Cache-Status"], second.headers
    # All clients of a stage request a line at once; the backend answers one of them.
    assert stack.log_of("backend").count(f'"path": "{url}"') == 1
    stage.close()
    listener.close()


def is_stored(ftp: ftplib.FTP, player: str, picture: bytes) -> bool:
    """Upload a picture; False if the simulated camera is using the only port for data at this moment."""
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


def test_a_webcam_is_an_avatar(stack: Stack, player: str, visit: Visit, complaints: list[str]) -> None:
    page = visit("/")
    red, blue = (
        base64.b64decode(page.evaluate(PAINT, colour).removeprefix("data:image/jpeg;base64,"))
        for colour in ("red", "blue")
    )
    store(stack, player, red)
    answer = stack.get(f"/media/video/{player}.jpg")
    assert answer.content == red
    assert "hit" not in answer.headers["Cache-Status"].split(";")[1]
    assert stack.get("/media/video/unknown.jpg").status_code == 404

    stage = "/admin/workshop/stages/rehearsal"
    avatar = {"file": f"video/{player}.jpg", "name": "Yorick", "voice": "default", "x": "100", "y": "150"}
    assert Editor(stack, player).post(stage, stage, None, action="put", **avatar).status_code == 200
    page.goto(stack.url("/stages/rehearsal"))
    image = on_stage(page).locator(".avatar img").first
    expect(image).to_have_attribute("src", re.compile(rf"/media/video/{player}\.jpg\?s="))
    assert page.evaluate(MIDDLE, image.element_handle())[0] > 200

    store(stack, player, blue)
    wait_until(lambda: page.evaluate(MIDDLE, image.element_handle())[2] > 200)
    assert complaints == []


def test_the_account_for_load_tests_is_ready(stack: Stack) -> None:
    """Locust's container can read the account, but no other container that clients reach."""
    if stack.mode == "containers":
        account = stack.compose("exec", "-T", "locust", "cat", "/run/player/account")
        for service in ("nginx", "varnish", "policyd"):
            with pytest.raises(AssertionError, match="No such file"):
                stack.compose("exec", "-T", service, "cat", "/run/player/account")
    else:
        account = (stack.native_data / "player-account").read_text()
    name, password = account.strip().split(":")
    login = stack.get("/admin/login", method="POST", data={"username": name, "password": password})
    assert login.status_code == 302
    assert f"{name}\tact\n" in stack.upstage("player", "list")
