"""The drivers of the labs' own load generators: which measurements they reject, and what they compute."""

import json
import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from labs.bench.cpu import MACHINE, Cpu
from labs.bench.drivers import (
    capacity,
    chat,
    crawlers,
    crowd,
    handshakes,
    joins,
    non_reader,
    one_line,
    open_connections,
    outage,
    preload,
)
from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack, Problem, Usage
from labs.bench.memory import Memory
from labs.bench.tests.generator import Generator
from tests.stack import REPO

# --- Chat, joins, and clients that never read


def loads_report(**changes: Any) -> dict[str, Any]:
    usual = {"milliseconds": [30.0, 40.0, 80.0], "failures": [], "late_milliseconds": 3.0}
    return {**usual, "served_per_second": 6.0, "cpu_percent": 20.0, **changes}


def talk_report(**loads: Any) -> dict[str, Any]:
    lines = [float(number) for number in range(101)]
    return {"milliseconds": lines, "late_milliseconds": [0.5], "cpu_percent": 5.0, **loads}


def test_the_load_is_a_share_of_what_upstage_alone_can_serve() -> None:
    capacities = [loads_report(served_per_second=rate) for rate in (9.0, 10.0, 7.0)]
    generator = Generator(*capacities, *[talk_report(page_loads=None)] * 8)
    cells = [cell for cell in load(REPO / "labs" / "scale", "full").cells if cell.driver == "chat"]
    for cell in sorted(cells, key=lambda cell: cell.key["load"] == 0):
        chat.measure(generator.stack, cell.settings)
    # Measured once for all cells, on the backend's own port.
    asked = [generator.settings(number) for number in range(len(generator.commands))]
    assert [(one["address"], one["port"]) for one in asked[:3]] == [("backend", 8081)] * 3
    rates = {(one["web"]["address"], round(one["page_loads_per_second"], 6)) for one in asked[3:]}
    assert rates == {(address, rate) for address in ("backend", "nginx") for rate in (0, 3, 6, 9)}


def test_a_client_that_is_not_disconnected_rejects_the_measurement() -> None:
    stack = Generator({"cut_seconds": None, "bytes": 3000.0})
    with pytest.raises(Problem, match="a client that never reads was still there after 150 s"):
        non_reader.measure(stack.stack, {"within": 150})
    assert stack.restarted == ["backend"]


def test_the_use_of_the_servers_is_that_while_lines_were_sent() -> None:
    def sampled(*moments: float) -> dict[str, Memory]:
        """Return samples of a service that uses half of a core and grows by a kilobyte a second."""
        samples = [(moment, Usage(moment / 2, 1000 * int(moment), 10**9)) for moment in moments]
        return {"backend": cast(Memory, SimpleNamespace(samples=samples))}

    held = dict.fromkeys(one_line.PASSED_ON, 7.0)
    held |= {"join_seconds": 2.0, "held_from": 100.0, "held_until": 110.0}
    found = one_line.metrics(held, {"lines": 5}, sampled(1, 99, 102, 104, 109, 130))
    assert found["backend_memory_bytes"] == 104_000
    assert found["backend_cpu_milliseconds_per_line"] == 1000
    with pytest.raises(Problem, match="the memory of backend less than twice"):
        one_line.metrics(held, {"lines": 5}, sampled(1, 104, 130))


# --- A distant crowd

PRELOAD = {
    **{"requests_each": 109, "milliseconds": [1000.0, 3000.0, None], "seconds": 10.0, "cpu_seconds": 5.0},
    **{"bytes": [20_000_000, 20_000_000, 5_000_000], "failures": ["the stage was not loaded within 10 s"]},
    **{"chat_milliseconds": [4.0] * 99 + [104.0], "late_milliseconds": [1.0] * 100},
}


def test_a_visitor_that_gave_up_counts_with_the_time_it_waited() -> None:
    figures = preload.metrics(PRELOAD, 10)
    assert (figures["requests"], figures["p50_milliseconds"]) == (218, 3000)
    assert figures["p99_milliseconds"] == pytest.approx(9860)
    assert figures["loaded_percent"] == pytest.approx(66.7, abs=0.1)


