"""The workshop over a real socket, with the real pages: makers, administrators, and everybody else."""

import re
from pathlib import Path

import pytest

from theatre import DRAWING, Cache, Maker, Server, ask, bring

STAGES, MEDIA, PLAYERS = (f"/admin/workshop/{page}" for page in ("stages", "media", "players"))
LOOKS = {
    "splash": "Hello\r\nyou",
    "page": "#010203",
    "tools": "#040506",
    "backdrop_and_prop": "#070809",
    "chat": "#0a0b0c",
}


@pytest.fixture
def backend(workshop: Server) -> Server:
    return workshop


def test_pages_are_for_those_who_may(backend: Server, admin: Maker, maker: Maker) -> None:
    admin.post(PLAYERS, action="add", name="pat", password="12345678", act="yes")
    player = Maker(backend, "pat", "12345678")
    assert b"Media" not in player.get("/admin/").body
    for path in (
        STAGES,
        f"{STAGES}/demo",
        MEDIA,
        f"{MEDIA}/fox.svg",
        f"{MEDIA}/audio/music-box.mp3",
        PLAYERS,
    ):
        assert ask(backend, path).status == 302  # to the login page
        assert player.get(path).status == 403
        assert player.post(path, action="remove").status == 403
        page = admin.get(path)
        assert page.status == 200
        assert page.headers["Cache-Control"] == "no-store"
        assert not re.search(rb"<script(?! type=\"module\" src)| style=|<style| on[a-z]+=", page.body)
        assert maker.get(path).status == (403 if path == PLAYERS else 200)
        assert admin.get(path + "/nothing").status == 404


def test_a_form_without_its_token_does_nothing(maker: Maker, admin: Maker) -> None:
    for csrf in ("", "0" * 64, admin.csrf):
        assert maker.post(STAGES, csrf=csrf, action="make", id="evil", name="Evil").status == 403
        assert maker.upload(MEDIA, DRAWING, csrf=csrf, name="Evil", kind="prop").status == 403
    assert b"Evil" not in maker.get(STAGES).body + maker.get(MEDIA).body
    assert maker.post(STAGES, action="__class__").status == 400


