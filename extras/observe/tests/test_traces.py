"""Traces: putting a request together, showing it, sending it to a collector; and that nothing grows."""

import json
import os
import threading
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from extras.observe.exporter.__main__ import seconds
from extras.observe.exporter.otlp import QUEUE, Sender, endpoint, from_a_container, retry_after
from extras.observe.exporter.traces import HOLD, LATE, LONGEST, MOST, PIECES, SHOWN, Trace, Traces, groups
from tests.support.collector import Collector
from tests.support.origin import Request, response
from tests.support.wait import wait_until

ID, SPAN, CLIENT = "6a05b1a18a71752b342d7240ec65bac5", "342d7240ec65bac5", "b7ad6b7169203331"
NGINX: dict[str, Any] = {
    "method": "GET",
    "url": "/stages/?secret=1",
    "protocol": "HTTP/1.1",
    "host": "localhost",
    "status": 200,
    "bytes": 9,
    "seconds": 0.3,
    "ended": 1000.3,
    "answered": "backend:miss",
    "cache": 'varnish; fwd=uri-miss, nginx; detail="x"',
    "visitor": "anonymous",
    "id": ID,
    "span": SPAN,
    "parent": "",
    "flags": "00",
    "traced": "slow",
}
VARNISH = f"""\
*   << Request  >> 10
-   Begin          req 9 rxreq
-   Timestamp      Start: 1000.010 0.000 0.000
-   ReqMethod      GET
-   ReqURL         /stages/?secret=1
-   ReqHeader      X-Request-Id: {ID}
-   ReqHeader      traceparent: 00-{ID}-{SPAN}-00
-   VCL_call       MISS
-   RespStatus     200
-   Timestamp      Resp: 1000.290 0.280 0.280
**  << BeReq    >> 11
--  Begin          bereq 10 fetch
--  Timestamp      Start: 1000.020 0.000 0.000
--  BerespStatus   200
--  Timestamp      BerespBody: 1000.280 0.260 0.260
"""
BACKEND = {
    "time": "1970-01-01T00:16:40.270Z",
    "event": "request",
    "method": "GET",
    "path": "/stages/",
    "status": 200,
    "bytes": 9,
    "ms": 240.0,
    "request_id": ID,
    "parent": "0000000000000011",
}


