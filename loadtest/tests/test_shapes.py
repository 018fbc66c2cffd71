"""The load shapes: the number of users in each second."""

from types import SimpleNamespace
from typing import Any

import pytest

import shapes
from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import create
from locustfile import SHAPES
from shapes import Interval, Timetable


def ticks(
    shape: type[Timetable], monkeypatch: pytest.MonkeyPatch, run_time: int | None = None, users: int = 200
) -> list[tuple[int, float] | None]:
    """Return a shape's number of users in each of 400 seconds; the form offered 20 and sends `users`."""
    monkeypatch.setattr(Timetable, "users", 20)
    options = SimpleNamespace(num_users=users, run_time=run_time)
    timetable: Any = shape()
    timetable.runner = SimpleNamespace(environment=SimpleNamespace(parsed_options=options))
    asked = []
    for second in range(400):
        monkeypatch.setattr(timetable, "get_run_time", lambda now=second: now)
        asked.append(timetable.tick())
    return asked


TIMETABLED = [shape for shape in SHAPES if issubclass(shape, Timetable)]


def about(rate: float) -> Any:
    return pytest.approx(rate, abs=0.1)


# Second -> users, and the rate at which users start or stop.
SLASHDOT = {0: (20, 2.0), 30: (200, 18.0), 89: (200, 18.0), 90: (100, about(3.3)), 150: (20, about(5.3))}
INTERVAL = {0: (200, about(6.7)), 60: (0, 20.0), 89: (0, 20.0), 90: (200, 20.0), 149: (200, 20.0)}
TIMETABLES: dict[str, dict[int, Any]] = {
    "CurtainUp": {0: (200, 40.0), 59: (200, 40.0), 60: None, 399: None},
    "Slashdot": {**SLASHDOT, 179: (20, about(5.3)), 180: None},
    "Interval": {**INTERVAL, 150: None},
    "LongRun": {0: (200, about(3.3)), 399: (200, about(3.3))},
    "Step": {0: (20, 4.0), 29: (20, 4.0), 30: (40, 4.0), 270: (200, 4.0), 299: (200, 4.0), 300: None},
}


@pytest.mark.parametrize("shape", TIMETABLED)
def test_a_shape_follows_its_timetable(shape: type[Timetable], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ticks(shape, monkeypatch)
    assert {second: asked[second] for second in TIMETABLES[shape.__name__]} == TIMETABLES[shape.__name__]


@pytest.mark.parametrize("shape", TIMETABLED)
def test_the_run_time_of_the_form_ends_every_shape(
    shape: type[Timetable], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ticks(shape, monkeypatch, run_time=20)
    assert None not in asked[:20]
    assert set(asked[20:]) == {None}


def test_without_the_option_there_is_no_shape(site: FakeSite) -> None:
    environment = create(site)
    environment.shape_class = Interval()  # type: ignore[no-untyped-call]  # Locust has taken the first it found
    shapes.register(environment)
    assert environment.shape_class is None
