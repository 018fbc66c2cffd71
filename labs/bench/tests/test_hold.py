"""Held connections: the client against a tiny server on loopback, which is good or has one fault."""

import json
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import hold_client
from bench.house import House, Problem
from bench.tools import hold
from bench.watch import Memory

BODY = b"x" * 5000
GOOD = b"HTTP/1.1 200 OK\r\nServer: tiny\r\nContent-Length: 5000\r\n\r\n" + BODY


class Tiny(socketserver.ThreadingTCPServer):
    """Answers every request with `answer`; the parts are sent one after the other. An empty part closes."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[list[bytes]] = []  # of the next requests; then it is GOOD
        self.lock = threading.Lock()
        self.asked = self.connected = 0
        self.close_after: float | None = None  # seconds of idleness

    def next_answer(self) -> list[bytes]:
        with self.lock:
            self.asked += 1
            return self.answers.pop(0) if self.answers else [GOOD]


class Handler(socketserver.BaseRequestHandler):
    server: Tiny

    def handle(self) -> None:
        with self.server.lock:
            self.server.connected += 1
        self.request.settimeout(self.server.close_after)
        try:
            while request := self.request.recv(4096):
                assert request.startswith(b"GET /file HTTP/1.1\r\nHost: 127.0.0.1\r\n"), request
                for part in self.server.next_answer():
                    if not part:
                        return
                    self.request.sendall(part)
                    time.sleep(0.01)  # so that parts arrive as parts
        except (TimeoutError, ConnectionError):
            return


@pytest.fixture
def tiny() -> Iterator[Tiny]:
    with Tiny() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def settings(server: Tiny, **changes: Any) -> dict[str, Any]:
    return {
        "host": "127.0.0.1",
        "port": server.server_address[1],
        "path": "/file",
        "bytes": 5000,
        "connections": 20,
        "every": 0.2,
        "rounds": 2,
        "pause": 0.1,
        "patience": 30,
        **changes,
    }


def test_all_are_held_and_all_ask_again_and_again(tiny: Tiny) -> None:
    begin = time.time()
    report = hold_client.hold(settings(tiny))
    assert report["failures"] == {}
    assert (report["held"], report["replies"]) == (20, 40)
    assert (tiny.connected, tiny.asked) == (20, 60), (
        "one connection for each, and one request when it was opened"
    )
    assert begin <= report["held_from"] <= report["held_until"] - 0.45, "at rest, and while they asked"
    assert report["asking_seconds"] >= 2 * 0.2 - 0.01, "by the clock, the last one at its end"
    assert 0 < report["milliseconds"] <= 30_000
    assert report["deviation_milliseconds"] >= 0
    assert report["p99_milliseconds"] >= report["milliseconds"] / 2
    assert report["late_milliseconds"] >= 0


def test_more_connections_than_are_opened_at_once(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold_client, "OPENING", 3)
    assert hold_client.hold(settings(tiny))["held"] == 20


def test_an_answer_in_pieces_is_an_answer(tiny: Tiny) -> None:
    tiny.answers = [[GOOD[:10], GOOD[10:70], GOOD[70:3000], GOOD[3000:]] for _ in range(20)]
    assert hold_client.hold(settings(tiny))["failures"] == {}


def test_the_time_of_an_answer_counts_from_when_it_was_due(tiny: Tiny) -> None:
    # The second of two requests is due while the first is being answered, slowly, by the same thread.
    class OneByOne(Tiny):
        def next_answer(self) -> list[bytes]:
            with self.lock:
                if self.asked >= 2:  # not those of the opening
                    time.sleep(0.3)
                self.asked += 1
                return [GOOD]

    with OneByOne() as slow:
        thread = threading.Thread(target=slow.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        report = hold_client.hold(settings(slow, connections=2, rounds=1, every=0.02))
        slow.shutdown()
        thread.join()
    assert report["failures"] == {}
    assert report["milliseconds"] >= (300 + 590) / 2


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([GOOD[:2000], b""], "closed before the answer was complete"),
        ([b""], "closed before the answer was complete"),
        ([GOOD.replace(b"5000", b"4999")[:-1]], "4999 bytes instead of 5000"),
        ([GOOD.replace(b"Content-Length: 5000", b"Content-Type: none")], "unknown bytes instead of 5000"),
        ([GOOD + b"x"], "more than was asked for"),
        ([GOOD, b"HTTP/1.1 408 Request Timeout\r\n\r\n"], "more than was asked for"),
        ([b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"], "status 503"),
        ([b"220 mail.example\r\n\r\n"], "status mail.example"),
    ],
)
def test_a_wrong_answer_ends_the_opening(tiny: Tiny, parts: list[bytes], why: str) -> None:
    tiny.answers = [[GOOD]] * 3 + [parts]
    report = hold_client.hold(settings(tiny, pause=1))
    assert report["failures"] == {why: 1}
    assert report["held"] < 20
    assert "replies" not in report


def test_a_wrong_answer_to_a_held_connection(tiny: Tiny) -> None:
    tiny.answers = [[GOOD]] * 20 + [[GOOD[:2000], b""]]
    report = hold_client.hold(settings(tiny))
    assert report["failures"] == {"closed before the answer was complete": 1}
    assert report["replies"] == 38, "the others go on; the lost one has asked once, of twice"
    assert "milliseconds" not in report


def test_a_server_that_closes_idle_connections(tiny: Tiny) -> None:
    tiny.close_after = 0.2
    report = hold_client.hold(settings(tiny, pause=5))
    assert report["failures"] == {"closed while it waited": 20}
    assert report["held"] == 0
    assert "replies" not in report


def test_a_server_that_does_not_answer(tiny: Tiny) -> None:
    tiny.answers = [[GOOD]] * 19 + [[GOOD[:100]]]
    report = hold_client.hold(settings(tiny, patience=1))
    assert report["failures"] == {"no answer within 1 s": 1}
    assert report["held"] == 19


def test_a_held_connection_that_is_not_answered_any_more(tiny: Tiny) -> None:
    tiny.answers = [[GOOD]] * 20 + [[GOOD[:100]]]
    report = hold_client.hold(settings(tiny, patience=3))
    assert report["failures"] == {"no answer within 3 s": 1}
    assert report["replies"] == 38


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with Tiny() as unused:
        report = hold_client.hold({**settings(unused), "port": port})
    assert set(report["failures"]) == {"connection refused"}
    assert report["held"] == 0


def test_the_program_prints_one_line_of_json(tiny: Tiny) -> None:
    wanted = json.dumps(settings(tiny))
    printed = subprocess.check_output(
        [sys.executable, "-I", hold_client.__file__, wanted], text=True, timeout=60
    )
    assert printed.count("\n") == 1
    assert json.loads(printed)["replies"] == 40


REPORT = {
    "held": 100,
    "open_seconds": 0.5,
    "held_from": 1000.0,
    "held_until": 1001.0,
    "replies": 200,
    "asking_seconds": 5.0,
    "generator_cpu_percent": 3.0,
    "milliseconds": 1.5,
    "deviation_milliseconds": 0.5,
    "p99_milliseconds": 4.0,
    "late_milliseconds": 0.1,
    "seconds": 6.5,
    "failures": {},
}


def test_metrics() -> None:
    found = hold.metrics(REPORT, 100, before=1_000_000, held=[1_050_000, 1_060_000, 9_000_000])
    assert found["bytes_per_connection"] == 600
    assert found["memory_bytes"] == 1_060_000
    assert found["replies_per_second"] == 40
    assert found["errors"] == 0


def test_failures_are_no_figure() -> None:
    with pytest.raises(Problem, match=r"^3 of 100 held connections failed: reset \(2\); status 503 \(1\)$"):
        hold.metrics({**REPORT, "failures": {"reset": 2, "status 503": 1}}, 100, 0, [1])
    opening = {key: REPORT[key] for key in ("held_from", "held_until", "open_seconds")}
    with pytest.raises(Problem, match=r"^33 of 100 connections held, then: no answer within 5 s \(67\)$"):
        hold.metrics({**opening, "held": 33, "failures": {"no answer within 5 s": 67}}, 100, 0, [1])


def test_without_a_look_at_the_memory_there_is_no_figure() -> None:
    with pytest.raises(Problem, match="did not tell the memory"):
        hold.metrics(REPORT, 100, 0, [])


class Growing(House):
    """A house with nobody in it, whose memory grows by 1 MB with each look, and stops at 10 MB."""

    def __init__(self) -> None:
        self.bytes = 0

    def memory_bytes(self, service: str) -> int:
        self.bytes = min(self.bytes + 1_000_000, 10_000_000)
        return self.bytes


def test_the_memory_is_read_when_it_has_come_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "PAUSE", 0.0)
    assert hold.at_rest(Growing(), "nginx") == 10_000_000
    monkeypatch.setattr(hold, "SETTLED", 0.0)
    with pytest.raises(Problem, match="does not come to rest"):
        hold.at_rest(Growing(), "nginx")


def test_memory_is_looked_at_while_something_goes_on() -> None:
    begin = time.time()
    with Memory(Growing(), "nginx") as memory:
        deadline = time.monotonic() + 60
        while len(memory.samples) < 4 and time.monotonic() < deadline:
            time.sleep(0.05)
    assert [size for _, size in memory.samples][:4] == [1_000_000, 2_000_000, 3_000_000, 4_000_000]
    assert memory.most() == max(size for _, size in memory.samples)
    first = memory.samples[0][0]
    assert memory.between(begin, first) == [1_000_000]
    assert memory.between(first - 2, first - 1) == []


def test_an_engine_that_does_not_tell_is_heard() -> None:
    class Gone(Growing):
        def memory_bytes(self, service: str) -> int:
            raise OSError("no such container")

    with pytest.raises(OSError, match="no such container"), Memory(Gone(), "nginx"):
        pass


def test_the_client_is_where_the_generator_looks_for_it() -> None:
    assert Path(hold_client.__file__).parts[-3:] == ("loadtest", "bench", Path(hold.CLIENT).name)
