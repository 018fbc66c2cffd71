"""The rate sweep: what is made of httperf's reports; captured/ has some of Debian's 0.9.0-10, as printed."""

from pathlib import Path
from typing import Any

import pytest

from bench.house import House, Problem
from bench.tools import sweep

CAPTURED = Path(__file__).parent / "captured"
SETTINGS = {
    "host": "nginx-today",
    "port": 8080,
    "path": "/programme.html",
    "service": "nginx-today",
    "bytes": 5000,
    "rate": 200,
    "seconds": 1,
    "timeout": 2,
}


def captured(name: str) -> str:
    return (CAPTURED / f"httperf-{name}.txt").read_text()


def test_all_were_answered() -> None:
    found = sweep.metrics(captured("answered"), rate=200, due=200, expected=5000)
    assert found == {
        "seconds": 0.997,
        "replies_per_second": pytest.approx(200.6, abs=0.01),
        "errors": 0,
        "saturated": 0,
        "connections_at_once": 8,
        "late_milliseconds": pytest.approx(20),  # four at once, 5 ms apart
        "httperf_cpu_percent": 40.8,
        "milliseconds": 3.4,
        "deviation_milliseconds": 6.3,
        "p99_milliseconds": 30,  # the third of 200 from the end lies between 29 and 30
    }


def test_whoever_was_not_answered_is_an_error() -> None:
    found = sweep.metrics(captured("impatient"), rate=3000, due=1500, expected=5000)
    assert (found["errors"], found["saturated"]) == (84, 1)
    assert found["replies_per_second"] == pytest.approx(1416 / 0.513)
    assert (found["milliseconds"], found["deviation_milliseconds"], found["p99_milliseconds"]) == (
        1.4,
        2.0,
        9,
    )


def test_connections_that_were_never_opened_are_errors() -> None:
    # The last 100 found no room among httperf's file descriptors: it does not count them as connections.
    assert sweep.metrics(captured("answered"), rate=200, due=300, expected=5000)["errors"] == 100


def test_a_server_that_answers_all_but_too_slowly_is_saturated() -> None:
    slow = captured("answered").replace("test-duration 0.997 s", "test-duration 1.060 s")
    found = sweep.metrics(slow, rate=200, due=200, expected=5000)
    assert (found["errors"], found["saturated"]) == (0, 1)


def test_a_generator_that_was_late_is_the_limit_and_there_is_no_figure() -> None:
    with pytest.raises(
        sweep.Late, match=r"was the limit: .* 195 ms late, 39 connections at once, 2 % of a core"
    ):
        sweep.metrics(captured("starved"), rate=200, due=200, expected=5000)


def test_a_burst_that_fills_its_own_room_is_the_generators_fault() -> None:
    burst = "Maximum connect burst length: {}"
    much = captured("impatient").replace(burst.format(51), burst.format(257))
    with pytest.raises(sweep.Late, match="86 ms late, 257 connections"):
        sweep.metrics(much, rate=3000, due=1500, expected=5000)


@pytest.mark.parametrize(("name", "due"), [("refused", 100), ("404", 50)])
def test_no_answer_at_all_is_no_figure(name: str, due: int) -> None:
    with pytest.raises(Problem, match=f"not one of {due} connections was answered"):
        sweep.metrics(captured(name), rate=200, due=due, expected=5000)


def test_answers_of_another_length_are_no_figure() -> None:
    with pytest.raises(Problem, match="5000 bytes instead of 6300"):
        sweep.metrics(captured("answered"), rate=200, due=200, expected=6300)


def test_another_programs_output_is_no_figure() -> None:
    with pytest.raises(Problem, match="httperf did not print"):
        sweep.metrics("Requests per second: 1000", rate=200, due=200, expected=5000)


def test_percentile_walks_over_the_gaps_of_the_histogram() -> None:
    printed = captured("answered")
    assert sweep.percentile(printed, 0.5) == 1  # 129 of 200 within the first millisecond
    assert sweep.percentile(printed, 1) == 32
    with pytest.raises(Problem, match="no histogram"):
        sweep.percentile("", 0.5)


def test_every_connection_is_for_one_request_and_the_server_closes() -> None:
    options = sweep.options({**SETTINGS, "rate": 2500, "seconds": 0.3})
    assert "--rate=2500" in options
    assert "--num-conns=750" in options
    assert r"--add-header=Connection: close\n" in options
    assert not [option for option in options if option.startswith("--num-calls")]


class Bench(House):
    """A house with nobody in it: httperf's reports, one after the other."""

    def __init__(self, *reports: str) -> None:
        self.reports = list(reports)
        self.commands: list[tuple[str, ...]] = []

    def run(self, service: str, *command: str) -> str:
        self.commands.append((service, *command[:1]))
        return self.reports.pop(0)

    def memory_bytes(self, service: str) -> int:
        assert service == "nginx-today"
        return 3_000_000 + len(self.commands)


def measured(house: House, **changes: Any) -> dict[str, float]:
    return sweep.measure(house, {**SETTINGS, **changes})


def test_a_late_generator_gets_another_try() -> None:
    house = Bench(captured("starved"), captured("answered"))
    found = measured(house)
    assert found["milliseconds"] == 3.4
    assert found["memory_bytes"] >= 3_000_000
    assert house.commands == [("generator", "httperf")] * 2


def test_and_if_it_is_always_late_the_cell_is_refused() -> None:
    house = Bench(*[captured("starved")] * 9)
    with pytest.raises(Problem, match="generator was the limit"):
        measured(house)
    assert len(house.commands) == sweep.ATTEMPTS


def test_what_is_wrong_with_the_server_is_not_tried_again() -> None:
    house = Bench(captured("404"), captured("answered"))
    with pytest.raises(Problem, match="not one of 50"):
        measured(house, seconds=0.25)
    assert len(house.commands) == 1
