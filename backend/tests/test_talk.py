"""talk: the log's line forms, the written and the spoken lines, and whispers across stages."""

from collections.abc import Callable, Sequence

import pytest

from demo_stage import with_demo
from fake_clients import FakeClient, acting_player
from upstage.stage.kept import Change, Line
from upstage.stage.stage import Colours, Stage
from upstage.stage.stages import Stages


@pytest.fixture
def stages() -> Stages:
    stages = with_demo(Stages())
    stages.add(Stage(stages, "other", "Other", "Hi", Colours("0x0", "0x0", "0x0", "0x0")))
    return stages


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


Cast = tuple[FakeClient, FakeClient, FakeClient]


@pytest.fixture
def cast(stages: Stages) -> Cast:
    """Ann and Bob, who holds the second avatar, and Eve on another stage."""
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


def test_late_joiners_see_the_buttons(stages: Stages) -> None:
    ann = FakeClient(stages, acting_player("ann"))
    ann.send("mode=APPLAUSE", "mode=VOLUNTEER")
    late = FakeClient(stages)
    late.heard()
    late.send("mode=LOADED")
    assert late.modes()[-3:] == ["APPLAUSE", "VOLUNTEER", "CONFIRM_LOADED"]
    ann.send("mode=NOAPPLAUSE", "mode=NOVOLUNTEER")
    late.heard()
    late.send("mode=LOADED")
    assert "APPLAUSE" not in late.modes()
