"""The shape Capacity: its steps, its end and its result."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from comparison import capacity
from comparison.capacity import Capacity, next_level
from comparison.measurement import Measurement
from comparison.recorder import recorder
from locustfile import Reader
from results.table import as_json
from users.session import PATIENCE
from verdict.judge import FAILED, INCONCLUSIVE, NOT_MEASURED, OK, Line, Row, Run

LIMIT = "p95 of GET /media/*"


def measurement(users: int, verdict: str, *more: Line, samples: int = 1, lost: int = 0) -> Measurement:
    line = Line(LIMIT, "at most 250 ms", "300 ms", verdict, "" if verdict == OK else "too slow")
    run = Run(rows=[Row("GET", "/media/*.svg", samples, 0, {5: samples})], lost=lost)
    return Measurement("upstage.localhost", users, 0.0, 15.0, 0, run, [line, *more], {}, {})


def climb(monkeypatch: pytest.MonkeyPatch, most: int, holds_up_to: int, verdict: str = FAILED) -> list[int]:
    """Return the levels that are tried on a topology that carries that many users."""
    return [users for users, _ in climb_with_pauses(monkeypatch, most, holds_up_to, verdict)]


def climb_with_pauses(
    monkeypatch: pytest.MonkeyPatch, most: int, holds_up_to: int, verdict: str = FAILED
) -> list[tuple[int, float]]:
    """Return the same levels, each with its shortest warm-up in seconds."""
    tried: list[tuple[int, float]] = []

    def measure(_: Capacity, topology: str, users: int, warm_up: float) -> Iterator[Any]:
        tried.append((users, warm_up))
        recorder.measurements.append(measurement(users, OK if users <= holds_up_to else verdict))
        yield users, 1.0

    monkeypatch.setattr(Capacity, "measure", measure)
    shape = Capacity()
    options = SimpleNamespace(topology="upstage.localhost", num_users=most, run_time=None)
    shape.runner = SimpleNamespace(environment=SimpleNamespace(parsed_options=options))  # type: ignore[assignment]
    assert [users for users, _ in shape.script()] == [users for users, _ in tried]
    return tried


@pytest.mark.parametrize(
    ("most", "holds_up_to", "verdict", "tried", "outcome", "answered"),
    [
        (400, 170, FAILED, [25, 50, 100, 200, 150, 175, 162],
         f"default carries 162 visitors. At 175: {LIMIT} 300 ms, at most 250 ms: too slow", True),
        (100, 1000, FAILED, [6, 12, 24, 48, 96, 100], "default carries at least 100 visitors.", True),
        (64, 0, FAILED, [4, 2, 1], "default carries fewer than 1 visitors. At 1: ", False),
        (64, 8, INCONCLUSIVE, [4, 8, 16, 12, 10, 9], "default carries at least 8 visitors. At 9: ", False),
    ],
    ids=["steps back", "at most the users of the form", "carries none", "Locust is the limit"],
)  # fmt: skip
def test_it_doubles_until_a_level_fails_and_steps_back(
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    holds_up_to: int,
    verdict: str,
    tried: list[int],
    outcome: str,
    answered: bool,
) -> None:
    assert climb(monkeypatch, most, holds_up_to, verdict) == tried
    assert recorder.outcome.startswith(outcome)
    assert recorder.answered is answered


def test_after_a_level_that_failed_it_waits_until_the_last_sample_of_that_level_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = climb_with_pauses(monkeypatch, most=400, holds_up_to=120)
    assert tried[:4] == [(25, 0), (50, 0), (100, 0), (200, 0)]
    assert tried[4:] == [(150, PATIENCE), (125, PATIENCE), (112, PATIENCE), (118, 0)]


@pytest.mark.parametrize(("least", "lasted"), [(0.0, 4.0), (10.0, 10.0)])
def test_a_warm_up_lasts_as_long_as_the_form_says_or_longer_if_necessary(
    monkeypatch: pytest.MonkeyPatch, least: float, lasted: float
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("gevent.sleep", slept.append)
    monkeypatch.setattr(recorder, "begin", lambda *_: None)
    options = SimpleNamespace(topology="", spawn_rate=20, warm_up=4.0, seconds=0.0, arrivals=0.0)
    options.processes_of_run = 1
    shape = Capacity()
    environment = SimpleNamespace(parsed_options=options, user_classes=[Reader])
    shape.runner = SimpleNamespace(user_count=3, environment=environment)  # type: ignore[assignment]
    assert list(shape.measure("upstage.localhost", 3, least)) == [(3, 20)]
    assert slept == [lasted]


@pytest.mark.parametrize("most", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("limit", [0, 1, 2, 5, 333, 999])
def test_every_climb_ends(monkeypatch: pytest.MonkeyPatch, most: int, limit: int) -> None:
    tried = climb(monkeypatch, most, limit)
    assert len(tried) <= 15
    assert all(1 <= users <= most for users in tried)
    carried = max((users for users in tried if users <= limit), default=0)
    if carried < most:
        failing = min(users for users in tried if users > limit)
        assert failing - carried <= max(1, 0.1 * failing)
        assert next_level(carried, failing, most) == 0


BUSY = Line("CPU of Locust", "at most 90%", "97%", INCONCLUSIVE)


@pytest.mark.parametrize(
    ("level", "carried"),
    [
        (measurement(5, NOT_MEASURED), True),  # too few samples
        (measurement(5, NOT_MEASURED, samples=0), False),
        (measurement(5, NOT_MEASURED, lost=1), False),
        (measurement(5, FAILED, BUSY), False),  # Locust may have caused it
    ],
    ids=["few", "none", "lost", "busy"],
)
def test_a_level_that_could_not_be_judged_is_no_answer(level: Measurement, carried: bool) -> None:
    assert level.carried is carried
    if not carried and level.run.rows[0].samples:
        assert capacity.outcome("default", 3, level).startswith("default carries at least 3 visitors. At 5: ")


def test_programs_read_which_levels_were_carried_and_whether_locust_was_the_limit() -> None:
    carried, limited = (
        as_json(measurement(users, verdict)) for users, verdict in ((5, OK), (6, INCONCLUSIVE))
    )
    assert (carried["carried"], carried["limited"]) == (True, False)
    assert (limited["carried"], limited["limited"]) == (False, True)
