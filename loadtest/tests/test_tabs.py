"""The answer that Locust's page polls, with what we add to it."""

import json
import subprocess
import sys
from pathlib import Path

# A process of its own, because Locust changes Python's sockets for whoever imports it.
ANSWERS = """
import json
from locust.env import Environment
import tabs

answers = {}
for state in ("ready", "spawning", "running", "cleanup", "stopping", "stopped"):
    environment = Environment()  # each its own: asked twice within two seconds, Locust repeats itself
    environment.create_local_runner().state = state
    web_ui = environment.create_web_ui(delayed_start=True)
    tabs.add(web_ui, "Tab", [], lambda: [{"name": "row"}])
    answers[state] = web_ui.app.test_client().get("/stats/requests").get_json()
print(json.dumps(answers))
"""


def test_the_page_asks_until_the_run_is_over() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ANSWERS], cwd=Path(__file__).parents[1], capture_output=True, text=True
    )
    answers = json.loads(done.stdout)
    assert {state: answer["state"] for state, answer in answers.items()} == {
        "ready": "ready",
        "spawning": "spawning",
        "running": "running",
        # Told these, it would not ask again, and never learn that the run is over.
        "cleanup": "running",
        "stopping": "running",
        "stopped": "stopped",
    }
    for answer in answers.values():
        assert answer["extended_stats"] == [{"key": "tab", "data": [{"name": "row"}]}]
