"""stages, stage and talk: joining, the set-up frames in UpStage's order, roles, lines and whispers."""

import random
from collections import deque
from collections.abc import Callable, Sequence

import pytest

from backend.tests.demo_stage import with_demo
from backend.tests.fake_clients import FakeClient, acting_player
from upstage.stage.kept import Change, Line
from upstage.stage.layers import PIECE, pieces
from upstage.stage.players import AUDIENCE
from upstage.stage.stage import CHAT_REPLAY, CHAT_REPLAY_SIZE, Stage
from upstage.stage.stages import Stages
from upstage.state.accounts import ADMIN

SET_UP = [
    "stageName=Demo+Stage&stageID=demo&mode=STAGE_NAME",
    "bgcolour=0x112233&mode=PAGE_COLOUR",
    "bgcolour=0x445566&mode=TOOLS_COLOUR",
    "bgcolour=0x778899&mode=BACKDROPANDPROP_COLOUR",
    "bgcolour=0xAABBCC&mode=CHAT_COLOUR",
    "avatars=2&props=1&backdrops=2&msg=Welcome+%26+enjoy&mode=SPLASH_DETAILS",
    "ID=1&name=Ann&url=%2Fmedia%2Fann.svg&thumbnail=&allowed=True&available=True&medium=&frame=1"
    "&streamserver=&streamname=&mode=LOAD_AV",
    "ID=2&name=Bo%7Eb&url=%2Fmedia%2Fbob.svg&thumbnail=&allowed=True&available=True&medium=&frame=1"
    "&streamserver=&streamname=&mode=LOAD_AV",
    "ID=1&name=Wood&url=%2Fmedia%2Fwood.svg&thumbnail=&show=True&frame=1&mode=LOAD_BACKDROP",
    "ID=2&name=Sea&url=%2Fmedia%2Fsea.svg&thumbnail=&show=False&frame=1&mode=LOAD_BACKDROP",
    "ID=1&name=Hat&url=%2Fmedia%2Fhat.svg&thumbnail=&show=False&mode=LOAD_PROP",
    "ID=1&name=Bell&url=bell.mp3&type=sfx&position=0&mode=LOAD_AUDIO",
    "chat=&mode=LOAD_CHAT",
    *(f"visible=True&layer={layer}&alpha=100&mode=DRAW_VIS" for layer in range(4)),
]


def test_join_sends_the_set_up_frames_in_order(stages: Stages) -> None:
    assert FakeClient(stages).heard() == ["ID=sock_1&mode=SET", *SET_UP, "pCount=0&aCount=1&mode=JOINED"]
    assert FakeClient(stages, acting_player("ann")).heard() == [
        "ID=sock_2&mode=SET",
        *SET_UP,
        "mode=DRAW_LAYER_STATE",
        "pCount=1&aCount=1&mode=JOINED",
    ]


def test_loaded_places_the_avatars_that_are_on_stage(stages: Stages) -> None:
    client = FakeClient(stages)
    client.heard()
    client.send("mode=LOADED")
    assert client.heard() == [
        "ID=1&X=60.0&Y=120.5&Z=0&mode=AV_POS",
        "ID=1&showName=show&mode=AVPROPERTIES",
        "ID=1&newLayer=10010&mode=AVLAYER",
        "ID=2&showName=show&mode=AVPROPERTIES",
        "ID=2&newLayer=10020&mode=AVLAYER",
        "mode=CONFIRM_LOADED",
    ]


def replay(stages: Stages) -> str:
    """Return the chat that a late joiner gets."""
    late = FakeClient(stages)
    [frame] = [frame for frame in late.heard() if frame.endswith("mode=LOAD_CHAT")]
    late.leave()
    return frame


def test_a_line_break_does_not_forge_a_line(stages: Stages) -> None:
    FakeClient(stages).send("msg=hello%0A<Ann> I am the avatar%E2%80%A8%00x&mode=TEXT")
    assert replay(stages) == "chat=+hello+%26lt%3BAnn%26gt%3B+I+am+the+avatar++x&mode=LOAD_CHAT"