class Made:
    """The traces, with a clock that stands still."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sent: list[Trace] = []
        self.traces = Traces(self.sent.append, clock=lambda: self.now)

    def nginx(self, **fields: object) -> None:
        self.traces.nginx(json.dumps(NGINX | fields).encode())

    def complete(self) -> list[Trace]:
        """Let the time pass; return the requests that were put together by then."""
        self.now += HOLD
        self.traces.put_together()
        done, self.sent[:] = list(self.sent), []
        return done

    @property
    def dropped(self) -> float:
        [metric] = self.traces.read()
        return float(metric.samples[0].value)


@pytest.fixture
def made() -> Made:
    return Made()


def names(trace: Trace) -> list[str]:
    return [f"{depth} {span.service} {span.name}" for depth, span in trace.root.walk()]


def test_the_pieces_of_a_request_may_come_in_any_order(made: Made) -> None:
    made.traces.backend(json.dumps(BACKEND).encode())
    made.traces.varnish(VARNISH.splitlines())
    made.nginx()
    made.traces.put_together()
    assert made.sent == [], "there may be more"
    [trace] = made.complete()
    assert names(trace) == ["0 nginx GET", "1 varnish miss", "2 varnish fetch", "3 backend page"]
    assert made.complete() == []
    [shown] = json.loads(made.traces.shown())["slow"]
    assert (shown["trace"], shown["title"], shown["status"]) == (ID, "GET localhost/stages/", 200)
    page = shown["root"]["spans"][0]["spans"][0]["spans"][0]
    assert (page["service"], round(page["began"], 3), page["ended"]) == ("backend", 1000.03, 1000.27)
    assert "secret" not in str(shown)


def test_two_requests_of_one_trace_are_two_trees(made: Made) -> None:
    made.nginx(parent=CLIENT)
    made.nginx(parent=CLIENT, span="00000000000000aa", answered="nginx:hit")
    made.traces.varnish(VARNISH.splitlines())
    made.traces.backend(json.dumps(BACKEND).encode())
    first, second = made.complete()
    assert (len(names(first)), names(second)) == (4, ["0 nginx GET"])


def test_the_last_slow_and_failed_ones_are_shown(made: Made) -> None:
    made.nginx(traced="drawn", flags="01", id="f" * 32)
    for number in range(SHOWN + 5):
        made.nginx(id=f"{number:032x}")
        made.nginx(id=f"{100 + number:032x}", status=503, traced="failed")
    made.complete()
    shown = json.loads(made.traces.shown())
    assert [int(each["trace"], 16) for each in shown["slow"]] == list(range(SHOWN + 4, 4, -1))
    assert [int(each["trace"], 16) for each in shown["failed"]] == list(range(SHOWN + 104, 104, -1))


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"\xff", b'{"method": 1}', b'{"id": {}}'])
def test_what_is_no_line_is_dropped(made: Made, text: bytes) -> None:
    made.traces.nginx(text)
    made.traces.backend(text)
    for name, value in NGINX.items():
        made.traces.nginx(json.dumps({name: value}).encode())
    made.traces.backend(json.dumps({"time": BACKEND["time"], "request_id": ID}).encode())
    made.traces.varnish(VARNISH.splitlines()[:2])
    assert made.dropped > 0
    assert made.complete() == []

    made.nginx()  # then records of Varnish without times, from which no tree can be made
    made.traces.varnish([line for line in VARNISH.splitlines() if "Timestamp" not in line])
    assert made.complete() == []


def test_what_varnish_refuses_is_a_trace_too(made: Made) -> None:
    """No subroutine of the VCL runs for such a request."""
    made.nginx(status=400, url="/\udcff", answered="varnish:refused")
    made.traces.varnish([line for line in VARNISH.splitlines()[:-5] if "VCL_call" not in line])
    [trace] = made.complete()
    assert names(trace) == ["0 nginx GET", "1 varnish refused"]
    made.traces.nginx(json.dumps(NGINX, ensure_ascii=False).encode().replace(b"secret", b"\xff\xe9"))
    assert len(made.complete()) == 1


def test_varnish_may_wait_for_longer_than_nginx(made: Made) -> None:
    """nginx gives up after two seconds; Varnish's records come when its fetch ends."""
    made.nginx(status=503, traced="failed", answered="nginx:error")
    assert made.complete() == []
    made.now += LATE / 2
    made.traces.varnish(VARNISH.splitlines())
    [trace] = made.complete()
    assert names(trace) == ["0 nginx GET", "1 varnish miss", "2 varnish fetch"]
    made.nginx(status=503, traced="failed", answered="nginx:error")
    assert made.complete() == []
    made.now += LATE
    assert len(made.complete()) == 1
    made.traces.varnish(VARNISH.splitlines())
    assert made.complete() == []
    assert made.dropped == 1


def test_too_many_requests_cost_no_memory(made: Made) -> None:
    for number in range(MOST + 7):
        for _ in range(PIECES + 1):
            made.nginx(id=f"{number:032x}")
    assert made.dropped == 7 * (PIECES + 1) + MOST
    assert len(made.complete()) == MOST * PIECES
    made.nginx()
    assert len(made.complete()) == 1


def test_a_flood_of_failed_requests_leaves_places_for_others(made: Made) -> None:
    for _ in range(2):  # the second time, in places that have become free again
        for number in range(MOST + 7):
            made.nginx(id=f"{number:032x}", status=503, traced="failed")
        made.nginx()
        assert [trace.line.id for trace in made.complete()][MOST - 1 :] == [f"{MOST - 1:032x}", ID]


def test_varnishs_records_come_through_a_pipe(made: Made, tmp_path: Path) -> None:
    pipe = tmp_path / "varnish.pipe"
    os.mkfifo(pipe)
    threading.Thread(target=made.traces.follow, args=(tmp_path,), daemon=True).start()
    for _ in range(2):  # varnishlog is restarted
        with pipe.open("w") as log:
            log.write(f"{VARNISH}\n* not a record\n\n{VARNISH.replace('req 9', 'req x')}\n{VARNISH}\n")
    wait_until(lambda: ID in made.traces._waiting and len(made.traces._waiting[ID].varnish) == 4)
    assert made.dropped == 2
    made.nginx()
    assert len(made.complete()) == 1
    lines = StringIO("x\n" * (LONGEST + 1) + "\ny\n\n")
    assert list(groups(lines)) == [["y"]]


# --- A collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()


