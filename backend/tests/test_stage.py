"""stage: the set-up frames in UpStage's order, counts, and a chat that cannot be forged."""

import pytest

from fake_clients import split
from upstage.stage import talk
from upstage.stage.players import Player
from upstage.stage.stage import CHAT_REPLAY, CHAT_REPLAY_SIZE, Member, Stage
from upstage.stage.wire import Message, decode

PLAYER = Player("admin", can_act=True)


class FakeMember:
    """A member that collects the frames sent to it."""

    def __init__(self, player: Player | None = None) -> None:
        self.frames: list[bytes] = []
        self.member = Member("sock_1", lambda frames: self.frames.extend(split(frames)))
        if player:
            self.member.player = player

    @property
    def modes(self) -> list[str]:
        return [decode(frame[:-1]).mode for frame in self.frames]

    def last(self, mode: str) -> dict[str, str]:
        found = [decode(frame[:-1]) for frame in self.frames]
        return dict(next(message for message in reversed(found) if message.mode == mode).fields)


def say(stage: Stage, text: str) -> None:
    """A member of the audience sends a line."""
    talk.text(stage, FakeMember().member, Message("TEXT", {"msg": text}))


SET_UP = [
    b"stageName=Demo+Stage&stageID=demo&mode=STAGE_NAME\0",
    b"bgcolour=0x112233&mode=PAGE_COLOUR\0",
    b"bgcolour=0x445566&mode=TOOLS_COLOUR\0",
    b"bgcolour=0x778899&mode=BACKDROPANDPROP_COLOUR\0",
    b"bgcolour=0xAABBCC&mode=CHAT_COLOUR\0",
    b"avatars=2&props=1&backdrops=2&msg=Welcome+%26+enjoy&mode=SPLASH_DETAILS\0",
    b"ID=1&name=Ann&url=%2Fmedia%2Fann.svg&thumbnail=&allowed=True&available=True&medium=&frame=1"
    b"&streamserver=&streamname=&mode=LOAD_AV\0",
    b"ID=2&name=Bo%7Eb&url=%2Fmedia%2Fbob.svg&thumbnail=&allowed=True&available=True&medium=&frame=1"
    b"&streamserver=&streamname=&mode=LOAD_AV\0",
    b"ID=1&name=Wood&url=%2Fmedia%2Fwood.svg&thumbnail=&show=True&frame=1&mode=LOAD_BACKDROP\0",
    b"ID=2&name=Sea&url=%2Fmedia%2Fsea.svg&thumbnail=&show=False&frame=1&mode=LOAD_BACKDROP\0",
    b"ID=1&name=Hat&url=%2Fmedia%2Fhat.svg&thumbnail=&show=False&mode=LOAD_PROP\0",
    b"ID=1&name=Bell&url=bell.mp3&type=sfx&position=0&mode=LOAD_AUDIO\0",
    b"chat=&mode=LOAD_CHAT\0",
    b"visible=True&layer=0&alpha=100&mode=DRAW_VIS\0",
    b"visible=True&layer=1&alpha=100&mode=DRAW_VIS\0",
    b"visible=True&layer=2&alpha=100&mode=DRAW_VIS\0",
    b"visible=True&layer=3&alpha=100&mode=DRAW_VIS\0",
]


@pytest.mark.parametrize(
    ("player", "ending"),
    [
        (None, [b"pCount=0&aCount=1&mode=JOINED\0"]),
        (PLAYER, [b"mode=DRAW_LAYER_STATE\0", b"pCount=1&aCount=0&mode=JOINED\0"]),
    ],
    ids=["audience", "player"],
)
def test_join_sends_the_set_up_frames_in_order(
    stage: Stage, player: Player | None, ending: list[bytes]
) -> None:
    fake = FakeMember(player)
    stage.join(fake.member)
    assert fake.frames == SET_UP + ending


def test_loaded_places_the_avatars_that_are_on_stage(stage: Stage) -> None:
    fake = FakeMember()
    stage.join(fake.member)
    fake.frames.clear()
    stage.loaded(fake.member)
    assert fake.frames == [
        b"ID=1&X=60.0&Y=120.5&Z=0&mode=AV_POS\0",
        b"ID=1&showName=show&mode=AVPROPERTIES\0",
        b"ID=1&newLayer=10010&mode=AVLAYER\0",
        b"ID=2&showName=show&mode=AVPROPERTIES\0",
        b"ID=2&newLayer=10020&mode=AVLAYER\0",
        b"mode=CONFIRM_LOADED\0",
    ]


def test_all_members_are_told_the_counts(stage: Stage) -> None:
    first, second, third = FakeMember(), FakeMember(PLAYER), FakeMember()
    for fake in (first, second, third):
        stage.join(fake.member)
    assert first.last("JOINED") == {"pCount": "1", "aCount": "2"}
    stage.leave(second.member)
    assert first.last("JOINED") == third.last("JOINED") == {"pCount": "0", "aCount": "2"}
    assert second.last("JOINED") == {"pCount": "1", "aCount": "2"}
    assert second.member.stage is None


def test_a_player_counts_as_what_it_was_when_it_joined(stage: Stage) -> None:
    fake = FakeMember()
    stage.join(fake.member)
    fake.member.player = PLAYER
    assert (stage.players, stage.audience) == (0, 1)


def test_text_goes_to_all_members_and_to_late_joiners(stage: Stage) -> None:
    first, second, late = FakeMember(), FakeMember(), FakeMember()
    stage.join(first.member)
    stage.join(second.member)
    say(stage, "bravo! <b>")
    assert first.last("ANONTEXT") == second.last("ANONTEXT") == {"text": "bravo! &lt;b&gt;"}
    stage.join(late.member)
    assert late.last("LOAD_CHAT") == {"chat": " bravo! &lt;b&gt;"}


def test_a_line_break_does_not_forge_a_line(stage: Stage) -> None:
    fake = FakeMember()
    say(stage, "hello\n<Ann> I am the avatar\u2028\x00x")
    stage.join(fake.member)
    assert fake.last("LOAD_CHAT") == {"chat": " hello &lt;Ann&gt; I am the avatar  x"}


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_blank_text_is_not_sent(stage: Stage, text: str) -> None:
    fake = FakeMember()
    stage.join(fake.member)
    say(stage, text)
    assert "ANONTEXT" not in fake.modes
    assert not stage.chat


def test_the_replay_is_bounded_in_lines_and_in_size(stage: Stage) -> None:
    for number in range(CHAT_REPLAY + 10):
        say(stage, f"line {number}")
    fake = FakeMember()
    stage.join(fake.member)
    lines = fake.last("LOAD_CHAT")["chat"].split("\n")
    assert lines == [f" line {number}" for number in range(10, CHAT_REPLAY + 10)]
    for _ in range(CHAT_REPLAY):
        say(stage, "x" * 2000)
    late = FakeMember()
    stage.join(late.member)
    assert CHAT_REPLAY_SIZE - 2100 < len(late.last("LOAD_CHAT")["chat"]) <= CHAT_REPLAY_SIZE


def test_a_member_that_leaves_during_a_broadcast_does_not_stop_it(stage: Stage) -> None:
    fakes = [FakeMember() for _ in range(5)]
    for fake in fakes:
        stage.join(fake.member)
    leaver = fakes[2].member
    leaver.send = lambda frame: stage.members.discard(leaver)
    say(stage, "all here?")
    assert all("ANONTEXT" in fake.modes for fake in fakes if fake.member is not leaver)
