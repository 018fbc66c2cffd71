"""A run from its first sample to its last."""

import io
import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from tests.soak import __main__ as soak
from tests.soak.load import Figures, Load
from tests.soak.services import Reading, Services

MINUTES = 1 / 6  # two samples


class FakeServices:
    """One service whose every figure goes up by a fixed amount from reading to reading, a second apart."""

    def __init__(self, event: Callable[[int], None]) -> None:
        self._event, self._turn = event, 0

    def read(self) -> dict[str, Reading]:
        self._event(self._turn)
        turn, self._turn = self._turn, self._turn + 1
        return {"nginx": Reading(float(turn), 0.25 * turn, 20.0 + turn, 100 + turn, 500 * turn)}


class FakeLoad:
    """Two requests and one failure from reading to reading."""

    def __init__(self) -> None:
        self._turn = 0

    def read(self) -> Figures:
        self._turn += 1
        return Figures(30, True, 2 * self._turn, self._turn, {"p50": {"page": 4.0}, "p95": {}})

    def problems(self) -> list[str]:
        return ["1 x GET /: 503"]


def record(event: Callable[[int], None] = lambda _: None) -> tuple[list[dict[str, Any]], list[str], str]:
    """The samples of a run, what went wrong, and the file; `event` happens at each reading of services."""
    file = io.StringIO()
    services, load = cast(Services, FakeServices(event)), cast(Load, FakeLoad())
    return *soak.record(services, load, MINUTES, file), file.getvalue()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "EVERY", 0.05)


def test_a_sample_is_what_was_used_since_the_one_before() -> None:
    samples, wrong, file = record()
    assert [json.loads(line) for line in file.splitlines()] == samples
    assert len(samples) == 2
    last = samples[-1]
    assert last["memory"] == {"nginx": 22}
    assert last["cpu"] == {"nginx": 25}
    assert last["descriptors"] == {"nginx": 102}
    assert last["log"] == {"nginx": 30}
    assert last["p50"] == {"page": 4}
    assert last["failures"] == {"all": 3}
    assert last["requests"]["all"] > 0
    assert wrong == ["1 x GET /: 503"]


def test_a_run_ends_with_the_reason_when_a_service_stops() -> None:
    def stops(turn: int) -> None:
        if turn == 2:
            raise RuntimeError("nginx has stopped")

    samples, wrong, _ = record(stops)
    assert len(samples) == 1
    assert wrong == ["nginx has stopped"]


def test_ctrl_c_ends_a_run_early_and_keeps_what_failed() -> None:
    def interrupted(turn: int) -> None:
        if turn == 2:
            raise KeyboardInterrupt

    samples, wrong, _ = record(interrupted)
    assert len(samples) == 1
    assert wrong == ["1 x GET /: 503"]
