"""The stage over both its doors: the raw socket on 7230 and the WebSocket on /ws."""

import json

import pytest
import websocket

from house import House
from stage_client import RawStage, WebStage, enter, player_key


@pytest.fixture(params=["raw", "web"])
def seat(house: House, request: pytest.FixtureRequest) -> RawStage:
    if request.param == "raw":
        return RawStage(house.ports["SWF_PORT"])
    return WebStage(house.ports["HTTP_PORT"])


OPENING = [
    "SET",
    "STAGE_NAME",
    "PAGE_COLOUR",
    "TOOLS_COLOUR",
    "BACKDROPANDPROP_COLOUR",
    "CHAT_COLOUR",
    "SPLASH_DETAILS",
]


def test_the_set_up_comes_in_upstages_order(seat: RawStage) -> None:
    modes = [frame["mode"] for frame in enter(seat)]
    seat.close()
    assert modes[:7] == OPENING
    loads = [mode for mode in modes if mode.startswith("LOAD_")]
    assert loads == sorted(
        loads, key=["LOAD_AV", "LOAD_BACKDROP", "LOAD_PROP", "LOAD_AUDIO", "LOAD_CHAT"].index
    )
    assert loads.count("LOAD_AV") >= 3
    assert [loads.count(kind) for kind in ("LOAD_BACKDROP", "LOAD_PROP", "LOAD_AUDIO", "LOAD_CHAT")] == [
        2,
        2,
        3,
        1,
    ]
    assert modes[-1] == "CONFIRM_LOADED"


def test_everything_the_stage_names_can_be_loaded(house: House) -> None:
    stage = RawStage(house.ports["SWF_PORT"])
    for frame in enter(stage):
        if frame["mode"] in ("LOAD_AV", "LOAD_BACKDROP", "LOAD_PROP"):
            assert house.get(frame["url"]).status_code == 200
        if frame["mode"] == "LOAD_AUDIO":
            assert house.get(f"/media/audio/{frame['url']}").headers["Content-Type"] == "audio/mpeg"
    stage.close()


def test_raw_socket_and_websocket_are_one_audience(house: House) -> None:
    raw, web = (
        RawStage(house.ports["SWF_PORT"]),
        WebStage(house.ports["HTTP_PORT"], "classic.localhost"),
    )
    enter(raw)
    enter(web)
    raw.send("TEXT", msg="Grüße & <Küsse>")
    web.until("ANONTEXT")
    web.send("TEXT", msg="bravo!")
    # Both hear both lines, their own as well; "<" never travels as markup.
    assert raw.until("ANONTEXT")[-1]["text"] == "Grüße & &lt;Küsse&gt;"
    for stage in (raw, web):
        assert stage.until("ANONTEXT")[-1]["text"] == "bravo!"
    raw.close()
    web.close()


def test_a_stranger_page_may_not_open_the_websocket(house: House) -> None:
    with pytest.raises(websocket.WebSocketBadStatusException):
        websocket.create_connection(
            f"ws://127.0.0.1:{house.ports['HTTP_PORT']}/ws",
            timeout=30,
            host=f"localhost:{house.ports['HTTP_PORT']}",
            origin="http://stranger.example",
        )


def test_the_player_counted_as_player(house: House) -> None:
    stage = RawStage(house.ports["SWF_PORT"])
    frames = enter(stage, player_key(house, "admin", house.admin_password))
    stage.close()
    (joined,) = (frame for frame in frames if frame["mode"] == "JOINED")
    assert int(joined["pCount"]) == 1, json.dumps(joined)