# --- Held connections


def usage(memory_bytes: int, process_bytes: int = 0, tasks: int = 1) -> Usage:
    return Usage(0.0, memory_bytes, 10**9, process_bytes, tasks)


HELD: dict[str, Any] = dict.fromkeys(open_connections.PASSED_ON, 1.5) | {
    **{"held": 100, "replies": 200, "requesting_seconds": 5.0, "seconds": 6.5, "failures": {}},
}


def test_memory_per_connection_is_the_median_held_minus_that_before() -> None:
    held = [usage(1_050_000, 520_000, 8), usage(1_060_000, 530_000, 9), usage(9_000_000, 8_000_000, 99)]
    found = open_connections.metrics(HELD, 100, before=usage(1_000_000, 500_000), held=held)
    assert (found["bytes_per_connection"], found["process_bytes_per_connection"]) == (600, 300)
    assert (found["memory_bytes"], found["process_bytes"], found["tasks"]) == (1_060_000, 530_000, 9)
    assert found["requests_per_second"] == 40


def test_the_memory_before_is_read_once_it_is_stable(monkeypatch: pytest.MonkeyPatch) -> None:
    class Growing:
        """A stack whose memory grows by 1 MB at each sample up to 10 MB."""

        bytes = 0

        def usage(self, services: list[str]) -> dict[str, Usage]:
            self.bytes = min(self.bytes + 1_000_000, 10_000_000)
            return dict.fromkeys(services, usage(self.bytes))

    monkeypatch.setattr(open_connections, "PAUSE", 0.0)
    assert open_connections.settled(cast(LabStack, Growing()), "nginx").memory_bytes == 10_000_000
    monkeypatch.setattr(open_connections, "SETTLED", 0.0)
    with pytest.raises(Problem, match="does not become stable"):
        open_connections.settled(cast(LabStack, Growing()), "nginx")


# --- Crowds and outages

SETTINGS: dict[str, Any] = {
    **{"url": "http://cache:8080", "host": "a.example", "path": "/stages/demo", "file": "/media/a.swf"},
    **{"clients": 200, "copy": "expired", "lifetime": 0.0, "standstill": 0.05, "down": True},
}


class Origin:
    """An origin that can be paused and killed, behind a cache whose copies `status` describes."""

    def __init__(self, status: Callable[["Origin"], str]) -> None:
        self.containers = {"backend": self}
        self.status = status
        self.running, self.paused, self.asked = True, False, 0

    def pause(self) -> None:
        self.paused = True

    def unpause(self) -> None:
        self.paused = False

    def kill(self) -> None:
        self.running = False

    def start(self) -> None:
        self.running = True

    def run(self, service: str, *command: str) -> str:
        if command[0] == "curl":
            return ""  # the request was for the origin's metrics
        settings: Mapping[str, Any] = json.loads(command[-1])
        self.asked += 1
        while self.paused:
            time.sleep(0.01)
        statuses = {self.status(self): settings["clients"]}
        return json.dumps({"statuses": statuses, "first_milliseconds": 1.0, "last_milliseconds": 9.0})

    @property
    def stack(self) -> LabStack:
        return cast(LabStack, self)


def test_a_crowd_with_lost_responses_is_rejected_and_the_origin_runs_again() -> None:
    origin = Origin(lambda origin: "no response")
    with pytest.raises(Problem, match="200 of 200 requests had no response"):
        crowd.measure(origin.stack, SETTINGS)
    assert not origin.paused


def test_an_outage_without_a_copy_before_it_or_a_recovery_after_it_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(Problem, match=r"before the outage /media/a\.swf was answered by 502"):
        outage.measure(Origin(lambda origin: "502").stack, SETTINGS)
    monkeypatch.setattr(outage, "BACK_WITHIN", 0)
    origin = Origin(lambda origin: "200" if origin.asked <= 3 else "503")
    with pytest.raises(Problem, match="no page 0 s after the outage"):
        outage.measure(origin.stack, SETTINGS)
    assert origin.running


# --- Capacity


