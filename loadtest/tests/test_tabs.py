"""The answer that Locust's page polls, with what we add to it."""

import pytest
from locust.env import Environment
from locust.runners import STATE_CLEANUP, STATE_RUNNING, STATE_SPAWNING, STATE_STOPPED, STATE_STOPPING

import tabs


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (STATE_SPAWNING, STATE_SPAWNING),
        (STATE_RUNNING, STATE_RUNNING),
        (STATE_CLEANUP, STATE_RUNNING),  # or the page would not ask again, and never learn that it is over
        (STATE_STOPPING, STATE_RUNNING),
        (STATE_STOPPED, STATE_STOPPED),
    ],
)
def test_the_page_asks_until_the_run_is_over(state: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["locust"])  # which it reads for the form
    environment = Environment()
    environment.create_local_runner()
    web_ui = environment.create_web_ui(delayed_start=True)
    tabs.add(web_ui, "Tab", [], lambda: [{"name": "row"}])
    assert environment.runner
    assert web_ui.app
    environment.runner.state = state
    answer = web_ui.app.test_client().get("/stats/requests").get_json()
    assert answer["state"] == told
    assert answer["extended_stats"] == [{"key": "tab", "data": [{"name": "row"}]}]
