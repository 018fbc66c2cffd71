"""Every mode: the frames that the sender, another player and the audience get."""

import pytest

from backend.tests.demo_stage import with_demo
from backend.tests.fake_clients import FakeClient, acting_player
from upstage.stage import stages as modes
from upstage.stage.players import Player
from upstage.stage.stages import Stages

HOLD = "ID=1&mode=AV"
DRAW = "layer=2&mode=DRAW_LAYER"
PEN = "colour=255&thickness=5&alpha=50&mode=DRAW_STYLE"
URL = "%2Fmedia%2Faudio%2Fbell.mp3"
CLEAR = "type=speeches&url=%2Fspeech%2Futter-7.mp3&mode=CLEAR_AUDIOSLOT"

# (the player's earlier frames, its frame, the frames that all members get)
TO_ALL = [
    # talk
    ([], "msg=hi%20%3Cb%3E&mode=TEXT", ["text=hi+%26lt%3Bb%26gt%3B&mode=ANONTEXT"]),
    ([HOLD], "msg=hi&mode=TEXT", ["ID=1&name=Ann&text=hi&mode=TEXT", "url=%2Fspeech%2Fdefault-hi&mode=WAVE"]),
    ([HOLD], "shout=HI&mode=SHOUT", ["ID=1&shout=HI&mode=SHOUT", "url=%2Fspeech%2Fdefault-HI&mode=WAVE"]),
    ([HOLD], "thought=hm&mode=THOUGHT", ["ID=1&thought=hm&mode=THINK"]),
    ([HOLD], "pmessage=stay&mode=PMESSAGE", ["ID=1&pmessage=stay&mode=PMESSAGE"]),
    ([HOLD], "msg=&mode=TEXT", []),
    ([HOLD], "shout=%20&mode=SHOUT", []),
    ([], "shout=HI&mode=SHOUT", []),
    ([], "thought=hm&mode=THOUGHT", []),
    ([], "pmessage=stay&mode=PMESSAGE", []),
    ([], "applaud=&mode=APPLAUSE", ["applause=Applause+button+is+now+active&mode=APPLAUSE"]),
    ([], "noapplaud=&mode=NOAPPLAUSE", ["applause=Applause+button+is+no+longer+active&mode=NO_APPLAUSE"]),
    ([], "volunteer=&mode=VOLUNTEER", ["volunteer=Volunteer+button+is+now+active&mode=VOLUNTEER"]),
    ([], "mode=NOVOLUNTEER", ["novolunteer=Volunteer+button+is+no+longer+active&mode=NO_VOLUNTEER"]),
    # avatars
    ([HOLD], "X=120.5&Y=80&mode=MOVE", ["ID=1&X=120.5&Y=80.0&Z=0&mode=AV_POS"]),
    ([HOLD], "X=1&Y=2&Z=3&mode=MOVE", ["ID=1&X=1.0&Y=2.0&Z=3.0&mode=AV_POS"]),
    ([HOLD], "X=-5&Y=1e9&mode=MOVE", ["ID=1&X=1.0&Y=200.0&Z=0&mode=AV_POS"]),
    ([HOLD], "X=nan&Y=1&mode=MOVE", []),
    ([HOLD], "X=1&Y=-inf&mode=MOVETOWARD", []),
    ([HOLD], "X=1&mode=MOVE", []),
    ([], "X=1&Y=1&mode=MOVE", []),
    ([HOLD], "Y=20&X=10&mode=MOVETOWARD", ["ID=1&X=10.0&Y=20.0&mode=AV_MOVETOWARD"]),
    ([], "Y=20&X=10&mode=MOVETOWARD", []),
    ([HOLD], "name=Eve%20%3Cx%3E&mode=RENAME", ["ID=1&name=Eve+x&mode=RENAME"]),
    ([HOLD], f"name={'n' * 199}&mode=RENAME", [f"ID=1&name={'n' * 199}&mode=RENAME"]),
    ([HOLD], f"name={'n' * 200}&mode=RENAME", []),
    ([HOLD], "name=%20&mode=RENAME", []),
    ([], "name=Eve&mode=RENAME", []),
    ([], "ID=2&show_name=hide&mode=AVPROPERTIES", ["ID=2&showName=hide&mode=AVPROPERTIES"]),
    ([], "ID=2&show_name=maybe&mode=AVPROPERTIES", []),
    ([], "ID=9&show_name=hide&mode=AVPROPERTIES", []),
    ([HOLD], "ID=1&newlayer=10020&mode=AVLAYER", ["ID=1&newLayer=10020&mode=AVLAYER"]),
    ([], "ID=1&newlayer=10020&mode=AVLAYER", []),
    ([HOLD], "frameNumber=3&mode=FRAME", ["avID=1&frameNumber=3&mode=FRAME"]),
    ([HOLD], "frameNumber=0&mode=FRAME", ["avID=1&frameNumber=0&mode=FRAME"]),
    ([], "frameNumber=3&mode=FRAME", []),
    ([], "ID=1&mode=EXIT", ["ID=1&mode=PUT_AWAY"]),
    ([], "ID=9&mode=EXIT", []),
    # props and backdrops
    ([HOLD], "ID=1&mode=PROP", ["ID=1&prop=1&mode=BINDPROP"]),
    ([HOLD, "ID=1&mode=PROP"], "ID=1&mode=PROP", ["ID=1&prop=0&mode=BINDPROP"]),
    ([], "ID=1&mode=PROP", []),
    ([], "ID=2&mode=BACKDROP", ["ID=2&mode=SHOW_BACKDROP"]),
    ([], "ID=0&mode=BACKDROP", ["ID=0&mode=SHOW_BACKDROP"]),
    ([], "ID=77&mode=BACKDROP", ["ID=0&mode=SHOW_BACKDROP"]),
    (["ID=2&mode=BACKDROP"], "frameNumber=4&mode=BACKDROP_FRAME", ["frameNumber=4&mode=BACKDROP_FRAME"]),
    (["ID=2&mode=BACKDROP"], "frameNumber=0&mode=BACKDROP_FRAME", ["frameNumber=0&mode=BACKDROP_FRAME"]),
    ([], "frameNumber=4&mode=BACKDROP_FRAME", []),
    # drawing
    ([], PEN, []),
    ([DRAW], PEN, ["layer=2&colour=255&thickness=5&alpha=50&mode=DRAW_STYLE"]),
    ([DRAW], "x=10&y=11.5&mode=DRAW_MOVE", ["layer=2&x=10&y=11.5&mode=DRAW_MOVE"]),
    ([DRAW], "x=12.9990000001&y=-0&mode=DRAW_LINE", ["layer=2&x=12.999&y=0&mode=DRAW_LINE"]),
    ([DRAW], "x=%3Cb%3E&y=1&mode=DRAW_LINE", []),
    ([], "x=1&y=1&mode=DRAW_LINE", []),
    ([], "layer=1&alpha=40&visible=false&mode=DRAW_VIS", ["visible=False&layer=1&alpha=40&mode=DRAW_VIS"]),
    ([], "layer=1&alpha=40&visible=1&mode=DRAW_VIS", ["visible=True&layer=1&alpha=40&mode=DRAW_VIS"]),
    ([], "layer=-1&alpha=40&visible=1&mode=DRAW_VIS", []),
    ([], "layer=3&mode=DRAW_CLEAR", ["layer=3&mode=DRAW_CLEAR"]),
    ([], "layer=4&mode=DRAW_CLEAR", []),
    # sound
    ([], "file=bell.mp3&mode=LOAD_MUSIC", [f"url={URL}&mode=MUSIC"]),
    ([], "file=bell.mp3&mode=LOAD_EFFECT", [f"url={URL}&mode=EFFECT"]),
    ([], "file=..%2Fsecret&mode=LOAD_EFFECT", []),
    ([], "file=bell.mp3&mode=PLAY_APPLAUSE", [f"url={URL}&mode=APPLAUSE_PLAY"]),
    ([], "file=applause.mp3&mode=PLAY_APPLAUSE", ["url=%2Fmedia%2Faudio%2Fapplause.mp3&mode=APPLAUSE_PLAY"]),
    ([], "file=other.mp3&mode=PLAY_APPLAUSE", []),
    ([], f"array=sounds&url={URL}&mode=PLAY_CLIP", [f"array=sounds&url={URL}&mode=PLAY_CLIP"]),
    ([], f"array=sounds&url={URL}&mode=PAUSE_CLIP", [f"array=sounds&url={URL}&mode=PAUSE_CLIP"]),
    ([], f"array=sounds&url={URL}&mode=LOOP_CLIP", [f"array=sounds&url={URL}&mode=LOOP_CLIP"]),
    ([], "array=sounds&url=http%3A%2F%2Fevil%2Fx.mp3&mode=PLAY_CLIP", []),
    ([], f"array=%3C&url={URL}&mode=PLAY_CLIP", []),
    ([], f"url={URL}&type=sfx&volume=40&mode=ADJUST_VOLUME", [f"url={URL}&type=sfx&volume=40&mode=VOLUME"]),
    ([], f"url={URL}&type=sfx&mode=STOP_AUDIO", [f"url={URL}&type=sfx&mode=STOPAUDIO"]),
    ([], CLEAR, [CLEAR]),
    ([], "type=speeches&url=%2Fspeech%2F..&mode=CLEAR_AUDIOSLOT", []),
    # nothing
    ([], "msg=x&mode=NB", []),
    ([], "msg=x&mode=DEBUG", []),
    ([], "ID=1&mode=av", []),
]

