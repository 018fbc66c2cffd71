"""What stages keep: it survives a kill, and what is no state of theirs is ignored."""

from pathlib import Path

import pytest

from demo_stage import demo_stage
from running_backend import Backend, Editor, join
from upstage.stage.kept import Kept, Mark, Standing
from upstage.stage.stages import Stages
from upstage.state import scene


def test_the_scene_and_a_sign_in_survive_a_kill_and_a_sign_out_does_too(tmp_path: Path) -> None:
    server = Backend(tmp_path, UPSTAGE_ADMIN_PASSWORD="open sesame")
    editor, left = Editor(server), Editor(server)
    key = editor.get("/admin/id").body.partition(b"key=")[2].partition(b"&")[0]
    client = server.connect()
    join(client, key)
    client.send_frames(b"ID=1&mode=AV", b"X=33&Y=44&mode=MOVE", b"ID=1&mode=PROP", b"ID=2&mode=BACKDROP")
    client.send_frames(b"layer=1&mode=DRAW_LAYER", b"x=5&y=6&mode=DRAW_LINE")
    seen = client.frames_until(b"x=5&y=6&mode=DRAW_LINE")  # what was seen is on the disk
    assert b"ID=1&X=33.0&Y=44.0&Z=0&mode=AV_POS" in seen
    assert left.post("/admin/logout").status == 302
    server.kill()
    server = Backend(tmp_path, UPSTAGE_ADMIN_PASSWORD="open sesame")
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
    frames = join(Backend(tmp_path).connect())
    assert not any(frame.endswith(b"DRAW_LINE") for frame in frames)


ANN = {"url": "/media/ann.svg", "x": 1.0, "y": 2.0, "z": 0, "frame": 1, "layer": 10010, "show_name": True}
NOT_OURS = [
    Standing("avatar", 1, "no JSON"),
    Standing("avatar", 1, "[]"),
    Standing("avatar", 1, "9" * 5000),
    Standing("avatar", 1, "[" * 100_000),
    Standing.of("avatar", 1, ANN | {"x": "nan"}),
    Standing.of("avatar", 1, ANN | {"url": "/media/another.svg"}),  # another picture has this ID now
    Standing.of("avatar", 1, {"url": "/media/ann.svg"}),
    Standing.of("avatar", 9, ANN),
    Standing.of("stage", 0, {"backdrop": 9, "applause": False, "volunteer": False}),
    Standing.of("prop", 1, {"url": "/media/hat.svg", "holder": 7}),
    Standing("layer", 1, "{}"),
]


@pytest.mark.parametrize("standing", NOT_OURS, ids=range(len(NOT_OURS)))
def test_a_state_that_fits_nothing_is_ignored(standing: Standing) -> None:
    stage = demo_stage(Stages())
    scene.restore(stage, Kept(standings=[standing]))
    before = demo_stage(Stages())
    assert [thing.standing() for thing in stage.pictures] == [thing.standing() for thing in before.pictures]


@pytest.mark.parametrize(
    "mark", [Mark(7, b"mode=DRAW_CLEAR"), Mark(0, b"x"), Mark(0, b"x=nan&y=1&mode=DRAW_LINE")]
)
def test_a_mark_that_is_none_is_ignored(mark: Mark) -> None:
    stage = demo_stage(Stages())
    line = Mark(0, b"layer=0&x=1&y=1&mode=DRAW_LINE")
    scene.restore(stage, Kept(marks=[mark, line]))
    assert list(stage.layers[0].replay())[1:] == [line.frame + b"\0"]


def test_a_name_from_elsewhere_forges_no_line_of_the_chat() -> None:
    stage = demo_stage(Stages())
    scene.restore(stage, Kept(standings=[Standing.of("avatar", 1, ANN | {"name": "Eve> hello\n<Bob"})]))
    assert stage.avatars[0].name == "Eve hello Bob"