def test_the_replay_is_bounded_in_lines_and_in_size(stages: Stages) -> None:
    client = FakeClient(stages)
    for number in range(CHAT_REPLAY + 10):
        client.send(f"msg={number}&mode=TEXT")
    lines = "%0A".join(f"+{number}" for number in range(10, CHAT_REPLAY + 10))
    assert replay(stages) == f"chat={lines}&mode=LOAD_CHAT"
    for _ in range(CHAT_REPLAY):
        client.send(f"msg={'x' * 2000}&mode=TEXT")
    assert CHAT_REPLAY_SIZE - 2100 < replay(stages).count("x") <= CHAT_REPLAY_SIZE


def test_a_member_that_leaves_during_a_broadcast_does_not_stop_it(stages: Stages, stage: Stage) -> None:
    clients = [FakeClient(stages) for _ in range(5)]
    leaver = clients.pop(2).member
    leaver.send = lambda frame: stage.members.discard(leaver)
    clients[0].send("msg=all%20here&mode=TEXT")
    assert all(client.modes()[-1] == "ANONTEXT" for client in clients)


def test_a_players_key_makes_the_client_a_player_until_its_connection_ends(stages: Stages) -> None:
    key = stages.key_for(ADMIN)
    client = FakeClient(stages, stage="")
    client.send(f"MD5={key}&mode=IDENT", "stage_ID=demo&mode=JOIN")
    assert stages.by_id["demo"].players == 1
    client.leave()
    assert stages.keys.get(key) is None


def test_audience_keys_are_not_stored(stages: Stages) -> None:
    admin = stages.key_for(ADMIN)
    keys = {stages.key_for(AUDIENCE) for _ in range(2000)}
    assert len(keys) == 2000
    assert stages.keys.get(admin) is ADMIN


def test_joining_another_stage_leaves_the_first(stages: Stages, stage: Stage) -> None:
    neighbour, client = FakeClient(stages), FakeClient(stages)
    client.heard(), neighbour.heard()
    client.send("stage_ID=other&mode=JOIN")
    assert client.modes()[0] == "STAGE_NAME"
    assert neighbour.heard() == ["pCount=0&aCount=1&mode=JOINED"]
    assert stages.by_id["other"].audience == 1
    client.leave()
    assert stages.by_id["other"].audience == 0


def test_joining_an_unknown_stage_is_an_error(stages: Stages, stage: Stage) -> None:
    client = FakeClient(stages)
    client.heard()
    client.send("stage_ID=nowhere&mode=JOIN")
    assert client.modes() == ["ERR_DOUBLE_LOGIN"]
    assert client.member.stage is stage


@pytest.mark.parametrize(
    ("frame", "before_join", "after_join"),
    [
        (b"msg=x&mode=NB", [], []),
        (b"msg=x&mode=DEBUG", "unknown_modes", []),
        (b"msg=hi&mode=TEXT", "unknown_modes", ["ANONTEXT"]),
        (b"mode=TEXT", "unknown_modes", "bad_frames"),
        (b"mode=INFO", "unknown_modes", ["MSG"]),
        (b"ID=1&mode=AV", "unknown_modes", "unknown_modes"),
        (b"mode=text", "unknown_modes", "unknown_modes"),
        (b"mode=__class__", "unknown_modes", "unknown_modes"),
        (b"mode=JOIN", "bad_frames", "bad_frames"),
        (b"mode=IDENT", "bad_frames", "bad_frames"),
        (b"no equals sign", "bad_frames", "bad_frames"),
        (b"", "empty_frames", "empty_frames"),
        (b"\xff\xfe", "bad_frames", "bad_frames"),
    ],
)
def test_a_mode_is_acted_on_or_counted_as_ignored(
    stages: Stages, frame: bytes, before_join: object, after_join: object
) -> None:
    """The expected result is a list of the replies' modes, or the counter of the ignored frame."""
    for client, expected in (FakeClient(stages, stage=""), before_join), (FakeClient(stages), after_join):
        client.heard()
        before = stages.counts.copy()
        stages.receive(client.member, frame)
        ignored = {name: n for name, n in (stages.counts - before).items() if name != "frames"}
        assert (client.modes(), ignored) == (
            ([], {expected: 1}) if isinstance(expected, str) else (expected, {})
        )


