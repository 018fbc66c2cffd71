"""The backend's own reports about a run."""

from types import SimpleNamespace
from typing import Any

import pytest

from caches import backend
from caches.backend import BackendPoll
from loadtest.tests.fake_site import METRICS
from loadtest.tests.locust_library import parse
from tests.support.origin import Origin, response


def test_they_begin_before_the_first_user_and_end_after_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "INTERVAL", 3600.0)
    monkeypatch.setattr(backend, "SETTLE", 0.0)
    origin, poll = Origin("backend"), BackendPoll()
    environment: Any = SimpleNamespace(
        host=f"http://{origin.address}", parsed_options=parse(), web_ui=True, shape_class=None, runner=None
    )

    def report(websockets: int) -> None:
        line = b'upstage_http_request_seconds_count{path="websocket"} %d\n' % websockets
        origin.respond = lambda _: response(METRICS + line)

    assert poll.now() == "no figures: no run yet"
    report(3)
    poll.start(environment)
    assert (poll.settled, poll.asked["websocket"]) == (False, 0)
    report(10)
    poll.look()
    assert poll.asked["websocket"] == 7
    poll.forget()
    assert poll.asked["websocket"] == 0
    report(12)
    poll.stop()
    assert (poll.settled, poll.asked["websocket"]) == (True, 2)
    origin.respond = lambda _: response("", "404 Not Found")
    poll.look()
    assert poll.now() == "no figures: status 404"
    origin.close()
