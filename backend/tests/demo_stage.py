"""The stage `demo` that most tests use; one of its two avatars is off stage."""

from typing import TypeVar

from upstage.stage.stage import Colours, Host, Stage
from upstage.stage.stages import Stages
from upstage.stage.things import Audio, Avatar, Backdrop, Prop

S = TypeVar("S", bound=Stages)


def demo_stage(host: Host) -> Stage:
    return Stage(
        host,
        id="demo",
        name="Demo Stage",
        splash="Welcome & enjoy",
        colours=Colours("0x112233", "0x445566", "0x778899", "0xAABBCC"),
        avatars=[Avatar(1, "Ann", "/media/ann.svg", 60.0, 120.5), Avatar(2, "Bo~b", "/media/bob.svg")],
        backdrops=[Backdrop(1, "Wood", "/media/wood.svg"), Backdrop(2, "Sea", "/media/sea.svg")],
        props=[Prop(1, "Hat", "/media/hat.svg")],
        audios=[Audio(1, "Bell", "bell.mp3", "sfx")],
        backdrop_shown=1,
    )


def with_demo(stages: S) -> S:
    """Return `stages` with the demo stage added."""
    stages.add(demo_stage(stages))
    return stages