def test_a_collector_gets_the_tree(made: Made, collector: Collector) -> None:
    made.traces = Traces(Sender(f"http://{collector.address}/", "stack", slow=0.1), clock=lambda: made.now)
    made.nginx(parent=CLIENT)
    made.traces.varnish(VARNISH.replace("bereq 10 fetch", "bereq 10 bgfetch").splitlines())
    made.traces.backend(json.dumps(BACKEND).encode())
    made.complete()
    wait_until(lambda: len(collector.spans()) == 4)
    spans = collector.spans()
    assert [(service, span.name) for service, span in spans] == [
        ("nginx", "GET"),
        ("varnish", "miss"),
        ("varnish", "fetch in the background"),
        ("backend", "page"),
    ]
    assert {span.trace_id.hex() for _, span in spans} == {ID}
    parents = [span.parent_span_id.hex() for _, span in spans]
    assert parents == [CLIENT, *(span.span_id.hex() for _, span in spans[:-1])]
    [link] = [link for _, span in spans for link in span.links]
    assert link.span_id.hex() == parents[2]
    assert [(span.end_time_unix_nano - span.start_time_unix_nano) // 1_000_000 for _, span in spans] == [
        300,
        280,
        260,
        240,
    ]


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({}, False),
        ({"flags": "01"}, True),
        ({"status": 503, "traced": "failed", "seconds": 0.0}, True),
        ({"seconds": 1.0}, True),
        ({"seconds": 100.0, "traced": "drawn"}, False),  # a WebSocket
    ],
)
def test_what_is_sent(made: Made, collector: Collector, fields: dict[str, object], sent: bool) -> None:
    made.traces = Traces(Sender(f"http://{collector.address}", "stack", slow=1.0), clock=lambda: made.now)
    made.nginx(**fields)
    made.nginx(id="f" * 32, flags="01")  # certain to be sent, and sent last
    made.complete()
    wait_until(lambda: collector.spans("f" * 32))
    assert bool(collector.spans(ID)) == sent


def test_a_collector_that_is_away_delays_nothing(made: Made, collector: Collector) -> None:
    address = collector.address
    collector.close()
    send = Sender(f"http://{address}", "stack", slow=0.1)
    made.nginx()
    [trace] = made.complete()
    began = time.monotonic()
    for _ in range(2 * QUEUE):
        send(trace)
        assert time.monotonic() - began < 60  # each attempt to connect may take five seconds


def test_a_collector_that_refuses_is_counted_and_asked_when_it_says(made: Made, collector: Collector) -> None:
    responses = [("429 Slow down", {"retry_after": "3"}), ("401 Who?", {}), ("200 OK", {})]
    times: list[float] = []

    def respond(_: Request) -> bytes:
        times.append(time.monotonic())
        status, fields = responses[min(len(times), 3) - 1]
        return response(b"", status, **fields)

    collector.respond = respond
    send = Sender(f"http://{collector.address}/v1/traces", "stack", slow=0.1, headers="X-Team=a, X-Key=b=c")
    made.nginx()
    [trace] = made.complete()
    send(trace)
    wait_until(lambda: len(times) == 2)
    assert times[1] - times[0] >= 3
    wait_until(lambda: send.read()[0].samples)
    send(trace)
    wait_until(lambda: len(times) == 3)
    wait_until(lambda: len(send.read()[0].samples) == 2)
    counted = {tuple(each.labels.values()): each.value for each in send.read()[0].samples}
    assert counted == {("refused", "401"): 1, ("sent", "200"): 1}
    assert {(one.headers["x-team"], one.headers["x-key"]) for one in collector.requests} == {("a", "b=c")}


def test_how_long_a_collector_wants_to_be_left_alone() -> None:
    assert [retry_after(text) for text in ("7", "", "soon", "99999", "Thu, 01 Jan 1970 00:00:00 GMT")] == [
        *(7, 0, 0, 3600, 0)
    ]


@pytest.mark.parametrize(
    ("collector", "found"),
    [
        ("http://localhost:4318", "http://host.docker.internal:4318/v1/traces"),
        ("http://127.0.0.1/v1/traces", "http://host.docker.internal/v1/traces"),
        ("https://localhost.example/otlp/", "https://localhost.example/otlp/v1/traces"),
    ],
)
def test_where_a_collector_takes_traces(collector: str, found: str) -> None:
    assert endpoint(from_a_container(collector)) == found


@pytest.mark.parametrize(("text", "found"), [("300ms", 0.3), ("2s", 2), ("5m", 300)])
def test_the_time_from_which_all_are_sent(text: str, found: float) -> None:
    assert seconds(text) == pytest.approx(found)