def test_the_life_of_a_stage(backend: Server, maker: Maker) -> None:
    assert maker.post(STAGES, action="make", id="barn", name="The barn").status == 302
    client = backend.connect()
    client.send(b"stage_ID=barn&mode=JOIN")
    client.until(b"&mode=JOINED")

    saved = maker.post(f"{STAGES}/barn", action="save", name="The <big> barn", **LOOKS)
    assert saved.headers["Location"].endswith("/admin/workshop/stages/barn?said=saved")
    assert client.receive() == b"mode=RELOAD"
    assert b"Saved." in maker.get(f"{STAGES}/barn?said=saved").body
    assert b"The &lt;big&gt; barn" in ask(backend, "/stages/barn").body

    hat, bell = bring(maker, "Hat", "avatar"), "audio/curtain-bell.mp3"
    put = {"action": "put", "x": "20.5", "y": "100", "voice": "en-us"}
    assert maker.post(f"{STAGES}/barn", file=hat, **put).status == 302
    assert client.receive() == b"mode=RELOAD"
    assert maker.post(f"{STAGES}/barn", action="put", file=bell, name="Ding", type="music").status == 302
    assert client.receive() == b"mode=RELOAD"
    client.send(b"stage_ID=barn&mode=JOIN")
    frames = b"\n".join(client.until(b"&mode=LOAD_CHAT"))
    assert b"ID=1&name=Hat&url=%2Fmedia%2F" + hat.encode() in frames
    assert b"ID=1&name=Ding&url=curtain-bell.mp3&type=music" in frames
    assert b"bgcolour=0x070809&mode=BACKDROPANDPROP_COLOUR" in frames
    assert b"msg=Hello%0Ayou&mode=SPLASH_DETAILS" in frames
    client.until(b"&mode=JOINED")
    client.send(b"mode=LOADED")
    assert b"ID=1&X=20.5&Y=100.0&Z=0&mode=AV_POS" in client.until(b"mode=CONFIRM_LOADED")

    change = {"action": "change", "kind": "avatar", "id": "1", "name": "Cap"}
    assert maker.post(f"{STAGES}/barn", **change, x="1", y="2", voice="default").status == 302
    assert b'value="Cap"' in maker.get(f"{STAGES}/barn").body
    assert maker.post(f"{STAGES}/barn", action="take", kind="avatar", id="1").status == 302
    assert b'value="Cap"' not in maker.get(f"{STAGES}/barn").body
    assert maker.post(f"{STAGES}/barn", action="remove").status == 302
    assert client.until(b"mode=ERR_DOUBLE_LOGIN")[-1].startswith(b"msg=This+stage+has+been+closed")
    assert maker.get(f"{STAGES}/barn").status == 404
    assert ask(backend, f"/media/{hat}").status == 200


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"action": "save", "name": "", **LOOKS}, b"The name of a stage has"),
        ({"action": "save", "name": "x" * 101, **LOOKS}, b"The name of a stage has"),
        ({"action": "save", "name": "x", **LOOKS, "chat": "red"}, b"is not a colour"),
        ({"action": "save", "name": "x", **LOOKS, "splash": " "}, b"The welcome has"),
        ({"action": "put", "file": "../x"}, b"Choose a file first"),
        ({"action": "put", "file": "fox.svg", "x": "left"}, b"two numbers"),
        ({"action": "put", "file": "fox.svg", "x": "nan"}, b"A place on the stage is"),
        ({"action": "put", "file": "fox.svg", "voice": "; rm"}, b"A voice is"),
        ({"action": "put", "file": "audio/music-box.mp3", "type": "noise"}, b"A sound is one of"),
        ({"action": "change", "kind": "prop", "id": "99"}, b"not on the stage any more"),
        ({"action": "take", "kind": "prop", "id": "x"}, b"not on the stage any more"),
    ],
)
def test_mistakes_are_shown_on_the_page(maker: Maker, fields: dict[str, str], message: bytes) -> None:
    answer = maker.post(f"{STAGES}/rehearsal", **fields)
    assert answer.status == 400
    assert message in answer.body
    assert maker.post(STAGES, action="make", id="a b", name="x").status == 400
    assert maker.post(STAGES, action="make", id="demo", name="x").status == 400


def test_replacing_and_deleting_media_purges_and_reloads(backend: Server, maker: Maker, cache: Cache) -> None:
    cup = bring(maker, "Cup")
    first = ask(backend, f"/media/{cup}")
    assert maker.post(f"{STAGES}/rehearsal", action="put", file=cup).status == 302
    client = backend.connect()
    client.send(b"stage_ID=rehearsal&mode=JOIN")
    client.until(b"&mode=JOINED")
    cache.asked.clear()
    purge = f"PURGE / medium-{cup.replace('.', '-')}"
    replaced = maker.upload(f"{MEDIA}/{cup}", DRAWING % b"another")
    assert replaced.headers["Location"].endswith(f"/{cup}?said=replaced")
    assert cache.asked == [purge]
    assert client.receive() == b"mode=RELOAD"
    backend.wait_for(lambda: cache.asked == [purge, purge], "second purge")
    second = ask(backend, f"/media/{cup}")
    assert second.body == DRAWING % b"another"
    assert second.headers["ETag"] != first.headers["ETag"]
    assert b"<svg" in ask(backend, f"/media/thumb/{cup}").body
    for url in (f"/media/{cup}", f"/media/thumb/{cup}"):
        assert f"PURGE / {ask(backend, url).headers['X-Cache-Tags']}" == purge

    refused = maker.upload(
        f"{MEDIA}/{cup}", b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"
    )
    assert refused.status == 415
    assert b"a GIF file cannot take its place" in refused.body

    cache.asked.clear()
    assert maker.post(f"{MEDIA}/{cup}", action="delete").headers["Location"].endswith("?said=removed")
    assert cache.asked == [purge]
    assert client.receive() == b"mode=RELOAD"
    assert ask(backend, f"/media/{cup}").status == 404
    assert maker.get(f"{MEDIA}/{cup}").status == 404
    assert b'value="Cup"' not in maker.get(f"{STAGES}/rehearsal").body


