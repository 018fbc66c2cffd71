"""The workshop over a real socket: players with and without rights, its forms and its uploads."""

import re
import socket
from pathlib import Path
from urllib.parse import urlencode

import pytest

from backend.tests.running_backend import (
    DRAWING,
    FORM,
    MULTIPART,
    Backend,
    Editor,
    PurgedCache,
    ask,
    join,
    multipart,
    opened,
)
from upstage.net.purge import tag_of
from upstage.web.upload import Upload

STAGES, MEDIA, PLAYERS = (f"/admin/workshop/{page}" for page in ("stages", "media", "players"))
COLOURS = {"page": "#010203", "tools": "#040506", "backdrop_and_prop": "#070809", "chat": "#0a0b0c"}
LOOKS = {"splash": "Hello\r\nyou", **COLOURS}


def test_pages_require_rights(workshop: Backend, admin: Editor, editor: Editor) -> None:
    admin.post(PLAYERS, action="add", name="pat", password="12345678", act="yes")
    player = Editor(workshop, "pat", "12345678")
    assert b"Media" not in player.get("/admin/").body
    files = (f"{MEDIA}/fox.svg", f"{MEDIA}/audio/music-box.mp3")
    for path in (STAGES, f"{STAGES}/demo", MEDIA, *files, PLAYERS):
        assert ask(workshop, path).status == 302  # to the login page
        assert player.get(path).status == 403
        assert player.post(path, action="remove").status == 403
        page = admin.get(path)
        assert page.status == 200
        assert page.headers["cache-control"] == "no-store"
        assert not re.search(rb"<script(?! type=\"module\" src)| style=|<style| on[a-z]+=", page.body)
        assert editor.get(path).status == (403 if path == PLAYERS else 200)
        assert admin.get(path + "/nothing").status == 404


def test_a_form_without_its_token_does_nothing(editor: Editor, admin: Editor) -> None:
    for csrf in ("", "0" * 64, admin.csrf):
        assert editor.post(STAGES, csrf=csrf, action="make", id="evil", name="Evil").status == 403
        assert editor.upload(MEDIA, DRAWING, csrf=csrf, name="Evil", kind="prop").status == 403
    assert b"Evil" not in editor.get(STAGES).body + editor.get(MEDIA).body
    assert editor.post(STAGES, action="__class__").status == 400