def level(users: int, carried: bool, limited: bool = False, **changes: Any) -> dict[str, Any]:
    figures = {"requests_per_second": 2.0 * users, "p95_ms": 40, "hit_ratio": 0.9, "reason": ""}
    figures |= {"backend_requests_per_second": 7.0, "generator_cpu_percent": 55.0}
    when = {"began": 12.0, "seconds": 6.0}
    return {"users": users, "carried": carried, "limited": limited, **when, **figures, **changes}


def climb(*levels: dict[str, Any], outcome: str = "") -> dict[str, float]:
    """Return the figures of a climb on four cores.

    The backend is busy from the tenth to the twentieth second, and half of the machine all the time.
    """
    cpu = Cpu(Generator().stack)
    cpu.samples = [
        (moment, {"backend": min(max(0.0, moment - 10), 10.0), "locust": 0.4 * moment, MACHINE: 2 * moment})
        for moment in (0.0, 10.0, 20.0, 31.0)
    ]
    return capacity.metrics({"outcome": outcome, "measurements": list(levels)}, cpu, 0.25)


def test_the_figures_are_those_of_the_highest_level_that_was_carried() -> None:
    found = climb(level(50, True), level(100, True), level(200, False), level(150, False), level(125, True))
    assert (found["visitors_carried"], found["visitors_failing"]) == (125, 150)
    assert (found["generator_was_the_limit"], found["requests_per_second"]) == (0, 250)


def test_a_figure_that_was_not_measured_is_left_out() -> None:
    found = climb(level(50, True, backend_requests_per_second=None))
    assert "backend_requests_per_second" not in found
    assert "visitors_failing" not in found, "even the highest level was carried"


def test_the_limit_is_locusts_if_it_failed_at_the_lowest_level_that_was_too_high() -> None:
    limited = level(100, False, limited=True)
    assert climb(level(50, True), level(200, False), limited)["generator_was_the_limit"] == 1
    assert climb(level(50, True), limited, level(75, False))["generator_was_the_limit"] == 0


