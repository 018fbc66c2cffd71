"""A model test: the stage's invariants hold, whatever clients send and in whatever order.

A `Screen` is a client's state after the frames that it received. The main invariant: a late joiner has the
same screen as the clients that saw everything. The second: no client changes a thing that another one holds.
The third: a stage that is restored from the database is the same.
"""

import sqlite3
from collections.abc import Callable, Sequence
from copy import deepcopy
from urllib.parse import urlencode

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from backend.tests.client_screen import Screen
from backend.tests.fake_clients import FakeClient, acting_player
from upstage.stage.kept import Change
from upstage.stage.layers import Layer
from upstage.stage.stage import Colours, Member, Stage
from upstage.stage.stages import Stages
from upstage.stage.things import Audio, Avatar, Backdrop, Prop
from upstage.state import scene
from upstage.state.schema import MIGRATIONS

Thing = Avatar | Backdrop | Layer

NAMES = ("ann", "bob", "eve")
IDS = st.sampled_from(["1", "2", "3", "1", "2", "0", "x"])
LAYERS = st.sampled_from(["0", "1", "2", "3", "0", "1", "4"])
PLACES = st.integers(-10, 400).map(str)
NUMBERS = st.one_of(PLACES, PLACES, st.floats(width=16).map(str), st.sampled_from(["nan", "", "x"]))
# The values of each mode's fields, valid and invalid.
MODES: dict[str, dict[str, st.SearchStrategy[str]]] = {
    "AV": {"ID": IDS},
    "EXIT": {"ID": IDS},
    "MOVE": {"X": NUMBERS, "Y": NUMBERS},
    "MOVETOWARD": {"X": NUMBERS, "Y": NUMBERS},
    "RENAME": {"name": st.sampled_from(["Max", "<b>", " ", "n" * 200])},
    "AVPROPERTIES": {"ID": IDS, "show_name": st.sampled_from(["show", "hide", "x"])},
    "AVLAYER": {"ID": IDS, "newlayer": st.sampled_from(["10010", "10020", "10030", "5", "nan"])},
    "FRAME": {"frameNumber": NUMBERS},
    "PROP": {"ID": IDS},
    "BACKDROP": {"ID": IDS},
    "BACKDROP_FRAME": {"frameNumber": NUMBERS},
    "DRAW_LAYER": {"layer": LAYERS},
    "DRAW_STYLE": {"colour": NUMBERS, "thickness": NUMBERS, "alpha": NUMBERS},
    "DRAW_MOVE": {"x": NUMBERS, "y": NUMBERS},
    "DRAW_LINE": {"x": NUMBERS, "y": NUMBERS},
    "DRAW_VIS": {"layer": LAYERS, "alpha": NUMBERS, "visible": st.sampled_from(["true", "false"])},
    "DRAW_CLEAR": {"layer": LAYERS},
    "APPLAUSE": {},
    "NOAPPLAUSE": {},
    "VOLUNTEER": {},
    "NOVOLUNTEER": {},
    "TEXT": {"msg": st.text(max_size=5)},
    "SHOUT": {"shout": st.text(max_size=5)},
    "THOUGHT": {"thought": st.text(max_size=5)},
}


ACTING = ["MOVE", "MOVETOWARD", "RENAME", "AVPROPERTIES", "FRAME"]
STAGING = ["BACKDROP", "BACKDROP", "BACKDROP_FRAME", "APPLAUSE", "NOAPPLAUSE", "VOLUNTEER", "NOVOLUNTEER"]
HANDLING = ["AV", "EXIT", "PROP", "PROP", "AVLAYER"]
DRAWING = ["DRAW_LAYER", "DRAW_STYLE", "DRAW_MOVE", "DRAW_LINE", "DRAW_LINE", "DRAW_VIS", "DRAW_CLEAR"]
GROUPS = (ACTING, STAGING, HANDLING, DRAWING, sorted(MODES))
STROKES = ["DRAW_STYLE", "DRAW_MOVE", "DRAW_LINE"]  # these change only the member's own layer


@st.composite
def frames(draw: st.DrawFn, modes: list[str]) -> str:
    mode = draw(st.sampled_from(modes))
    return urlencode({name: draw(values) for name, values in MODES[mode].items()} | {"mode": mode})