def test_counts_are_sent_once_for_many_joins() -> None:
    """n simultaneous joins cost n JOINED frames, not n²."""
    moments: list[Callable[[], None]] = []
    stages = with_demo(Stages(later=moments.append))
    clients = [FakeClient(stages) for _ in range(3)]
    assert not any("JOINED" in client.modes() for client in clients)
    clients.pop().leave()
    [moment] = moments
    moment()
    assert [client.heard() for client in clients] == [["pCount=0&aCount=2&mode=JOINED"]] * 2
    clients[0].send("stage_ID=demo&mode=JOIN")
    assert len(moments) == 2


def test_each_kind_of_line_has_its_form_in_the_log() -> None:
    written: list[tuple[str, str]] = []
    spoken: list[tuple[str, str]] = []

    def keep(id: str, changes: Sequence[Change], kept: Callable[[], None]) -> None:
        written.extend((id, change.text) for change in changes if isinstance(change, Line))
        kept()

    stages = with_demo(Stages(keep=keep, speak=lambda voice, text: spoken.append((voice, text))))
    ann, stage = FakeClient(stages, acting_player("ann")), stages.by_id["demo"]
    stage.avatars[0].voice = "robot"
    ann.send("msg=hello&mode=TEXT", "ID=1&mode=AV", "msg=a%20%3C%20b&mode=TEXT", "thought=t&mode=THOUGHT")
    ann.send("shout=S&mode=SHOUT", "pmessage=p&mode=PMESSAGE")
    lines = [" hello", "<Ann> a < b", "[Ann] {t}", "<Ann>! S", "<Ann># p"]
    assert list(stage.chat) == lines
    assert written == [("demo", line) for line in lines]
    assert spoken == [("robot", "a < b"), ("robot", "S")]
    assert "WAVE" not in ann.modes()  # there was no URL


FRAMES = (
    *("X={0}&Y=1&mode=MOVE", "msg=n{0}&mode=TEXT", "mode=INFO", "thought=n{0}&mode=THOUGHT", "ID=99&mode=AV"),
    *("msg=bob%3Dn{0}&mode=WHISPER", "mode=DETAILS", "mode=LOADED", "layer=1&mode=DRAW_LAYER"),
    *("x={0}&y=7&mode=DRAW_LINE", "stage_ID=demo&mode=JOIN", "ID=1&mode=AV", "ID=2&mode=AV", "mode=EXIT"),
)


def test_frames_are_heard_in_the_order_in_which_they_were_sent() -> None:
    """A slow disk must not change the order of a thousand random frames of two clients, stored or not."""
    chance = random.Random(81)
    waiting: deque[Callable[[], None]] = deque()
    slow = with_demo(Stages(keep=lambda _, __, kept: waiting.append(kept)))
    heard = []
    for stages in (with_demo(Stages()), slow):
        chance.seed(81)
        clients = [FakeClient(stages, acting_player(name)) for name in ("ann", "bob")]
        for number in range(1000):
            chance.choice(clients).send(chance.choice(FRAMES).format(number))
            for _ in range(min(len(waiting), number % 3)):
                waiting.popleft()()
        while waiting:
            waiting.popleft()()
        heard.append([client.heard() for client in clients])
    assert [len(frames) > 1000 for frames in heard[0]] == [True, True]
    assert heard[0] == heard[1]


def test_a_late_joiner_gets_a_line_once() -> None:
    waiting: list[Callable[[], None]] = []
    stages = with_demo(Stages(keep=lambda _, __, kept: waiting.append(kept)))
    ann = FakeClient(stages, acting_player("ann"))
    ann.send("msg=before&mode=TEXT")
    bob = FakeClient(stages, acting_player("bob"))
    ann.send("msg=after&mode=TEXT")
    again = FakeClient(stages, acting_player("bob"))  # a double login, before the first client's set-up
    while waiting:
        waiting.pop(0)()
    assert bob.modes()[-1] == "ERR_DOUBLE_LOGIN"
    heard = again.heard()
    assert sum("before" in frame for frame in heard) == sum("after" in frame for frame in heard) == 1


