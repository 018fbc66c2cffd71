"""Accounts, media, speech and webcams: from the shell and the workshop to the audience."""

import base64
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect

from tests.browsing import Visit, on_stage
from tests.editing import MEDIA, PASSWORD, Editor, add_player, store
from tests.stack import SITES, Stack
from tests.support.stage_client import StageClient
from tests.support.wait import wait_until

PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9" fill="{}"/></svg>'
)
# For the browser: functions that return a JPEG of one colour, and the colour in the middle of an image.
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
    """Create, from the shell, a player who may act and edit stages."""
    add_player(stack, "yorick")
    assert "yorick" in stack.upstage("player", "list")
    return "yorick"


def player_client(stack: Stack, name: str) -> StageClient:
    """Return a player's stage socket that has joined."""
    stage = stack.stage_client()
    stage.join(stack.player_key(name, PASSWORD))
    return stage


def test_a_replaced_picture_is_served_nowhere_after_a_second(stack: Stack, player: str) -> None:
    """No cache of any site serves it. (While clients request it: backend/tests/test_purge.py.)"""
    editor = Editor(stack, player)
    page = editor.post(MEDIA, MEDIA, PICTURE.format("red").encode(), name="A square", kind="prop").url
    page = page.removeprefix(stack.url("")).split("?")[0]

    def sees(what: str) -> bool:
        responses = [stack.get(page.replace(MEDIA, "/media"), host) for host in SITES for _ in range(2)]
        return all(what in response.text if what else response.status_code != 200 for response in responses)

    assert sees("red")
    assert editor.post(page, page, PICTURE.format("blue").encode()).status_code == 200
    time.sleep(1.1)
    assert sees("blue")
    assert editor.post(page, page, action="delete").status_code == 200
    time.sleep(1.1)
    assert sees("")


def test_a_spoken_line_can_be_heard(stack: Stack, player: str) -> None:
    stage, listener = player_client(stack, player), stack.stage_client()
    listener.join()
    stage.send("AV", ID="1")
    stage.send("TEXT", msg="Alas, poor Yorick")
    assert listener.until("TEXT")[-1]["text"] == "Alas, poor Yorick"
    url = listener.until("WAVE")[-1]["url"]
    with ThreadPoolExecutor(20) as audience:
        responses = list(audience.map(lambda _: stack.get(url), range(20)))
    first, second = responses[0], stack.get(url)
    assert {response.content for response in responses} == {first.content}
    assert first.headers["Content-Type"] == "audio/mpeg"
    assert first.content[:2] in (b"\xff\xf3", b"\xff\xfb", b"ID")
    assert len(first.content) > 2000
    assert "hit" in second.headers["Cache-Status"], second.headers
    # All clients of a stage request a line at once; the backend answers one of them.
    assert stack.log_of("backend").count(f'"path": "{url}"') == 1
    stage.close()
    listener.close()


def test_a_webcam_is_an_avatar(stack: Stack, player: str, visit: Visit, complaints: list[str]) -> None:
    page = visit("/")
    red, blue = (
        base64.b64decode(page.evaluate(PAINT, colour).removeprefix("data:image/jpeg;base64,"))
        for colour in ("red", "blue")
    )
    store(stack, player, red)
    response = stack.get(f"/media/video/{player}.jpg")
    assert response.content == red
    assert "hit" not in response.headers["Cache-Status"].split(";")[1]
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
