"""The workshop over a real socket, with the real pages: players with and without rights."""

import re
from pathlib import Path

import pytest

from running_backend import DRAWING, FORM, Backend, Editor, PurgedCache, ask, join
from upstage.net.purge import tag_of

STAGES, MEDIA, PLAYERS = (f"/admin/workshop/{page}" for page in ("stages", "media", "players"))
COLOURS = {"page": "#010203", "tools": "#040506", "backdrop_and_prop": "#070809", "chat": "#0a0b0c"}
LOOKS = {"splash": "Hello\r\nyou", **COLOURS}


@pytest.fixture
def backend(workshop: Backend) -> Backend:
    return workshop


def test_pages_require_rights(backend: Backend, admin: Editor, editor: Editor) -> None:
    admin.post(PLAYERS, action="add", name="pat", password="12345678", act="yes")
    player = Editor(backend, "pat", "12345678")
    assert b"Media" not in player.get("/admin/").body
    files = (f"{MEDIA}/fox.svg", f"{MEDIA}/audio/music-box.mp3")
    for path in (STAGES, f"{STAGES}/demo", MEDIA, *files, PLAYERS):
        assert ask(backend, path).status == 302  # to the login page
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


def test_a_stage_is_created_edited_and_removed(backend: Backend, editor: Editor) -> None:
    assert editor.post(STAGES, action="make", id="barn", name="The barn").status == 302
    client = backend.connect()
    client.send_frames(b"stage_ID=barn&mode=JOIN")
    client.frames_until(b"&mode=JOINED")

    saved = editor.post(f"{STAGES}/barn", action="save", name="The <big> barn", **LOOKS)
    assert saved.headers["location"].endswith("/admin/workshop/stages/barn?said=saved")
    assert client.receive_frame() == b"mode=RELOAD"
    assert b"Saved." in editor.get(f"{STAGES}/barn?said=saved").body
    assert b"The &lt;big&gt; barn" in ask(backend, "/stages/barn").body

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

    change = {"action": "change", "kind": "avatar", "id": "1", "name": "Cap"}
    assert editor.post(f"{STAGES}/barn", **change, x="1", y="2", voice="default").status == 302
    assert b'value="Cap"' in editor.get(f"{STAGES}/barn").body
    assert editor.post(f"{STAGES}/barn", action="take", kind="avatar", id="1").status == 302
    assert b'value="Cap"' not in editor.get(f"{STAGES}/barn").body
    assert editor.post(f"{STAGES}/barn", action="remove").status == 302
    assert client.frames_until(b"mode=ERR_DOUBLE_LOGIN")[-1].startswith(b"msg=This+stage+has+been+closed")
    assert editor.get(f"{STAGES}/barn").status == 404
    assert ask(backend, f"/media/{hat}").status == 200


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"action": "save", "name": "", **LOOKS}, b"The name of a stage must have"),
        ({"action": "save", "name": "x" * 101, **LOOKS}, b"The name of a stage must have"),
        ({"action": "save", "name": "x", **LOOKS, "chat": "red"}, b"is not a colour"),
        ({"action": "save", "name": "x", **LOOKS, "splash": " "}, b"The welcome text must have"),
        ({"action": "put", "file": "../x"}, b"Choose a file first"),
        ({"action": "put", "file": "fox.svg", "x": "left"}, b"must be two numbers"),
        ({"action": "put", "file": "fox.svg", "x": "nan"}, b"A position on the stage must lie"),
        ({"action": "put", "file": "fox.svg", "voice": "; rm"}, b"A voice must be"),
        ({"action": "put", "file": "audio/music-box.mp3", "type": "noise"}, b"The type of a sound must be"),
        ({"action": "change", "kind": "prop", "id": "99"}, b"no longer on the stage"),
        ({"action": "take", "kind": "prop", "id": "x"}, b"no longer on the stage"),
    ],
)
def test_errors_are_shown_on_the_page(editor: Editor, fields: dict[str, str], message: bytes) -> None:
    answer = editor.post(f"{STAGES}/rehearsal", **fields)
    assert answer.status == 400
    assert message in answer.body
    assert editor.post(STAGES, action="make", id="a b", name="x").status == 400
    assert editor.post(STAGES, action="make", id="demo", name="x").status == 400