# (the player's earlier frames, its frame, the frames that players get, those that the audience gets)
TO_PLAYERS = [
    ([], HOLD, ["client=sock_1&ID=1&mode=AV_CONNECT"], []),
    (
        [HOLD],
        "ID=2&mode=AV",
        ["client=sock_1&ID=1&mode=AV_DISCONNECT", "client=sock_1&ID=2&mode=AV_CONNECT"],
        [],
    ),
    (
        [HOLD],
        "ID=1&mode=EXIT",
        ["client=sock_1&ID=1&mode=AV_DISCONNECT", "ID=1&mode=PUT_AWAY"],
        ["ID=1&mode=PUT_AWAY"],
    ),
    ([], DRAW, ["L2=ann&mode=DRAW_LAYER_STATE"], []),
    (
        [DRAW, PEN],
        "layer=0&mode=DRAW_LAYER",
        ["layer=0&colour=255&thickness=5&alpha=50&mode=DRAW_STYLE", "L0=ann&mode=DRAW_LAYER_STATE"],
        ["layer=0&colour=255&thickness=5&alpha=50&mode=DRAW_STYLE"],
    ),
]

# (the player's earlier frames, its frame, the reply to it alone)
TO_SENDER = [
    ([], "ID=99&mode=AV", ["error=No+such+avatar+%2899%29&mode=ERR"]),
    ([HOLD], "ID=99&mode=AV", ["error=No+such+avatar+%2899%29&mode=ERR"]),
    ([HOLD], "ID=99&mode=PROP", ["error=No+such+prop+%2899%29&mode=ERR"]),
    ([], "mode=DETAILS", ["message=+%2ADemo+Stage%2A+%0A+Players%3A+ann%2C+bob%0A+Audience%3A+1&mode=MSG"]),
]


