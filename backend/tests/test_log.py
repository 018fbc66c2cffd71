"""The log: one JSON line per event, whatever the event contains."""

import json

from twisted.logger import Logger
from twisted.python.failure import Failure

from upstage.log import MAX_LINE, observer


def test_an_event_is_one_line_of_json() -> None:
    lines: list[bytes] = []
    log = Logger(observer=observer(lines.append))
    log.info("request", fields={"path": "/\n\xff", "status": 200})
    log.info("hello {who}", who="world")
    try:
        raise ValueError("broken")
    except ValueError:
        log.failure("it", failure=Failure())
    log.info("UploadListener starting on 2122")  # a camera's port, twice a second
    log.info("(TCP Port 2122 Closed)")
    log.info("long", fields={"path": "x" * 10_000})
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    assert all(len(line) <= MAX_LINE for line in lines)
    request, hello, failure, long = map(json.loads, lines)
    fields = {"level": "info", "event": "request", "path": "/\n\xff", "status": 200}
    assert request | {"time": ""} == {"time": "", **fields}
    assert hello["event"] == "hello world"
    assert "ValueError: broken" in failure["traceback"]
    assert long["event"] == "long"