def test_a_stage_is_created_edited_and_removed(workshop: Backend, editor: Editor) -> None:
    assert editor.post(STAGES, action="make", id="barn", name="The barn").status == 302
    client = workshop.on_stage(b"barn")

    for fields, listed in (({"unlisted": "yes"}, False), ({}, True)):
        saved = editor.post(f"{STAGES}/barn", action="save", name="The <big> barn", **LOOKS, **fields)
        assert saved.headers["location"].endswith("/admin/workshop/stages/barn?said=saved")
        assert client.receive_frame() == b"mode=RELOAD"
        for path, named in (("/", listed), ("/stages/", listed), ("/stages/barn", True)):
            assert (b"The &lt;big&gt; barn" in ask(workshop, path).body) is named
    assert b"Saved." in editor.get(f"{STAGES}/barn?said=saved").body

    hat, bell = editor.bring("Hat", "avatar"), "audio/curtain-bell.mp3"
    put = {"action": "put", "x": "20.5", "y": "100", "voice": "en-us"}
    assert editor.post(f"{STAGES}/barn", file=hat, **put).status == 302
    assert client.receive_frame() == b"mode=RELOAD"
    assert editor.post(f"{STAGES}/barn", action="put", file=bell, name="Ding", type="music").status == 302
    assert client.receive_frame() == b"mode=RELOAD"
    client.send_frames(b"stage_ID=barn&mode=JOIN")
    frames = b"\n".join(client.frames_until(b"&mode=LOAD_CHAT"))
    assert b"ID=1&name=Hat&url=%2Fmedia%2F" + hat.encode() in frames
    assert b"ID=1&name=Ding&url=curtain-bell.mp3&type=music" in frames
    assert b"bgcolour=0x070809&mode=BACKDROPANDPROP_COLOUR" in frames
    assert b"msg=Hello%0Ayou&mode=SPLASH_DETAILS" in frames
    client.frames_until(b"&mode=JOINED")
    client.send_frames(b"mode=LOADED")
    assert b"ID=1&X=20.5&Y=100.0&Z=0&mode=AV_POS" in client.frames_until(b"mode=CONFIRM_LOADED")

    client.send_frames(b"msg=hello&mode=TEXT")
    client.frames_until(b"mode=ANONTEXT")
    assert editor.post(f"{STAGES}/barn", action="reset").headers["location"].endswith("?said=reset")
    client.frames_until(b"mode=RELOAD")
    assert b"hello" not in ask(workshop, "/stages/barn/log").body

    for _ in range(2):
        assert editor.post(f"{STAGES}/barn", action="put", file=hat).status == 302
    for name in ("Wood", "Sea"):
        backdrop = editor.bring(name, "backdrop")
        assert editor.post(f"{STAGES}/barn", action="put", file=backdrop).status == 302
    visitor = workshop.connect()
    backdrops = [frame for frame in join(visitor, stage=b"barn") if b"LOAD_BACKDROP" in frame]
    assert [b"show=True" in frame for frame in backdrops] == [True, False]
    visitor.send_frames(b"mode=LOADED")
    frames = visitor.frames_until(b"mode=CONFIRM_LOADED")
    for place in (b"ID=2&X=40.0&Y=175.0", b"ID=3&X=90.0&Y=175.0"):
        assert place in b"\n".join(frames)

    change = {"action": "change", "kind": "avatar", "id": "1", "name": "Cap"}
    assert editor.post(f"{STAGES}/barn", **change, x="1", y="2", voice="default").status == 302
    assert b'value="Cap"' in editor.get(f"{STAGES}/barn").body
    assert editor.post(f"{STAGES}/barn", action="take", kind="avatar", id="1").status == 302
    assert b'value="Cap"' not in editor.get(f"{STAGES}/barn").body
    assert editor.post(f"{STAGES}/barn", action="remove").status == 302
    assert client.frames_until(b"mode=ERR_DOUBLE_LOGIN")[-1].startswith(b"msg=This+stage+has+been+closed")
    assert editor.get(f"{STAGES}/barn").status == 404
    assert ask(workshop, f"/media/{hat}").status == 200


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"action": "save", "name": "", **LOOKS}, b"The name of a stage must have"),
        ({"action": "save", "name": "x" * 101, **LOOKS}, b"The name of a stage must have"),
        ({"action": "save", "name": "x", **LOOKS, "splash": " "}, b"The welcome text must have"),
        ({"action": "put", "file": "../x"}, b"Choose a file first"),
        ({"action": "put", "file": "fox.svg", "x": "left"}, b"must be two numbers"),
        ({"action": "put", "file": "fox.svg", "voice": "; rm"}, b"A voice must be"),
        ({"action": "change", "kind": "prop", "id": "99"}, b"no longer on the stage"),
        ({"action": "take", "kind": "prop", "id": "x"}, b"no longer on the stage"),
    ],
)
def test_errors_are_shown_on_the_page(editor: Editor, fields: dict[str, str], message: bytes) -> None:
    response = editor.post(f"{STAGES}/rehearsal", **fields)
    assert response.status == 400
    assert message in response.body
    assert editor.post(STAGES, action="make", id="a b", name="x").status == 400
    assert editor.post(STAGES, action="make", id="demo", name="x").status == 400


def test_changed_media_are_purged_and_reloaded(workshop: Backend, editor: Editor, cache: PurgedCache) -> None:
    cup = editor.bring("Cup")
    first = ask(workshop, f"/media/{cup}")
    assert editor.post(f"{STAGES}/rehearsal", action="put", file=cup).status == 302
    client = workshop.on_stage(b"rehearsal")
    cache.forget_requests()
    purge = tag_of(cup)
    replaced = editor.upload(f"{MEDIA}/{cup}", DRAWING % b"another")
    assert replaced.headers["location"].endswith(f"/{cup}?said=replaced")
    assert cache.tags == [purge]
    assert client.receive_frame() == b"mode=RELOAD"
    workshop.wait_for(lambda: cache.tags == [purge, purge])
    second = ask(workshop, f"/media/{cup}")
    assert second.body == DRAWING % b"another"
    assert second.headers["etag"] != first.headers["etag"]
    assert b"<svg" in ask(workshop, f"/media/thumb/{cup}").body
    for url in (f"/media/{cup}", f"/media/thumb/{cup}"):
        assert ask(workshop, url).headers["x-cache-tags"] == f"media {purge}"

    refused = editor.upload(f"{MEDIA}/{cup}", b"GIF89a" + b"\1" * 20 + b";")
    assert refused.status == 415
    assert b"a GIF file cannot replace it" in refused.body

    cache.forget_requests()
    assert editor.post(f"{MEDIA}/{cup}", action="delete").headers["location"].endswith("?said=removed")
    assert cache.tags == [purge]
    assert client.receive_frame() == b"mode=RELOAD"
    assert ask(workshop, f"/media/{cup}").status == 404
    assert editor.get(f"{MEDIA}/{cup}").status == 404
    assert b'value="Cup"' not in editor.get(f"{STAGES}/rehearsal").body


