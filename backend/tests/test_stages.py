"""stages: the modes of each role, keys, and invalid frames."""

from collections.abc import Callable

import pytest

from demo_stage import with_demo
from fake_clients import split
from upstage.stage.players import AUDIENCE
from upstage.stage.stage import Member, Stage
from upstage.stage.stages import Stages
from upstage.stage.wire import decode
from upstage.state.accounts import ADMIN


class Visitor:
    def __init__(self, stages: Stages) -> None:
        self.stages = stages
        self.frames: list[bytes] = []
        self.member: Member = stages.connect(lambda frames: self.frames.extend(split(frames)))

    def send(self, frame: bytes) -> list[str]:
        """Send a frame; return the modes of the replies."""
        self.frames.clear()
        self.stages.receive(self.member, frame)
        return [decode(answer[:-1]).mode for answer in self.frames]


def test_sockets_are_numbered_for_the_whole_process(stages: Stages) -> None:
    visitors = [Visitor(stages) for _ in range(3)]
    assert [visitor.frames for visitor in visitors] == [
        [b"ID=sock_1&mode=SET\0"],
        [b"ID=sock_2&mode=SET\0"],
        [b"ID=sock_3&mode=SET\0"],
    ]


def test_a_players_key_makes_the_client_a_player(stages: Stages) -> None:
    visitor = Visitor(stages)
    assert visitor.send(f"MD5={stages.key_for(ADMIN)}&mode=IDENT".encode()) == []
    assert visitor.send(b"stage_ID=demo&mode=JOIN")[-1] == "JOINED"
    assert stages.by_id["demo"].players == 1


@pytest.mark.parametrize("key", [b"", b"undefined", b"0" * 32])
def test_an_unknown_key_means_audience(stages: Stages, key: bytes) -> None:
    visitor = Visitor(stages)
    visitor.send(b"MD5=" + key + b"&mode=IDENT")
    visitor.send(b"stage_ID=demo&mode=JOIN")
    assert stages.by_id["demo"].audience == 1


def test_a_key_is_gone_with_its_connection(stages: Stages) -> None:
    key = stages.key_for(ADMIN)
    visitor = Visitor(stages)
    visitor.send(f"MD5={key}&mode=IDENT".encode())
    stages.disconnect(visitor.member)
    assert stages.keys.get(key) is None


def test_audience_keys_are_not_stored(stages: Stages) -> None:
    admin = stages.key_for(ADMIN)
    keys = {stages.key_for(AUDIENCE) for _ in range(2000)}
    assert len(keys) == 2000
    assert stages.keys.get(admin) is ADMIN


def test_joining_another_stage_leaves_the_first(stages: Stages, stage: Stage) -> None:
    stages.add(Stage(stages, "other", "Other", "Hi", stage.colours))
    visitor, neighbour = Visitor(stages), Visitor(stages)
    neighbour.send(b"stage_ID=demo&mode=JOIN")
    visitor.send(b"stage_ID=demo&mode=JOIN")
    assert visitor.send(b"stage_ID=other&mode=JOIN")[0] == "STAGE_NAME"
    assert neighbour.frames[-1] == b"pCount=0&aCount=1&mode=JOINED\0"
    assert stages.by_id["other"].audience == 1
    stages.disconnect(visitor.member)
    assert stages.by_id["other"].audience == 0


def test_joining_an_unknown_stage_is_an_error(stages: Stages) -> None:
    visitor = Visitor(stages)
    assert visitor.send(b"stage_ID=nowhere&mode=JOIN") == ["ERR_DOUBLE_LOGIN"]
    visitor.send(b"stage_ID=demo&mode=JOIN")
    assert visitor.send(b"stage_ID=nowhere&mode=JOIN") == ["ERR_DOUBLE_LOGIN"]
    assert visitor.member.stage is stages.by_id["demo"]


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
    """A list has the modes of the replies; a text names the counter of the ignored frame."""
    visitor = Visitor(stages)
    for expected in (before_join, after_join):
        ignored = {name: count for name, count in stages.counts.items() if name != "frames"}
        answer = visitor.send(frame)
        if isinstance(expected, str):
            assert answer == []
            assert stages.counts[expected] == ignored.get(expected, 0) + 1
        else:
            assert answer == expected
            assert {name: n for name, n in stages.counts.items() if name != "frames"} == ignored
        visitor.send(b"stage_ID=demo&mode=JOIN")


def test_loaded_is_confirmed(stages: Stages) -> None:
    visitor = Visitor(stages)
    assert visitor.send(b"mode=LOADED") == []
    visitor.send(b"stage_ID=demo&mode=JOIN")
    assert visitor.send(b"mode=LOADED")[-1] == "CONFIRM_LOADED"


def test_counts_are_sent_once_for_many_joins() -> None:
    """n simultaneous joins cost n JOINED frames, not n²."""
    moments: list[Callable[[], None]] = []
    stages = with_demo(Stages(later=moments.append))
    heard: list[list[bytes]] = [[] for _ in range(3)]
    members = [stages.connect(frames.append) for frames in heard]
    for member in members:
        stages.receive(member, b"stage_ID=demo&mode=JOIN")
    assert not any(frame.endswith(b"mode=JOINED\0") for frames in heard for frame in frames)
    stages.disconnect(members[2])
    [moment] = moments
    moment()
    for frames in heard[:2]:
        assert [frame for frame in frames if b"JOINED" in frame] == [b"pCount=0&aCount=2&mode=JOINED\0"]
    stages.receive(members[0], b"stage_ID=demo&mode=JOIN")
    assert len(moments) == 2
