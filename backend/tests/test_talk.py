"""talk: the log's line forms, what is written down and spoken, and whispers across stages."""

from collections.abc import Callable

import pytest

from company import Guest, actor
from upstage.house import House
from upstage.stage import Colours, Stage


@pytest.fixture
def house(stage: Stage) -> House:
    other = Stage("other", "Other", "Hi", Colours("0x0", "0x0", "0x0", "0x0"))
    return House([stage, other])


def test_the_forms_of_a_line_in_the_log(stage: Stage) -> None:
    written: list[tuple[str, str]] = []
    spoken: list[tuple[str, str]] = []

    def keep(id: str, line: str, kept: Callable[[], None]) -> None:
        written.append((id, line))
        kept()

    house = House(
        [stage],
        keep=keep,
        speak=lambda voice, text: spoken.append((voice, text)),
    )
    ann = Guest(house, actor("ann"))
    stage.avatars[0].voice = "robot"
    ann.send("msg=house&mode=TEXT", "ID=1&mode=AV", "msg=a%20%3C%20b&mode=TEXT", "thought=t&mode=THOUGHT")
    ann.send("shout=S&mode=SHOUT", "pmessage=p&mode=PMESSAGE")
    lines = [" house", "<Ann> a < b", "[Ann] {t}", "<Ann>! S", "<Ann># p"]
    assert list(stage.chat) == lines
    assert written == [("demo", line) for line in lines]
    assert spoken == [("robot", "a < b"), ("robot", "S")]
    assert "WAVE" not in ann.modes()  # there was no URL


def message(frames: list[str]) -> list[str]:
    return [frame for frame in frames if frame.endswith("mode=MSG")]


def test_a_whisper_finds_players_on_all_stages(house: House) -> None:
    ann, bob, eve = (
        Guest(house, actor("ann")),
        Guest(house, actor("bob")),
        Guest(house, actor("eve"), "other"),
    )
    crowd = Guest(house)
    bob.send("ID=2&mode=AV")
    for guest in (ann, bob, eve, crowd):
        guest.heard()
    ann.send("msg=Bo~B|eve;nobody%20%3D%20now%20%3D%20%3C&mode=WHISPER".replace(";", "%3B"))
    whisper = "senderID=ann&text=now+%3D+%26lt%3B&mode=WHISPER"
    assert bob.heard() == eve.heard() == [whisper]
    assert crowd.heard() == []
    assert ann.heard() == [
        "message=You+whispered+to+bob%2C+eve%3A+now+%3D+%26lt%3B&mode=MSG",
        "message=Nobody+here+is+called+nobody.&mode=MSG",
    ]
    assert not house.stages["demo"].chat


def test_a_whisper_to_all_stays_on_the_stage(house: House) -> None:
    ann, bob, eve = (
        Guest(house, actor("ann")),
        Guest(house, actor("bob")),
        Guest(house, actor("eve"), "other"),
    )
    for guest in (ann, bob, eve):
        guest.heard()
    ann.send("msg=*%3Dplaces&mode=WHISPER")
    assert bob.modes() == ["WHISPER"]
    assert ann.modes() == ["WHISPER", "MSG"]
    assert eve.modes() == []


@pytest.mark.parametrize("text", ["bob", "=x", "bob=", ", =x", ""])
def test_a_whisper_that_is_none(house: House, text: str) -> None:
    ann, bob = Guest(house, actor("ann")), Guest(house, actor("bob"))
    ann.heard(), bob.heard()
    ann.send(f"msg={text.replace('=', '%3D')}&mode=WHISPER")
    assert ann.heard() == ["message=To+whisper%3A+%2Fwh+name%2C+name+%3D+text&mode=MSG"]
    assert bob.heard() == []


def test_the_buttons_are_there_for_late_joiners(house: House) -> None:
    ann = Guest(house, actor("ann"))
    ann.send("mode=APPLAUSE", "mode=VOLUNTEER")
    late = Guest(house)
    late.heard()
    late.send("mode=LOADED")
    assert late.modes()[-3:] == ["APPLAUSE", "VOLUNTEER", "CONFIRM_LOADED"]
    ann.send("mode=NOAPPLAUSE", "mode=NOVOLUNTEER")
    late.heard()
    late.send("mode=LOADED")
    assert "APPLAUSE" not in late.modes()
