"""The stage over both its doors: the raw socket on 7230 and the WebSocket on /ws."""

import json

import pytest
import websocket

from stack import Stack
from support.stage_client import StageClient


@pytest.fixture(params=["raw", "web"])
def seat(stack: Stack, request: pytest.FixtureRequest) -> StageClient:
    if request.param == "raw":
        return stack.stage_client()
    return stack.web_stage_client()


OPENING = [
    "SET",
    "STAGE_NAME",
    "PAGE_COLOUR",
    "TOOLS_COLOUR",
    "BACKDROPANDPROP_COLOUR",
    "CHAT_COLOUR",
    "SPLASH_DETAILS",
]


def test_the_set_up_comes_in_upstages_order(seat: StageClient) -> None:
    modes = [frame["mode"] for frame in seat.join()]
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


def test_everything_the_stage_names_can_be_loaded(stack: Stack) -> None:
    stage = stack.stage_client()
    for frame in stage.join():
        if frame["mode"] in ("LOAD_AV", "LOAD_BACKDROP", "LOAD_PROP"):
            assert stack.get(frame["url"]).status_code == 200
        if frame["mode"] == "LOAD_AUDIO":
            assert stack.get(f"/media/audio/{frame['url']}").headers["Content-Type"] == "audio/mpeg"
    stage.close()


def test_raw_socket_and_websocket_are_one_audience(stack: Stack) -> None:
    raw, web = (
        stack.stage_client(),
        stack.web_stage_client("classic.localhost"),
    )
    raw.join()
    web.join()
    raw.send("TEXT", msg="Grüße & <Küsse>")
    web.until("ANONTEXT")
    web.send("TEXT", msg="bravo!")
    # Both hear both lines, their own as well; "<" never travels as markup.
    assert raw.until("ANONTEXT")[-1]["text"] == "Grüße & &lt;Küsse&gt;"
    for stage in (raw, web):
        assert stage.until("ANONTEXT")[-1]["text"] == "bravo!"
    raw.close()
    web.close()


def test_a_stranger_page_may_not_open_the_websocket(stack: Stack) -> None:
    with pytest.raises(websocket.WebSocketBadStatusException):
        websocket.create_connection(
            f"ws://127.0.0.1:{stack.ports['HTTP_PORT']}/ws",
            timeout=30,
            host=f"localhost:{stack.ports['HTTP_PORT']}",
            origin="http://stranger.example",
        )


def test_the_player_counted_as_player(stack: Stack) -> None:
    stage = stack.stage_client()
    frames = stage.join(stack.player_key("admin", stack.admin_password))
    stage.close()
    (joined,) = (frame for frame in frames if frame["mode"] == "JOINED")
    assert int(joined["pCount"]) == 1, json.dumps(joined)