def test_a_cache_that_does_not_purge_is_reported(editor: Editor, cache: PurgedCache) -> None:
    cup = editor.bring("Glass")
    cache.status, before = "405 No", len(cache.tags)
    try:
        assert editor.upload(f"{MEDIA}/{cup}", DRAWING).headers["location"].endswith("?said=not-purged")
    finally:
        cache.status = "200 Purged"
    # Two attempts; changes of other files may be repeated at any time.
    assert cache.tags[before:].count(tag_of(cup)) == 2
    assert b"could not be purged" in editor.get(f"{MEDIA}/{cup}?said=not-purged").body


def test_an_administrator_manages_players(workshop: Backend, admin: Editor) -> None:
    assert admin.post(PLAYERS, action="add", name="kim", password="12345678").status == 302
    kim = Editor(workshop, "KIM", "12345678")
    assert b"canAct=False" in kim.get("/admin/id").body
    assert admin.post(PLAYERS, action="rights", name="kim", act="yes", su="yes").status == 302
    assert b"player=nice+visitor" in kim.get("/admin/id").body  # asked to sign in again
    kim = Editor(workshop, "kim", "12345678")
    assert b"canAct=True&canAdmin=False&canSu=True" in kim.get("/admin/id").body
    assert admin.post(PLAYERS, action="password", name="kim", password="another one").status == 302
    key = Editor(workshop, "kim", "another one").key
    for fields, message in (
        ({"action": "add", "name": "kim", "password": "12345678"}, b"There is already a player kim"),
        ({"action": "add", "name": "lee", "password": "short"}, b"A password must have 8 to 200"),
        ({"action": "add", "name": "admin", "password": "12345678"}, b"UPSTAGE_ADMIN_PASSWORD"),
        ({"action": "remove"}, b"Please name a player."),
    ):
        response = admin.post(PLAYERS, **fields)
        assert response.status == 400
        assert message in response.body
    on_stage, later = workshop.connect(), workshop.connect()
    assert join(on_stage, key)[-1].startswith(b"pCount=1&")
    assert admin.post(PLAYERS, action="remove", name="kim").status == 302
    assert on_stage.frames_until(b"mode=RELOAD")
    assert join(later, key)[-1].startswith(b"pCount=0&")  # the key is invalid
    for client in (on_stage, later):
        client.close()
    page = admin.get(PLAYERS).body
    assert b"kim" not in page
    assert b"<b>admin</b>" in page  # not a player, but has an account
    assert b"this address: <b>http://localhost:8080/admin/</b>" in page


def test_signing_up_creates_a_player_and_is_limited(workshop: Backend) -> None:
    def visit(address: str, name: str, password: str) -> int:
        cookie, csrf = opened(workshop, "/signup")
        body = urlencode({"csrf": csrf, "username": name, "password": password}).encode()
        return ask(workshop, "/signup", "POST", body, Cookie=cookie, X_Real_IP=address, **FORM).status

    assert visit("192.0.2.1", "newcomer", "12345678") == 302
    assert b"canAct=True&canAdmin=False" in Editor(workshop, "newcomer", "12345678").get("/admin/id").body
    assert visit("192.0.2.1", "newcomer", "12345678") == 400
    assert visit("192.0.2.1", "x y", "12345678") == 400
    assert [visit("192.0.2.1", f"n{n}", "12345678") for n in range(3)] == [302, 302, 429]
    assert ask(workshop, "/signup", "POST", b"username=a&password=12345678").status == 415


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0\0\0\1" * 2 + b"x" * 13  # one pixel


def padded(size: int) -> bytes:
    return PNG + b"x" * (size - len(PNG) - 8) + b"IEND\xaeB`\x82"


def test_the_size_limit_depends_on_the_role(workshop: Backend, editor: Editor, admin: Editor) -> None:
    editor.bring("Just", "backdrop", padded(1_000_000))
    admin.bring("Big", "backdrop", padded(2_000_000))
    for who, size in ((editor, 1_000_001), (admin, 2_000_001), (editor, 5_000_000)):
        response = who.upload(MEDIA, padded(size), name="Too big", kind="backdrop")
        assert response.status == 413
        assert b"The file is too large" in response.body
    assert not list(workshop.media.glob(".upload-*"))