@pytest.fixture
def stages() -> Stages:
    return with_demo(Stages(speak=lambda voice, text: f"/speech/{voice}-{text}"))


def play(stages: Stages, before: list[str], frame: str) -> list[list[str]]:
    """Send a frame as ann; return the frames for ann, for bob, another player, and for the audience."""
    clients = [FakeClient(stages, acting_player(name)) for name in ("ann", "bob")] + [FakeClient(stages)]
    clients[0].send(*before)
    for client in clients:
        client.heard()
    clients[0].send(frame)
    return [client.heard() for client in clients]


ALL = [
    *((before, frame, [frames] * 3) for before, frame, frames in TO_ALL),
    *((before, frame, [players, players, audience]) for before, frame, players, audience in TO_PLAYERS),
    *((before, frame, [reply, [], []]) for before, frame, reply in TO_SENDER),
]


@pytest.mark.parametrize(("before", "frame", "heard"), ALL)
def test_what_each_frame_makes_the_members_hear(
    stages: Stages, before: list[str], frame: str, heard: list[list[str]]
) -> None:
    assert play(stages, before, frame) == heard


def test_every_mode_is_tested() -> None:
    told = {frame.rpartition("mode=")[2] for _, frame, _ in ALL}
    elsewhere = {"IDENT", "JOIN", "LOADED", "INFO", "WHISPER"}  # test_stages
    assert told - {"av"} | elsewhere == {*modes.COMMON_MODES, *modes.PLAYER_MODES}


@pytest.mark.parametrize("mode", sorted(modes.PLAYER_MODES.keys() - modes.AUDIENCE_MODES.keys()))
def test_the_audience_cannot_use_the_modes_of_players(stages: Stages, mode: str) -> None:
    player, audience = FakeClient(stages, acting_player("ann")), FakeClient(stages)
    player.heard(), audience.heard()
    # All fields that any mode needs: only the role is wrong.
    audience.send(
        "ID=1&layer=1&x=1&y=1&X=1&Y=1&name=n&show_name=hide&newlayer=1&frameNumber=1&colour=1&thickness=1&alpha=1"
        f"&visible=1&file=bell.mp3&url=bell.mp3&array=a&type=t&volume=1&msg=*%3Dx&shout=S&thought=t&mode={mode}"
    )
    assert audience.heard() == player.heard() == []
    assert stages.counts["unknown_modes"] == 1


def test_any_player_may_use_every_stage_and_one_without_act_is_counted_as_audience(stages: Stages) -> None:
    editor, watcher = FakeClient(stages, Player("editor", can_admin=True)), FakeClient(stages)
    assert watcher.heard()[-1] == "pCount=0&aCount=2&mode=JOINED"
    editor.heard()
    editor.send(HOLD, "X=5&Y=5&mode=MOVE")
    assert editor.heard() == watcher.heard() == ["ID=1&X=5.0&Y=5.0&Z=0&mode=AV_POS"]


def test_the_audience_applauds_while_it_has_the_button_and_is_told_so_otherwise(stages: Stages) -> None:
    player, audience = FakeClient(stages, acting_player("ann")), FakeClient(stages)
    player.heard(), audience.heard()
    audience.send("file=applause.mp3&mode=PLAY_APPLAUSE")
    assert (player.heard(), audience.heard()) == (
        [],
        ["message=There+is+no+applause+now%3A+the+players+open+it.&mode=MSG"],
    )
    player.send("applaud=&mode=APPLAUSE")
    audience.heard()
    audience.send("file=applause.mp3&mode=PLAY_APPLAUSE")
    assert audience.heard() == ["url=%2Fmedia%2Faudio%2Fapplause.mp3&mode=APPLAUSE_PLAY"]
