"""The slope of a series and its interval."""

import random

import pytest

from tests.soak.trend import trend

TIMES = [place * 5.0 for place in range(180)]  # a quarter of an hour


def noise(seed: int, memory: float = 0.8) -> list[float]:
    """Samples around 0, each near the one before, as memory and response times are."""
    chance = random.Random(seed)
    found = [0.0]
    while len(found) < len(TIMES):
        found.append(memory * found[-1] + chance.gauss(0, 1))
    return found


def test_a_straight_line_has_its_own_slope() -> None:
    found = trend(TIMES, [7 + 0.25 * time for time in TIMES])
    assert (found.slope, found.low, found.high) == pytest.approx((0.25, 0.25, 0.25))


def test_a_leak_below_the_noise_is_found() -> None:
    # In all it grows by 9; the noise alone is between -5 and 5.
    found = trend(TIMES, [0.01 * time + extra for time, extra in zip(TIMES, noise(1), strict=True)])
    assert 0 < found.low < 0.01 < found.high


def test_a_few_outliers_change_nothing() -> None:
    values = [0.01 * time for time in TIMES]
    values[-3:] = [1000.0] * 3
    assert trend(TIMES, values).slope == pytest.approx(0.01, rel=0.02)


def test_noise_alone_rarely_looks_like_a_slope() -> None:
    found = [trend(TIMES, noise(seed)) for seed in range(100)]
    assert sum(not one.low <= 0 <= one.high for one in found) <= 2


def test_a_constant_has_no_slope() -> None:
    found = trend(TIMES, [3.0] * len(TIMES))
    assert (found.slope, found.low, found.high) == (0, 0, 0)


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="14 samples"):
        trend(TIMES[:14], TIMES[:14])
