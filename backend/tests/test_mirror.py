"""Two servers with separate data: one is active; all clients move to the other one and back together."""

import os
import signal
import time
from collections.abc import Iterator
from urllib.parse import parse_qsl

import pytest
import websocket

from running_backend import DRAWING, Editor, PurgedCache, ask
from running_pair import Pair, say
from support import http
from support.stage_client import StageClient, WebStageClient
from support.wait import wait_until
from upstage.net.purge import ALL_MEDIA


@pytest.fixture(scope="module")
def cache() -> Iterator[PurgedCache]:
    cache = PurgedCache()
    yield cache
    cache.close()


@pytest.fixture(scope="module")
def running(cache: PurgedCache) -> Iterator[Pair]:
    running = Pair(UPSTAGE_PURGE=cache.address)
    yield running
    running.end()


@pytest.fixture
def pair(running: Pair, cache: PurgedCache) -> Pair:
    """A backend that serves, and a mirror that is ready to take over."""
    running.start()
    cache.forget_requests()
    return running


def assert_cut_off(client: StageClient) -> None:
    """The server closes the connection, though the client does nothing; raise TimeoutError if not."""

    def read_all() -> None:
        while True:
            client.receive_frame()

    with pytest.raises((EOFError, ConnectionError, websocket.WebSocketException)):
        read_all()


def test_all_clients_move_to_the_mirror_and_back(pair: Pair) -> None:
    """A killed backend, which comes back: what was said before and meanwhile is not lost."""
    talker, idle, web = pair.joined(), pair.joined(), WebStageClient(pair.backend.web_port)
    say(talker, "before the failure")
    pair.backend.kill()
    for client in (talker, idle, web):
        assert_cut_off(client)
    pair.wait_until_serves(pair.mirror)
    assert http.request(pair.web, "/health").status == 200
    link = pair.control_folder / "media"  # for nginx
    assert link.readlink() == pair.mirror.media
    assert "before the failure" in pair.stage()
    talker, idle, web = pair.joined(), pair.joined(), WebStageClient(pair.mirror.web_port)
    say(talker, "during the failure")
    assert idle.until("ANONTEXT")[-1]["text"] == "during the failure"

    pair.backend.start()  # the rest happens by itself
    for client in (talker, idle, web):
        assert_cut_off(client)
    pair.wait_until_serves(pair.backend)
    wait_until(lambda: pair.mirror.stands_by)
    assert link.readlink() == pair.backend.media
    stage = pair.stage()
    assert stage.index("before the failure") < stage.index("during the failure")
    assert stage.count("the failure") == 2
    late, later = pair.joined(), pair.joined()
    say(late, "after it")
    assert later.until("ANONTEXT")[-1]["text"] == "after it"
    assert pair.mirror.upstage("healthcheck")[0] == 0
    assert pair.mirror.stop() == -signal.SIGTERM


def test_what_was_written_moves_along_and_what_was_in_memory_is_lost(pair: Pair) -> None:
    backend, mirror = pair.backend, pair.mirror
    editor = Editor(backend)
    editor.post("/admin/workshop/players", action="add", name="mia", password="12345678", act="yes")
    hat = editor.bring("Hat")
    assert editor.post("/admin/workshop/stages/demo", action="put", file=hat).status == 302
    before = ask(backend, f"/media/{hat}")
    assert editor.get("/admin/workshop/media").status == 200
    player = pair.connect()
    player.join(dict(parse_qsl(editor.get("/admin/id").text))["key"])
    player.send("AV", ID="1")
    player.send("MOVE", X="17.5", Y="33")
    player.until("AV_POS")
    player.send("DRAW_LAYER", layer="2")
    player.send("DRAW_LINE", x="3", y="4")
    player.until("DRAW_LINE")
    assert "'17.5'" in pair.stage()
    assert "'DRAW_LINE'" in pair.stage()
    (backend.data / "speech" / "next-number").write_text("5000000000\n")
    (backend.data / "speech" / "utter-4999999999.mp3").write_bytes(b"a recording")

    assert backend.upstage("mirror", "--to", "mirror") == (0, "active: mirror\n", "")
    assert_cut_off(player)
    # Not lost: accounts, stages, media with their validators, the numbers of spoken lines.
    after = ask(mirror, f"/media/{hat}")
    assert (after.body, after.headers["etag"]) == (before.body, before.headers["etag"])
    assert hat in pair.stage()
    Editor(mirror, "mia", "12345678")
    assert (mirror.data / "speech" / "next-number").read_text() == "5000000000\n"
    # Lost: sessions, the places of avatars, drawings, recordings of spoken lines.
    editor.backend = mirror
    assert editor.get("/admin/workshop/media").status == 302  # to the login page
    assert "'17.5'" not in pair.stage()
    assert "'DRAW_LINE'" not in pair.stage()
    assert ask(mirror, "/speech/utter-4999999999.mp3").status == 404

    # The other way round: what is changed on the mirror is on the backend afterwards.
    editor = Editor(mirror)
    assert editor.upload(f"/admin/workshop/media/{hat}", DRAWING % b"another hat").status == 302
    coat = editor.bring("Coat")
    assert editor.post("/admin/workshop/players", action="remove", name="mia").status == 302
    assert mirror.upstage("mirror", "--to", "backend") == (0, "active: backend\n", "")
    assert ask(backend, f"/media/{hat}").body == DRAWING % b"another hat"
    assert ask(backend, f"/media/{coat}").status == 200
    with pytest.raises(AssertionError, match="wrong"):
        Editor(backend, "mia", "12345678")