@pytest.mark.parametrize(
    ("data", "fields", "status", "message"),
    [
        (b"MZ\x90", {}, 415, b"not in a supported format"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", {}, 415, b"&lt;script&gt;"),
        (b"", {}, 400, b"Choose a file first"),
        (DRAWING, {"kind": "audio"}, 415, b"SVG file is a picture"),
        (DRAWING, {"kind": "spaceship"}, 400, b"The kind of a file must be one of"),
        (DRAWING, {"name": " "}, 400, b"The name of a file must have"),
        (DRAWING, {"name": "x" * 2000}, 400, b"form is not valid"),
    ],
)
def test_a_rejected_upload_says_why_and_leaves_nothing(
    workshop: Backend, editor: Editor, data: bytes, fields: dict[str, str], status: int, message: bytes
) -> None:
    before = sorted(workshop.media.rglob("*"))
    response = editor.upload(MEDIA, data, **{"name": "X", "kind": "prop", **fields})
    assert response.status == status
    assert message in response.body
    assert sorted(workshop.media.rglob("*")) == before


def test_a_form_that_no_page_of_this_site_sends_is_too_large(workshop: Backend) -> None:
    fields = b"&".join(b"a%d=1" % number for number in range(5000))
    response = ask(workshop, "/admin/login", "POST", fields, **FORM)
    assert (response.status, b"Any other form may have 20 fields" in response.body) == (413, True)
    response = ask(workshop, MEDIA, "POST", b"x" * 100_000, Content_Type=MULTIPART)  # without a session
    assert (response.status, b"2 MB, after signing in" in response.body) == (413, True)


def test_an_incomplete_upload_leaves_nothing(workshop: Backend, editor: Editor) -> None:
    whole = multipart({"csrf": editor.csrf, "name": "X", "kind": "prop"}, b"x" * 500_000)
    head = (
        f"POST {MEDIA} HTTP/1.1\r\nHost: localhost\r\nCookie: {editor.cookie}\r\n"
        f"Content-Type: {MULTIPART}\r\nContent-Length: {len(whole)}\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", workshop.web_port), 5) as connection:
        connection.sendall(head + whole[:300_000])
        on_disk = lambda: sum(path.stat().st_size for path in workshop.media.glob(".upload-*"))  # noqa: E731
        workshop.wait_for(lambda: on_disk() > 200_000)
    workshop.wait_for(lambda: not list(workshop.media.glob(".upload-*")))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--the-seam--\r\n",
        b"no multipart at all",
        b"--the-seam\r\n\r\nno header\r\n--the-seam--\r\n",
        b"--the-seam\r\n" + b"X: " + b"y" * 20_000,
        b"--the-seam\r\nContent-Disposition: form-data\r\n\r\nx\r\n--the-seam--\r\n",
        multipart({f"f{n}": "x" for n in range(50)}, DRAWING),
        multipart({}, DRAWING)[:-20],
    ],
)
def test_invalid_bodies_are_rejected(workshop: Backend, editor: Editor, body: bytes) -> None:
    response = ask(workshop, MEDIA, "POST", body, Cookie=editor.cookie, Content_Type=MULTIPART)
    assert response.status in (400, 403)
    assert not list(workshop.media.glob(".upload-*"))


def test_uploads_without_the_right_write_nothing(workshop: Backend, admin: Editor) -> None:
    before = sorted(workshop.media.rglob("*"))
    body = multipart({"csrf": admin.csrf}, padded(500_000))
    evil = {"Cookie": admin.cookie, "Origin": "http://evil.example"}
    for headers in ({}, {"Cookie": "upstage_session=x"}, evil):
        assert ask(workshop, MEDIA, "POST", body, Content_Type=MULTIPART, **headers).status in (403, 413)
    assert sorted(workshop.media.rglob("*")) == before


def test_a_file_cut_anywhere_arrives_whole(tmp_path: Path) -> None:
    body = multipart({"csrf": "t", "name": "Hat"}, b"\r\n--the-sea\r\n" * 20)
    for size in (1, 2, 3, 7, 50, len(body)):
        upload = Upload(b"the-seam", tmp_path, 1000, lambda token: token == "t", lambda: None)
        for start in range(0, len(body), size):
            upload.write(body[start : start + size])
        path = upload.take()
        assert path is not None
        assert path.read_bytes() == b"\r\n--the-sea\r\n" * 20
        assert upload.fields == {"csrf": "t", "name": "Hat"}
