"""What a user costs, from what a server could do and from what is assumed."""

import dataclasses
from typing import Any

import pytest

from bench.cost import Cost, cost, held, keeps_up
from bench.results import Measured

ASSUMED = {
    "audience": 10_000,
    "seconds_between_files": 10,
    "dollars_per_hour": 0.1,
    "memory_bytes": 1_000_000_000,
    "load": 0.5,
    "hours": 100,
}


def at_rate(rate: int, saturated: bool = False, problem: str | None = None) -> Measured:
    median = {} if problem else {"saturated": float(saturated)}
    return Measured({"server": "x", "rate": rate}, median=median, problem=problem)


def with_connections(connections: int, size: float = 0, problem: str | None = None) -> Measured:
    median = {} if problem else {"bytes_per_connection": size}
    return Measured({"server": "x", "connections": connections}, median=median, problem=problem)


def test_a_server_keeps_up_until_it_is_saturated() -> None:
    assert keeps_up([at_rate(500), at_rate(4000, saturated=True), at_rate(2000)]) == (2000, True)
    assert keeps_up([at_rate(500), at_rate(2000, saturated=True), at_rate(4000)]) == (500, True)
    assert keeps_up([at_rate(500, saturated=True)]) == (0, True)


def test_where_the_generator_was_the_limit_nothing_is_known() -> None:
    assert keeps_up([at_rate(500), at_rate(2000, problem="the generator was the limit")]) == (500, False)
    late_then_saturated = [at_rate(500, problem="late"), at_rate(2000, saturated=True)]
    assert keeps_up(late_then_saturated) == (0, False)


def test_what_was_held() -> None:
    assert held([with_connections(10, 600), with_connections(10_000, 700)]) == (10_000, 700, False)
    assert held([with_connections(10, 600), with_connections(10_000, problem="no")]) == (10, 600, True)
    count, _, in_vain = held([with_connections(10, problem="no")])
    assert (count, in_vain) == (0, True)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        # 5,000 by rate, 500,000 by memory: two machines, 0.1 dollars for 100 hours, 10,000 users.
        (
            [at_rate(1000), with_connections(10_000, 1000)],
            {"at_least": True, "users": 5000, "why": "its rate", "machines": 2, "dollars": 0.002},
        ),
        (
            [at_rate(1000), with_connections(10_000, 1_000_000)],
            {"size": 1_000_000, "users": 500, "why": "its memory", "machines": 20, "dollars": 0.02},
        ),
        (
            [
                *(at_rate(1000), at_rate(2000, saturated=True)),
                *(with_connections(10, 1000), with_connections(99, problem="no")),
            ],
            {"at_least": False, "users": 10, "why": "its connections", "machines": 1000, "dollars": 1},
        ),
    ],
)  # fmt: skip
def test_what_a_user_costs(cells: list[Measured], expected: dict[str, Any]) -> None:
    found = cost(cells, ASSUMED)
    assert isinstance(found, Cost)
    assert {name: value for name, value in dataclasses.asdict(found).items() if name in expected} == expected
    assert found.rate == 1000


def test_without_a_rate_or_a_connection_there_is_no_price() -> None:
    assert cost([at_rate(1000)], ASSUMED) is None
    assert cost([at_rate(1000, saturated=True), with_connections(10, 1000)], ASSUMED) is None
