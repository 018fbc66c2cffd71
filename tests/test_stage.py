"""The stage over both transports: the stage socket on 7230 and the WebSocket at /ws."""

import pytest

from stack import Stack


@pytest.mark.smoke
def test_both_transports_share_one_audience(stack: Stack) -> None:
    raw, web = stack.stage_client(), stack.web_stage_client("classic.localhost")
    raw.join()
    web.join()
    raw.send("TEXT", msg="Grüße & <Küsse>")
    web.until("ANONTEXT")
    web.send("TEXT", msg="bravo!")
    # Each client receives both lines, its own included; "<" never travels as markup.
    assert raw.until("ANONTEXT")[-1]["text"] == "Grüße & &lt;Küsse&gt;"
    for client in (raw, web):
        assert client.until("ANONTEXT")[-1]["text"] == "bravo!"
    raw.close()
    web.close()


def test_make_reset_brings_a_stage_back_to_its_start(stack: Stack) -> None:
    here, there = stack.stage_client(), stack.web_stage_client()
    here.join(stage="rehearsal")
    there.join(stage="load")
    for client in (here, there):
        client.send("TEXT", msg="to be forgotten")
        client.until("ANONTEXT")
    assert "of rehearsal are removed" in stack.make("reset", "STAGE=rehearsal")
    here.until("RELOAD")
    late = {stage: stack.stage_client() for stage in ("rehearsal", "load")}
    chats = {
        stage: [frame["chat"] for frame in client.join(stage=stage) if frame["mode"] == "LOAD_CHAT"]
        for stage, client in late.items()
    }
    assert chats["rehearsal"] == [""]
    assert "to be forgotten" in chats["load"][0]
    with pytest.raises(AssertionError, match=r"There is no stage nowhere\."):
        stack.make("reset", "STAGE=nowhere")
    for client in (here, there, *late.values()):
        client.close()
