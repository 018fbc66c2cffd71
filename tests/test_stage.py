"""The stage over both transports: the stage socket on 7230 and the WebSocket at /ws."""

import pytest

from tests.stack import Stack


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