Cast = tuple[FakeClient, FakeClient, FakeClient]


@pytest.fixture
def cast(stages: Stages) -> Cast:
    """Return Ann, Bob, who holds the second avatar, and Eve, who is on another stage."""
    ann, bob = (FakeClient(stages, acting_player(name)) for name in ("ann", "bob"))
    eve = FakeClient(stages, acting_player("eve"), "other")
    bob.send("ID=2&mode=AV")
    for client in (ann, bob, eve):
        client.heard()
    return ann, bob, eve


def test_a_whisper_finds_players_on_all_stages(stages: Stages, cast: Cast) -> None:
    (ann, bob, eve), crowd = cast, FakeClient(stages)
    for client in (*cast, crowd):
        client.heard()
    ann.send("msg=Bo~B|eve;nobody%20%3D%20now%20%3D%20%3C&mode=WHISPER".replace(";", "%3B"))
    whisper = "senderID=ann&text=now+%3D+%26lt%3B&mode=WHISPER"
    assert bob.heard() == eve.heard() == [whisper]
    assert crowd.heard() == []
    assert ann.heard() == [
        "message=You+whispered+to+bob%2C+eve%3A+now+%3D+%26lt%3B&mode=MSG",
        "message=No+player+here+is+called+nobody.&mode=MSG",
    ]
    assert not stages.by_id["demo"].chat
    ann.send("msg=nobody%3Dhi&mode=WHISPER")
    assert ann.heard() == ["message=No+player+here+is+called+nobody.&mode=MSG"]


def test_a_whisper_to_all_stays_on_the_stage(cast: Cast) -> None:
    ann, bob, eve = cast
    ann.send("msg=*%3Dplaces&mode=WHISPER")
    assert bob.modes() == ["WHISPER"]
    assert ann.modes() == ["WHISPER", "MSG"]
    assert eve.modes() == []


def test_a_whisper_to_many_names_lists_the_members_once(stages: Stages, cast: Cast) -> None:
    ann, bob, _ = cast
    looks: list[object] = []
    members = stages.members
    stages.members = lambda: looks.append(1) or members()  # type: ignore[method-assign,func-returns-value]
    ann.send("msg=" + ",".join(f"n{number}" for number in range(300)) + ",bob%3Dhello&mode=WHISPER")
    assert (len(looks), bob.heard()) == (1, ["senderID=ann&text=hello&mode=WHISPER"])


@pytest.mark.parametrize("text", ["bob", "=x", "bob=", ", =x", ""])
def test_an_invalid_whisper_gets_the_usage(cast: Cast, text: str) -> None:
    ann, bob, _ = cast
    ann.send(f"msg={text.replace('=', '%3D')}&mode=WHISPER")
    assert ann.heard() == ["message=To+whisper%3A+%2Fwh+name%2C+name+%3D+text&mode=MSG"]
    assert bob.heard() == []


def test_a_stage_that_is_closed_tells_its_members_and_takes_their_roles(stages: Stages, stage: Stage) -> None:
    player = FakeClient(stages, acting_player("ann"))
    assert player.member.acts
    player.heard()
    stage.close()
    assert player.modes() == ["ERR_DOUBLE_LOGIN"]
    assert (player.member.stage, player.member.acts) == (None, False)
    assert not stage.members


def test_a_backdrop_is_shown_only_if_the_stage_has_it(stage: Stage) -> None:
    for shown, left in ((2, 2), (9, 0)):
        stage.backdrop_shown = shown
        stage.check_holders()
        assert stage.backdrop_shown == left


def test_a_piece_of_a_drawing_is_as_large_as_it_may_be() -> None:
    half = b"x" * (PIECE // 2)
    assert [*pieces([half, half, b"y"])] == [half + half, b"y"]