def test_a_cache_that_does_not_purge_is_reported(maker: Maker, cache: Cache) -> None:
    cup = bring(maker, "Glass")
    cache.status, before = "405 No", len(cache.asked)
    try:
        assert maker.upload(f"{MEDIA}/{cup}", DRAWING).headers["Location"].endswith("?said=not-purged")
    finally:
        cache.status = "200 Purged"
    assert len(cache.asked) == before + 2
    assert b"could not be told" in maker.get(f"{MEDIA}/{cup}?said=not-purged").body


def test_players(backend: Server, admin: Maker) -> None:
    assert admin.post(PLAYERS, action="add", name="kim", password="12345678").status == 302
    kim = Maker(backend, "KIM", "12345678")
    assert b"canAct=False" in kim.get("/admin/id").body
    assert admin.post(PLAYERS, action="rights", name="kim", act="yes", su="yes").status == 302
    assert b"player=nice+visitor" in kim.get("/admin/id").body  # asked to sign in again
    kim = Maker(backend, "kim", "12345678")
    assert b"canAct=True&canAdmin=False&canSu=True" in kim.get("/admin/id").body
    assert admin.post(PLAYERS, action="password", name="kim", password="another one").status == 302
    Maker(backend, "kim", "another one")
    for fields, message in (
        ({"action": "add", "name": "kim", "password": "12345678"}, b"There is a player kim already"),
        ({"action": "add", "name": "lee", "password": "short"}, b"A password has 8 to 200"),
        ({"action": "add", "name": "admin", "password": "12345678"}, b"UPSTAGE_ADMIN_PASSWORD"),
        ({"action": "remove", "name": "lee"}, b"There is no player lee"),
        ({"action": "remove"}, b"Which player?"),
    ):
        answer = admin.post(PLAYERS, **fields)
        assert answer.status == 400
        assert message in answer.body
    assert admin.post(PLAYERS, action="remove", name="kim").status == 302
    assert b"kim" not in admin.get(PLAYERS).body


def test_a_removed_players_key_is_worth_nothing(backend: Server, admin: Maker) -> None:
    admin.post(PLAYERS, action="add", name="zoe", password="12345678", act="yes")
    key = re.search(rb"key=([0-9a-f]+)", Maker(backend, "zoe", "12345678").get("/admin/id").body)
    assert key
    on_stage = backend.connect()
    assert on_stage.join(key[1])[-1].startswith(b"pCount=1&")
    admin.post(PLAYERS, action="remove", name="zoe")
    assert on_stage.until(b"mode=RELOAD")
    client = backend.connect()
    assert client.join(key[1])[-1].startswith(b"pCount=0&")
    client.close()
    on_stage.close()


def test_signing_up(backend: Server) -> None:
    def visit(address: str, name: str, password: str) -> int:
        page = ask(backend, "/signup")
        cookie, csrf = page.headers["Set-Cookie"].split(";")[0], re.findall(rb"[0-9a-f]{64}", page.body)[0]
        body = b"csrf=%s&username=%s&password=%s" % (csrf, name.encode(), password.encode())
        kind = "application/x-www-form-urlencoded"
        answer = ask(backend, "/signup", "POST", body, Cookie=cookie, Content_Type=kind, X_Real_IP=address)
        return answer.status

    assert visit("192.0.2.1", "newcomer", "12345678") == 302
    assert b"canAct=True&canAdmin=False" in Maker(backend, "newcomer", "12345678").get("/admin/id").body
    assert visit("192.0.2.1", "newcomer", "12345678") == 400
    assert visit("192.0.2.1", "x y", "12345678") == 400
    assert [visit("192.0.2.1", f"n{n}", "12345678") for n in range(3)] == [302, 302, 429]
    assert ask(backend, "/signup", "POST", b"username=a&password=12345678").status == 415


def test_signing_up_is_closed_unless_the_house_says_otherwise(tmp_path: Path) -> None:
    server = Server(tmp_path, ["-m", "upstage", "serve"])
    page = ask(server, "/signup")
    assert page.status == 200
    assert b"upstage player add" in page.body
    assert b"<form" not in page.body
    assert ask(server, "/signup", "POST", b"username=a&password=12345678").status == 403
    assert server.stop() == 0
