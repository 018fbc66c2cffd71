"""acting and drawing: holding and releasing avatars, props and layers, and what late joiners see."""

import pytest

from backend.tests.fake_clients import FakeClient, acting_player
from upstage.stage.drawing import redraw
from upstage.stage.kept import Drawing, Mark
from upstage.stage.layers import MAX_MARKS, Layer
from upstage.stage.players import AUDIENCE, Pen
from upstage.stage.stage import Stage
from upstage.stage.stages import Stages
from upstage.stage.wire import decode


@pytest.fixture
def ann(stages: Stages) -> FakeClient:
    return quiet(FakeClient(stages, acting_player("ann")))


@pytest.fixture
def bob(stages: Stages, ann: FakeClient) -> FakeClient:
    client = FakeClient(stages, acting_player("bob"))
    ann.heard()
    return quiet(client)


def quiet(client: FakeClient) -> FakeClient:
    client.heard()
    return client


def test_a_second_login_takes_the_first_client_off_the_stage(
    stages: Stages, stage: Stage, ann: FakeClient, bob: FakeClient
) -> None:
    ann.send("ID=1&mode=AV", "layer=1&mode=DRAW_LAYER")
    ann.heard(), bob.heard()
    again = FakeClient(stages, acting_player("ann"))
    assert ann.heard() == ["mode=ERR_DOUBLE_LOGIN"]
    assert bob.heard() == [
        "client=sock_1&ID=1&mode=AV_DISCONNECT",
        "mode=DRAW_LAYER_STATE",
        "pCount=1&aCount=0&mode=JOINED",
        "pCount=2&aCount=0&mode=JOINED",
    ]
    ann.send("msg=still%20here&mode=TEXT", "mode=LOADED")
    assert ann.heard() == bob.heard() == []
    assert again.modes()[0] == "SET"
    ann.leave()
    assert stage.players == 2


def test_two_stages_or_a_large_audience_are_not_a_double_login(stages: Stages) -> None:
    first, second = (FakeClient(stages, acting_player("ann"), name) for name in ("demo", "other"))
    visitors = [FakeClient(stages) for _ in range(2)]
    assert not [client for client in (first, second, *visitors) if "ERR_DOUBLE_LOGIN" in client.modes()]


def test_another_player_on_a_socket_releases_what_the_first_held(stage: Stage, ann: FakeClient) -> None:
    ann.send("ID=1&mode=AV", "MD5=unknown&mode=IDENT")
    assert ann.member.player is AUDIENCE
    assert stage.avatars[0].holder is None
    assert stage.players == 1  # a member counts as what it was when it joined


def test_members_are_told_of_a_reload_and_of_an_end(stages: Stages, stage: Stage, ann: FakeClient) -> None:
    stage.reload()
    assert ann.heard() == ["mode=RELOAD"]
    stages.remove("demo")
    assert ann.heard() == ["msg=This+stage+has+been+closed.&mode=ERR_DOUBLE_LOGIN"]
    ann.send("msg=hello&mode=TEXT", "stage_ID=demo&mode=JOIN")
    assert ann.modes() == ["ERR_DOUBLE_LOGIN"]


def test_a_full_layer_drops_its_oldest_marks_and_continues_where_they_ended() -> None:
    layer = Layer(0)
    layer.style(Pen(1, "2", "3"))
    layer.point("DRAW_MOVE", "0", "0")
    for number in range(MAX_MARKS):
        layer.point("DRAW_LINE", str(number), "7")
    replay = list(layer.replay())[1:]
    assert len(replay) == MAX_MARKS + 2
    assert replay[:3] == [
        b"layer=0&colour=1&thickness=2&alpha=3&mode=DRAW_STYLE\0",
        b"layer=0&x=0&y=0&mode=DRAW_MOVE\0",
        b"layer=0&x=0&y=7&mode=DRAW_LINE\0",
    ]
    layer.point("DRAW_LINE", "9999", "7")
    assert list(layer.replay())[2:4] == [
        b"layer=0&x=0&y=7&mode=DRAW_MOVE\0",
        b"layer=0&x=1&y=7&mode=DRAW_LINE\0",
    ]
    layer.clear()
    assert list(layer.replay()) == [
        layer.visibility(),
        b"layer=0&colour=1&thickness=2&alpha=3&mode=DRAW_STYLE\0",
    ]


def test_the_disk_has_at_most_twice_as_many_frames_as_a_full_layer() -> None:
    layer, disk, most = Layer(0), [], 0
    for number in range(5 * MAX_MARKS):
        frame = layer.point("DRAW_LINE", str(number % 1000), str(number // 1000))
        match layer.change(frame):
            case Mark(_, mark):
                disk.append(mark)
            case Drawing(_, frames):
                disk = list(frames)
        most = max(most, len(disk))
    assert 2 * MAX_MARKS - 10 < most <= 2 * MAX_MARKS
    again = Layer(0)
    for frame in disk:
        redraw(again, decode(frame[:-1]))
    assert list(again.replay()) == list(layer.replay())
    assert again.written == len(disk)


def test_members_are_sent_the_same_prepared_drawing(stages: Stages, stage: Stage, ann: FakeClient) -> None:
    ann.send("layer=1&mode=DRAW_LAYER", "x=1&y=2&mode=DRAW_LINE")
    layer = stage.layers[1]
    first, second = FakeClient(stages), FakeClient(stages)
    [prepared] = [frames for frames in first.sent if b"DRAW_LINE" in frames]
    assert any(frames is prepared for frames in second.sent)
    for frame in (
        "x=3&y=4&mode=DRAW_LINE",
        "colour=1&thickness=2&alpha=3&mode=DRAW_STYLE",
        "layer=1&alpha=5&visible=1&mode=DRAW_VIS",
        "layer=1&mode=DRAW_CLEAR",
    ):
        before = layer.prepared()
        ann.send(frame)
        assert layer.prepared() != before
        assert b"".join(layer.prepared()) == b"".join(layer.replay())


def test_four_full_layers_are_less_than_768_kib() -> None:
    """This is the highest cost of a client that joins and does not read: a JOIN has no other limit."""
    layer = Layer(0)
    for _ in range(MAX_MARKS):
        layer.point("DRAW_LINE", "-1234.567", "-1234.567")
    assert 4 * sum(map(len, layer.replay())) < 768 << 10


def test_late_joiners_get_a_playing_sounds_position(stages: Stages, stage: Stage, ann: FakeClient) -> None:
    now = 50.0
    stages.clock = lambda: now  # type: ignore[method-assign]
    ann.send("array=sounds&url=bell.mp3&mode=PLAY_CLIP")
    now = 52.5
    late = [frame for frame in FakeClient(stages).heard() if frame.endswith("LOAD_AUDIO")]
    assert late == ["ID=1&name=Bell&url=bell.mp3&type=sfx&position=2.5&mode=LOAD_AUDIO"]
    ann.send("type=sfx&url=bell.mp3&mode=STOP_AUDIO")
    assert "position=0" in next(frame for frame in FakeClient(stages).heard() if frame.endswith("LOAD_AUDIO"))
