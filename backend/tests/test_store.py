"""Data that survive a kill -9 and a restart, and changes from a shell while the server runs."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.tests.forked import run_upstage
from backend.tests.running_backend import DRAWING, PASSWORD, Backend, Editor, ask, join


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Backend]:
    """Return a function that starts a server, on the same folder each time."""

    def start(**environment: str) -> Backend:
        return Backend(tmp_path, **{"UPSTAGE_ADMIN_PASSWORD": PASSWORD, **environment})

    return start


Start = Callable[..., Backend]


def test_confirmed_changes_survive_a_kill_and_incomplete_uploads_do_not(start: Start) -> None:
    server = start()
    left = server.media / ".upload-abc"
    left.write_bytes(b"half a file")
    editor, client = Editor(server), server.on_stage()
    client.send_frames(b"msg=ahoy&mode=TEXT")
    client.frames_until(b"text=ahoy&mode=ANONTEXT")  # a line that was sent is on the disk
    dot = editor.bring("Dot")
    assert editor.post("/admin/workshop/stages/demo", action="put", file=dot).status == 302
    assert editor.post("/admin/workshop/stages/demo", action="take", kind="prop", id="1").status == 302
    assert editor.post("/admin/workshop/players", action="add", name="ann", password="12345678").status == 302
    server.kill()
    server = start()
    assert not left.exists()
    assert ask(server, "/stages/demo/log").body.count(b"<li> ahoy</li>") == 1
    assert any(b"ahoy" in frame and b"mode=LOAD_CHAT" in frame for frame in join(server.connect()))
    assert ask(server, f"/media/{dot}").body == DRAWING % b"Dot"
    demo = Editor(server).get("/admin/workshop/stages/demo").body
    assert (b'value="Dot"' in demo, b'value="Lantern"' in demo) == (True, False)
    Editor(server, "ann", "12345678")


def test_the_scene_and_a_sign_in_survive_a_kill_and_a_sign_out_does_too(start: Start) -> None:
    server = start()
    editor, left = Editor(server), Editor(server)
    client = server.on_stage(key=editor.key)
    client.send_frames(b"ID=1&mode=AV", b"X=33&Y=44&mode=MOVE", b"ID=1&mode=PROP", b"ID=2&mode=BACKDROP")
    client.send_frames(b"layer=1&mode=DRAW_LAYER", b"x=5&y=6&mode=DRAW_LINE")
    seen = client.frames_until(b"x=5&y=6&mode=DRAW_LINE")  # changes that were seen are on the disk
    assert b"ID=1&X=33.0&Y=44.0&Z=0&mode=AV_POS" in seen
    assert left.post("/admin/logout").status == 302
    server.kill()
    server = start()
    editor.backend = left.backend = server
    assert b"player=admin" in editor.get("/admin/id").body
    assert b"player=nice+visitor" in left.get("/admin/id").body
    client = server.connect()
    frames = join(client)
    assert b"layer=1&x=5&y=6&mode=DRAW_LINE" in frames
    [shown] = [frame for frame in frames if b"show=True" in frame and frame.endswith(b"LOAD_BACKDROP")]
    assert shown.startswith(b"ID=2&")
    client.send_frames(b"mode=LOADED")
    frames = client.frames_until(b"mode=CONFIRM_LOADED")
    assert b"ID=1&X=33.0&Y=44.0&Z=0&mode=AV_POS" in frames
    assert b"ID=1&prop=1&mode=BINDPROP" in frames
    assert server.upstage("stage", "reset", "demo")[0] == 0
    server.kill()  # a reset is forever
    frames = join(start().connect())
    assert not any(frame.endswith(b"DRAW_LINE") for frame in frames)


def test_the_administrators_password_can_be_set_later(start: Start) -> None:
    server = start(UPSTAGE_ADMIN_PASSWORD="")
    status, generated, _ = server.upstage("admin-password")
    assert status == 0
    Editor(server, "admin", generated.strip())
    server.end()
    server = start(UPSTAGE_ADMIN_PASSWORD="another one")
    Editor(server, "admin", "another one")
    server.end()
    server = start(UPSTAGE_ADMIN_PASSWORD="")
    assert server.upstage("admin-password") == (0, generated, "")
    assert server.upstage("admin-password", UPSTAGE_ADMIN_PASSWORD="mine") == (0, "mine\n", "")
    Editor(server, "admin", generated.strip())


def test_commands_change_players_while_the_server_runs(start: Start) -> None:
    server = start()
    admin = Editor(server)
    arguments = ("player", "add", "Ann", "--rights", "act,admin")
    assert server.upstage(*arguments, stdin="12345678\n") == (0, "", "")
    assert server.upstage("player", "list") == (0, "Ann\tact,admin\n", "")
    server.wait_for(lambda: b">Ann<" in admin.get("/admin/workshop/players").body)
    ann = Editor(server, "ann", "12345678")
    assert ann.get("/admin/workshop/stages").status == 200
    assert ann.get("/admin/workshop/players").status == 403
    assert server.upstage("player", "passwd", "Ann", stdin="87654321\n") == (0, "", "")
    server.wait_for(lambda: ann.get("/admin/workshop/stages").status == 302)  # it ends old sessions
    Editor(server, "Ann", "87654321")
    assert server.upstage("player", "remove", "ann") == (0, "", "")
    assert server.upstage("player", "list") == (0, "", "")


def test_commands_change_stages_while_the_server_runs(start: Start) -> None:
    server = start()
    assert server.upstage("stage", "add", "garden", "--name", "The garden") == (0, "", "")
    server.wait_for(lambda: ask(server, "/stages/garden").status == 200)
    _, stages, _ = server.upstage("stage", "list")
    assert "garden\tThe garden\n" in stages
    clients = demo, garden = server.on_stage(), server.on_stage(b"garden")

    def spoken_on() -> list[str]:
        return [id for id in ("demo", "garden") if b"ahoy" in ask(server, f"/stages/{id}/log").body]

    for client in clients:
        client.send_frames(b"msg=ahoy&mode=TEXT")
        client.frames_until(b"mode=ANONTEXT")
    assert server.upstage("stage", "reset", "demo") == (0, "", "")
    demo.frames_until(b"mode=RELOAD")
    assert spoken_on() == ["garden"]
    assert server.upstage("stage", "reset") == (0, "", "")
    for client in clients:
        client.frames_until(b"mode=RELOAD")
    assert spoken_on() == []
    assert server.upstage("stage", "remove", "garden") == (0, "", "")
    assert garden.receive_frame().startswith(b"msg=This+stage+has+been+closed")
    assert ask(server, "/stages/garden").status == 404


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (("player", "add", "a b"), "12345678\n", "A player's name must have"),
        (("player", "add", "ann"), "", "A password must have 8 to 200"),
        (("player", "add", "Admin"), "12345678\n", "UPSTAGE_ADMIN_PASSWORD"),
        (("player", "passwd", "bob"), "12345678\n", "There is no player bob"),
        (("stage", "add", "a/b"), "", "A stage's address must have"),
    ],
)
def test_commands_name_errors(seeded: Backend, arguments: tuple[str, ...], stdin: str, message: str) -> None:
    status, out, error = seeded.upstage(*arguments, stdin=stdin)
    assert (status, out) == (1, "")
    assert error.startswith("upstage: ")
    assert message in error


@pytest.mark.parametrize("command", [("player", "list"), ("admin-password",)])
def test_a_command_before_the_first_start_creates_nothing(tmp_path: Path, command: tuple[str, ...]) -> None:
    status, out, error = run_upstage(*command, env=os.environ | {"UPSTAGE_DATA": str(tmp_path)})
    assert (status, out) == (1, "")
    assert "created when the server starts" in error or "no password yet" in error
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    server = Backend(tmp_path_factory.mktemp("seeded"))
    assert server.stop() == 0
    return server