def some(modes: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(frames(modes), min_size=1, max_size=10)


class Viewer(FakeClient):
    """A client with a screen."""

    def __init__(self, stages: Stages, name: str) -> None:
        super().__init__(stages, acting_player(name) if name else None)
        self.screen = Screen()
        self.send("mode=LOADED")

    def look(self) -> Screen:
        for frame in self.heard():
            self.screen.take(frame)
        return self.screen


def state(thing: Thing) -> object:
    """Return the part of a thing to compare; any player may change an avatar's depth, or show its name."""
    if isinstance(thing, Layer):
        return list(thing.replay())
    return {name: value for name, value in vars(thing).items() if name not in ("layer", "show_name")}


def opening(stages: Stages) -> Stage:
    """Return the stage as it is at the start."""
    return Stage(
        stages,
        "demo",
        "Demo",
        "Hi",
        Colours("0x0", "0x0", "0x0", "0x0"),
        avatars=[Avatar(n, f"A{n}", f"/media/a{n}.svg") for n in (1, 2, 3)],
        backdrops=[Backdrop(n, f"B{n}", f"/media/b{n}.svg") for n in (1, 2)],
        props=[Prop(n, f"P{n}", f"/media/p{n}.svg") for n in (1, 2)],
        audios=[Audio(1, "Bell", "bell.mp3", "sfx")],
        backdrop_shown=1,
    )


class StagesMachine(RuleBasedStateMachine):
    """Three players and an audience connect, leave, and use every mode."""

    def __init__(self) -> None:
        super().__init__()
        self.sql = sqlite3.connect(":memory:")
        for script in MIGRATIONS:
            self.sql.executescript(script)
        self.sql.execute("INSERT INTO stage VALUES ('demo', '', '', '', '', '', '', 1, 0)")
        self.stages = Stages(keep=self.keep)
        self.stage = opening(self.stages)
        self.stages.add(self.stage)
        self.here: dict[str, Viewer] = {}
        self.visitors: list[Viewer] = []

    def keep(self, stage: str, changes: Sequence[Change], kept: Callable[[], None]) -> None:
        scene.write(self.sql, [(stage, change) for change in changes])
        kept()

    def teardown(self) -> None:
        self.sql.close()

    @initialize()
    def open(self) -> None:
        for name in NAMES:
            self.player_joins(name)

    @rule(name=st.sampled_from(NAMES))
    def player_joins(self, name: str) -> None:
        """Join as a player; a client of the same name leaves the stage, but stays connected."""
        self.here[name] = Viewer(self.stages, name)

    @rule(name=st.sampled_from(NAMES))
    def player_leaves(self, name: str) -> None:
        if viewer := self.here.pop(name, None):
            viewer.leave()

    @precondition(lambda self: len(self.visitors) < 3)
    @rule()
    def visitor_joins(self) -> None:
        self.visitors.append(Viewer(self.stages, ""))

    @precondition(lambda self: self.visitors)
    @rule()
    def visitor_leaves(self) -> None:
        self.visitors.pop().leave()

    @rule(id=st.sampled_from("123"), layer=st.sampled_from("0123"))
    def players_take_avatars_and_layers(self, id: str, layer: str) -> None:
        for viewer in self.here.values():
            viewer.send(f"ID={id}&mode=AV", "X=50&Y=150&mode=MOVE", "ID=2&mode=BACKDROP")
            viewer.send(f"layer={layer}&mode=DRAW_LAYER", "x=7&y=7&mode=DRAW_LINE")
            id, layer = str(int(id) % 3 + 1), str((int(layer) + 1) % 4)

    @rule()
    def players_put_everything_away(self) -> None:
        """Let each member change its pen and clear its layer, if it has one, and put its avatar away."""
        for viewer in self.here.values():
            if layer := self.stage.drawn_by(viewer.member):
                viewer.send("colour=7&thickness=7&alpha=7&mode=DRAW_STYLE")
                viewer.send(f"layer={layer.number}&mode=DRAW_CLEAR")
            if avatar := self.stage.held_by(viewer.member):
                viewer.send(f"ID={avatar.id}&mode=EXIT")

    @rule(number=st.integers(0, 9), wishes=st.one_of(map(some, GROUPS)))
    def player_sends_frames(self, number: int, wishes: list[str]) -> None:
        if self.here:
            viewer = list(self.here.values())[number % len(self.here)]
            for wish in wishes:
                self.do(viewer, wish)

    @rule(id=st.sampled_from("123"), mode=st.sampled_from(["AV", "EXIT"]))
    def all_players_want_one_avatar(self, id: str, mode: str) -> None:
        """Let every player request the same avatar, or take it off the stage."""
        for viewer in self.here.values():
            self.do(viewer, f"ID={id}&mode={mode}")

    def do(self, viewer: Viewer, wish: str) -> None:
        """Send a player's frame, and check that it changes nothing that another member holds."""
        mode = wish.rpartition("mode=")[2]
        others = self.out_of_reach(viewer.member, mode)
        before = [state(thing) for thing in others]
        viewer.send(wish)
        assert [state(thing) for thing in others] == before
        if mode in ("APPLAUSE", "NOAPPLAUSE"):
            assert self.stage.applause == (mode == "APPLAUSE")
        if mode in ("VOLUNTEER", "NOVOLUNTEER"):
            assert self.stage.volunteer == (mode == "VOLUNTEER")

    def out_of_reach(self, member: Member, mode: str) -> list[Thing]:
        """Return the things that a frame of this mode must not change, because others hold them."""
        avatars = [avatar for avatar in self.stage.avatars if avatar.holder is not member]
        if mode in ("AV", "EXIT"):
            avatars = [avatar for avatar in avatars if avatar.holder]  # a free one may be taken
        layers = [layer for layer in self.stage.layers if layer.user is not member and mode in STROKES]
        backdrops = self.stage.backdrops if self.stage.backdrop_by is not member else []
        return [*avatars, *layers, *backdrops]

    @precondition(lambda self: self.visitors)
    @rule(wishes=some(sorted(MODES)))
    def audience_sends_any_frame(self, wishes: list[str]) -> None:
        """Send frames as audience, and check that they change nothing but the chat."""
        before = deepcopy(self.visitors[0].look().everything())
        self.visitors[0].send(*wishes)
        assert self.visitors[0].look().everything() == before

    @invariant()
    def one_of_each(self) -> None:
        holders = [avatar.holder for avatar in self.stage.avatars if avatar.holder]
        users = [layer.user for layer in self.stage.layers if layer.user]
        hands = [prop.holder for prop in self.stage.props if prop.holder]
        for several in (holders, users, hands):
            assert len(several) == len(set(several))
        busy = {*holders, *users, self.stage.backdrop_by} - {None}
        assert busy <= {member for member in self.stage.members if member.acts}
        assert len({avatar.layer for avatar in self.stage.avatars}) == len(self.stage.avatars)

    @invariant()
    def the_counts_are_right(self) -> None:
        assert (self.stage.players, self.stage.audience) == (len(self.here), len(self.visitors))
        for viewer in (*self.here.values(), *self.visitors):
            assert viewer.look().counts == (str(len(self.here)), str(len(self.visitors)))

    @invariant()
    def a_late_joiner_sees_the_same_stage(self) -> None:
        late = Viewer(self.stages, "late")
        mine = late.look().everything()
        theirs = [viewer.look().everything() for viewer in self.here.values()]
        late.leave()
        for screen in theirs:
            assert screen == mine

    @invariant()
    def a_restart_brings_the_same_stage_back(self) -> None:
        stages = Stages()
        restored = opening(stages)
        scene.restore(restored, scene.read(self.sql, "demo"))
        stages.add(restored)
        with_no_hands = [avatar.holder for avatar in self.stage.avatars]
        for avatar in self.stage.avatars:
            avatar.holder = None
        before, after = Viewer(self.stages, ""), Viewer(stages, "")
        for avatar, holder in zip(self.stage.avatars, with_no_hands, strict=True):
            avatar.holder = holder
        assert before.look().everything() | {"counts": ()} == after.look().everything() | {"counts": ()}
        before.leave()


StagesMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestStages = StagesMachine.TestCase