def test_a_change_is_copied_within_two_seconds_and_on_demand(pair: Pair) -> None:
    editor = Editor(pair.backend)
    began = time.monotonic()
    hat = editor.bring("Hat")
    wait_until(lambda: (pair.mirror.media / hat).exists(), within=2)
    assert time.monotonic() - began < 2
    (pair.backend.media / "audio" / "new.mp3").write_bytes(b"12345" * 200)
    status, text, _ = pair.mirror.upstage("mirror")
    assert status == 0
    copied, state = text.splitlines()
    assert copied.startswith("copied: the database (")
    assert copied.endswith("; removed: 0")
    assert state == "active: backend; standby: mirror"
    assert (pair.mirror.media / "audio" / "new.mp3").exists()


def test_a_hanging_server_is_killed_and_its_clients_move(pair: Pair) -> None:
    client = pair.joined()
    client.socket.settimeout(15)
    os.kill(pair.backend.process.pid, signal.SIGSTOP)
    assert_cut_off(client)
    assert pair.backend.process.wait(5) == -signal.SIGKILL
    assert "the server hangs" in pair.backend.log.read_text()
    pair.wait_until_serves(pair.mirror)
    pair.joined()


def test_a_frozen_server_gives_up_within_a_second_of_its_return(pair: Pair) -> None:
    """Its watchdog is frozen with it, as by `docker pause`: for a moment both believe that they are
    active."""
    client = pair.joined()
    frozen = [pair.backend.process.pid, pair.backend.watchdog]
    for process in frozen:
        os.kill(process, signal.SIGSTOP)
    pair.wait_until_serves(pair.mirror)
    there = pair.joined()
    for process in frozen:
        os.kill(process, signal.SIGCONT)
    client.socket.settimeout(1)
    assert_cut_off(client)
    assert pair.backend.process.wait(2) == 1
    say(there, "still here")  # the first server has removed none of the second one's sockets
    assert "still here" in pair.stage()
    pair.backend.start()
    assert_cut_off(there)
    pair.wait_until_serves(pair.backend)
    assert "still here" in pair.stage()


def test_commands_that_write_are_rejected_on_the_standby(pair: Pair) -> None:
    status, _, errors = pair.mirror.upstage("stage", "add", "new")
    assert (status, errors) == (1, "upstage: mirror is the standby: run this command on backend\n")
    assert pair.backend.upstage("stage", "add", "new")[0] == 0


@pytest.mark.slow  # test_copying.py: the same, without servers; only the purge is seen here
def test_a_damaged_backend_takes_the_mirrors_data(pair: Pair, cache: PurgedCache) -> None:
    """The mirror keeps its copy, and gives it back. The cache drops media that may be newer than the copy."""
    say(pair.joined(), "remember this")
    assert pair.backend.upstage("mirror")[0] == 0
    pair.backend.kill()
    pair.backend.damage()
    pair.wait_until_serves(pair.mirror)
    assert pair.mirror.logged("taking over")[-1]["complete"] is False
    assert "remember this" in pair.stage()
    wait_until(lambda: cache.tags == [ALL_MEDIA] * 2)  # each purge is repeated
    cache.forget_requests()
    pair.backend.start()
    pair.wait_until_serves(pair.backend)
    assert "remember this" in pair.stage()
    assert cache.tags == []