def test_replacing_and_deleting_media_purges_and_reloads(
    backend: Backend, editor: Editor, cache: PurgedCache
) -> None:
    cup = editor.bring("Cup")
    first = ask(backend, f"/media/{cup}")
    assert editor.post(f"{STAGES}/rehearsal", action="put", file=cup).status == 302
    client = backend.connect()
    client.send_frames(b"stage_ID=rehearsal&mode=JOIN")
    client.frames_until(b"&mode=JOINED")
    cache.forget_requests()
    purge = tag_of(cup)
    replaced = editor.upload(f"{MEDIA}/{cup}", DRAWING % b"another")
    assert replaced.headers["location"].endswith(f"/{cup}?said=replaced")
    assert cache.tags == [purge]
    assert client.receive_frame() == b"mode=RELOAD"
    backend.wait_for(lambda: cache.tags == [purge, purge])
    second = ask(backend, f"/media/{cup}")
    assert second.body == DRAWING % b"another"
    assert second.headers["etag"] != first.headers["etag"]
    assert b"<svg" in ask(backend, f"/media/thumb/{cup}").body
    for url in (f"/media/{cup}", f"/media/thumb/{cup}"):
        assert ask(backend, url).headers["x-cache-tags"] == f"media {purge}"

    refused = editor.upload(f"{MEDIA}/{cup}", b"GIF89a" + b"\0" * 20 + b";")
    assert refused.status == 415
    assert b"a GIF file cannot replace it" in refused.body

    cache.forget_requests()
    assert editor.post(f"{MEDIA}/{cup}", action="delete").headers["location"].endswith("?said=removed")
    assert cache.tags == [purge]
    assert client.receive_frame() == b"mode=RELOAD"
    assert ask(backend, f"/media/{cup}").status == 404
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


def test_an_administrator_manages_players(backend: Backend, admin: Editor) -> None:
    assert admin.post(PLAYERS, action="add", name="kim", password="12345678").status == 302
    kim = Editor(backend, "KIM", "12345678")
    assert b"canAct=False" in kim.get("/admin/id").body
    assert admin.post(PLAYERS, action="rights", name="kim", act="yes", su="yes").status == 302
    assert b"player=nice+visitor" in kim.get("/admin/id").body  # asked to sign in again
    kim = Editor(backend, "kim", "12345678")
    assert b"canAct=True&canAdmin=False&canSu=True" in kim.get("/admin/id").body
    assert admin.post(PLAYERS, action="password", name="kim", password="another one").status == 302
    Editor(backend, "kim", "another one")
    for fields, message in (
        ({"action": "add", "name": "kim", "password": "12345678"}, b"There is already a player kim"),
        ({"action": "add", "name": "lee", "password": "short"}, b"A password must have 8 to 200"),
        ({"action": "add", "name": "admin", "password": "12345678"}, b"UPSTAGE_ADMIN_PASSWORD"),
        ({"action": "remove", "name": "lee"}, b"There is no player lee"),
        ({"action": "remove"}, b"Please name a player."),
    ):
        answer = admin.post(PLAYERS, **fields)
        assert answer.status == 400
        assert message in answer.body
    assert admin.post(PLAYERS, action="remove", name="kim").status == 302
    page = admin.get(PLAYERS).body
    assert b"kim" not in page
    assert b"<b>admin</b>" in page  # not a player, but has an account
    assert b"this address: <b>http://localhost:8080/admin/</b>" in page


def test_a_removed_players_key_is_invalid(backend: Backend, admin: Editor) -> None:
    admin.post(PLAYERS, action="add", name="zoe", password="12345678", act="yes")
    key = re.search(rb"key=([0-9a-f]+)", Editor(backend, "zoe", "12345678").get("/admin/id").body)
    assert key
    on_stage = backend.connect()
    assert join(on_stage, key[1])[-1].startswith(b"pCount=1&")
    admin.post(PLAYERS, action="remove", name="zoe")
    assert on_stage.frames_until(b"mode=RELOAD")
    client = backend.connect()
    assert join(client, key[1])[-1].startswith(b"pCount=0&")
    client.close()
    on_stage.close()


def test_signing_up_creates_a_player_and_is_limited(backend: Backend) -> None:
    def visit(address: str, name: str, password: str) -> int:
        page = ask(backend, "/signup")
        cookie, csrf = page.headers["set-cookie"].split(";")[0], re.findall(rb"[0-9a-f]{64}", page.body)[0]
        body = b"csrf=%s&username=%s&password=%s" % (csrf, name.encode(), password.encode())
        return ask(backend, "/signup", "POST", body, Cookie=cookie, X_Real_IP=address, **FORM).status

    assert visit("192.0.2.1", "newcomer", "12345678") == 302
    assert b"canAct=True&canAdmin=False" in Editor(backend, "newcomer", "12345678").get("/admin/id").body
    assert visit("192.0.2.1", "newcomer", "12345678") == 400
    assert visit("192.0.2.1", "x y", "12345678") == 400
    assert [visit("192.0.2.1", f"n{n}", "12345678") for n in range(3)] == [302, 302, 429]
    assert ask(backend, "/signup", "POST", b"username=a&password=12345678").status == 415


def test_sign_up_is_closed_by_default(tmp_path: Path) -> None:
    server = Backend(tmp_path)
    page = ask(server, "/signup")
    assert page.status == 200
    assert b"upstage player add" in page.body
    assert b"<form" not in page.body
    assert ask(server, "/signup", "POST", b"username=a&password=12345678").status == 403
    assert server.stop() == 0
