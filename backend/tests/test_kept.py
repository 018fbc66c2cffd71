"""The kept state of stages: a reset removes it, and foreign state is ignored. (Kills: test_store.py.)"""

import pytest

from backend.tests.demo_stage import demo_stage
from backend.tests.fake_clients import FakeClient, acting_player
from upstage.stage.kept import Kept, Mark, Standing
from upstage.stage.stage import Colours, Stage
from upstage.stage.stages import Stages
from upstage.stage.wire import encode
from upstage.state import scene
from upstage.state.in_memory import make_stage, reset
from upstage.state.records import StageRecord, Thing

THINGS = (
    Thing("avatar", 1, "Ann", "ann.svg", x=60.0, y=120.0),
    Thing("avatar", 2, "Bob", "bob.svg"),
    Thing("backdrop", 1, "Wood", "wood.svg"),
    Thing("backdrop", 2, "Sea", "sea.svg"),
    Thing("prop", 1, "Hat", "hat.svg"),
    Thing("audio", 1, "Bell", "audio/bell.mp3", type="sfx"),
)
RECORD = StageRecord("demo", "Demo", "Hello", Colours("0x112233", "0x445566", "0x778899", "0xAABBCC"), THINGS)
# Everything that a player can change on a stage, one frame after the other.
CHANGES: tuple[tuple[str, dict[str, object]], ...] = (
    ("AV", {"ID": 1}),
    ("MOVE", {"X": 10, "Y": 20, "Z": 3}),
    ("RENAME", {"name": "Zoe"}),
    ("FRAME", {"frameNumber": 2}),
    ("AVLAYER", {"ID": 2, "newlayer": 7}),
    ("AVPROPERTIES", {"ID": 1, "show_name": "hide"}),
    ("PROP", {"ID": 1}),
    ("BACKDROP", {"ID": 2}),
    ("BACKDROP_FRAME", {"frameNumber": 3}),
    ("DRAW_LAYER", {"layer": 2}),
    ("DRAW_STYLE", {"colour": 255, "thickness": 3, "alpha": 50}),
    ("DRAW_LINE", {"x": 5, "y": 6}),
    ("DRAW_VIS", {"layer": 1, "alpha": 20, "visible": "false"}),
    ("PLAY_CLIP", {"array": "effects", "url": "/media/audio/bell.mp3"}),
    ("APPLAUSE", {}),
    ("VOLUNTEER", {}),
    ("TEXT", {"msg": "hello"}),
)


def seen_by_a_newcomer(stages: Stages) -> list[str]:
    """Return the frames that an audience member gets at joining and loading, except the counts."""
    client = FakeClient(stages)
    client.send("mode=LOADED")
    client.leave()
    return [frame for frame in client.heard() if not frame.endswith(("mode=SET", "mode=JOINED"))]


@pytest.fixture
def stages() -> Stages:
    return Stages(clock=lambda: 100.0)


@pytest.fixture
def stage(stages: Stages) -> Stage:
    stage = make_stage(stages, RECORD, Kept())
    stages.add(stage)
    return stage


@pytest.mark.parametrize("change", range(len(CHANGES)), ids=[mode for mode, _ in CHANGES])
def test_no_change_outlives_a_reset(stages: Stages, stage: Stage, change: int) -> None:
    """Each change is tested separately, after those that it needs: a newcomer sees the stage as it was."""
    seeded = seen_by_a_newcomer(stages)
    player = FakeClient(stages, acting_player("ann"))
    for mode, fields in CHANGES[: change + 1]:
        before = seen_by_a_newcomer(stages)
        player.send(encode(mode, **fields)[:-1].decode())
    assert mode == "DRAW_LAYER" or seen_by_a_newcomer(stages) != before
    reset(stage, RECORD, Kept())
    assert seen_by_a_newcomer(stages) == seeded
    assert stage.held_by(player.member) is None
    assert stage.drawn_by(player.member) is None
    assert stage.backdrop_by is None
    assert stage.members == {player.member}


def test_lines_that_came_after_the_reset_stay(stage: Stage) -> None:
    """The database decides which lines came after the reset: it has removed the others."""
    stage.chat.extend([" before", " after"])
    reset(stage, RECORD, Kept([" after"]))
    assert list(stage.chat) == [" after"]


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