def test_the_cpu_is_that_of_the_knee(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    found = climb(level(5, True))
    assert found["cpu_percent.backend"] == pytest.approx(100)
    assert found["backend_share_percent"] == pytest.approx(400), "of the quarter of a core that it may use"
    assert found["cpu_percent.locust"] == pytest.approx(40)
    assert found["system_cpu_percent"] == pytest.approx(50)
    assert found["system_without_generator_cpu_percent"] == pytest.approx(40)
    assert climb(level(5, True, began=3.0))["cpu_percent.backend"] == 0


def test_the_listener_of_direct_is_the_stacks_but_for_the_number_of_connections() -> None:
    ours = (REPO / "labs" / "capacity" / "direct.conf.template").read_text()
    assert ours.replace("12000", "2000") == (REPO / "nginx/streams/direct.conf.template").read_text()
    # Three of four visitors are browsers: six connections, two for held responses, and a WebSocket.
    assert all(
        0.75 * 9 * cell.settings["most"] <= 12_000 for cell in load(REPO / "labs" / "capacity", "full").cells
    )


# --- Crawlers


def crawled(bot: str, *measurements: dict[str, Any]) -> dict[str, float]:
    cpu = Cpu(Generator().stack)
    cpu.samples = [
        (moment, {"backend": 0.1 * moment, "locust": 0.4 * moment, MACHINE: moment}) for moment in (0.0, 30.0)
    ]
    return crawlers.metrics({"outcome": "no users", "measurements": measurements}, bot, cpu, 0.25)


def test_visitors_the_bot_and_the_crawlers_have_figures_of_their_own() -> None:
    rows = {
        "/media/*.svg": {("client", "hit"): 900, ("status", "200"): 900},
        "(crawlers) page": {("client", "hit"): 30, ("client", "miss"): 50, ("status", "200"): 80},
        "(crawlers) stage": {
            ("client", "stale"): 10,
            ("client", "error"): 10,
            ("status", "503"): 10,
            ("status", "404"): 10,
        },
    }
    counts = [
        {"row": row, "tier": tier, "outcome": outcome, "answers": count}
        for row, found in rows.items()
        for (tier, outcome), count in found.items()
    ]
    lines = [("p95 of GET /stages/*", "1.5 ms"), ("p95 of * chat", "47 ms"), ("hits of /media/*", "")]
    run = level(30, True, caches=counts, failures=0, seconds=10.0, began=5.0)
    run["lines"] = [{"what": what, "measured": measured} for what, measured in lines]
    bot = "".join(f"200 0.0{number:02}\n" for number in range(1, 21)) + "503 1.6\n000 0.0\n"
    found = crawled(bot, run)
    assert (found["page_p95_milliseconds"], found["chat_p95_milliseconds"]) == (1.5, 47)
    assert found["bot_refused"] == 2
    assert found["bot_p95_milliseconds"] == pytest.approx(19, abs=1)
    asked = [found[f"crawlers_{name}_per_second"] for name in ("asked", "hits", "refused")]
    assert asked == [10, 4, 1]
    assert found["backend_share_percent"] == pytest.approx(40)


# --- What is rejected


def talked(**loads: Any) -> dict[str, float]:
    return chat.metrics(talk_report(page_loads=loads_report(**loads)))


def joined(cpu_percent: float) -> dict[str, float]:
    joins_report = {"milliseconds": [10.0, 20.0, 30.0], "seconds": 2.0, "bytes": 5000}
    return joins.metrics(talk_report(joins={**joins_report, "cpu_percent": cpu_percent}))


def shaken(wanted_resumed: bool = True, **report: Any) -> dict[str, float]:
    good = {"handshakes": 500, "resumed": 500, "negotiated": "TLS_AES_256_GCM_SHA384"}
    wanted = {"resumed": wanted_resumed, "negotiates": "TLS_AES_", "openssl": "/openssl.cnf"}
    return handshakes.measure(Generator({**good, "seconds": 2.0, "cpu_seconds": 3.0, **report}).stack, wanted)


def were_held(*held: Usage, **report: Any) -> dict[str, float]:
    return open_connections.metrics({**HELD, **report}, 100, usage(0), held)


OPENING = {"held": 33, "failures": {"no response within 5 s": 67}}
BOTTLENECK = "^the generator was the bottleneck: it"


@pytest.mark.parametrize(
    ("measure", "reason"),
    [
        (lambda: talked(failures=["x", "y"]), "^2 of 5 page loads failed: x$"),
        (lambda: talked(cpu_percent=86.0), f"{BOTTLENECK} used 91 % of a core$"),
        (lambda: talked(late_milliseconds=251.0), f"{BOTTLENECK} was 251 ms late$"),
        (lambda: joined(cpu_percent=86.0), f"{BOTTLENECK} used 91 % of a core$"),
        (lambda: preload.metrics({**PRELOAD, "cpu_seconds": 9.6}, 10), f"{BOTTLENECK} used 96 % of a core$"),
        (
            lambda: preload.metrics({**PRELOAD, "milliseconds": [None], "failures": ["/a: 503"]}, 10),
            "^no visitor received the whole stage: /a: 503$",
        ),
        (
            lambda: were_held(usage(1), failures={"reset": 2, "status 503": 1}),
            r"^3 of 100 held connections failed: reset \(2\); status 503 \(1\)$",
        ),
        (
            lambda: open_connections.metrics(OPENING, 100, usage(0), [usage(1)]),
            r"^33 of 100 connections held, then: no response within 5 s \(67\)$",
        ),
        (were_held, "reported no memory"),
        (lambda: shaken(resumed=499), "^499 of 500 handshakes were resumed$"),
        (lambda: shaken(wanted_resumed=False), "^500 of 500 handshakes were resumed$"),
        (lambda: shaken(negotiated="AES128-SHA"), "^negotiated AES128-SHA instead of TLS_AES_$"),
        (lambda: climb(level(1, False), outcome="fewer than 1 visitors"), "fewer than 1 visitors"),
        (climb, "Locust measured nothing"),
        (lambda: crawled("503 0.1\n", level(30, True, lines=[])), "the bot had no answer"),
        (lambda: crawled(""), "no users"),
    ],
)
def test_a_measurement_of_nothing_or_of_the_generator_is_rejected(
    measure: Callable[[], object], reason: str
) -> None:
    with pytest.raises(Problem, match=reason):
        measure()
