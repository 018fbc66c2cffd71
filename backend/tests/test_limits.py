"""limits: the token bucket and the count by address, on a clock of our own."""

import pytest

from upstage.limits import Addresses, Bucket
from upstage.settings import SettingsError, from_environment


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    clock = Clock()
    bucket = Bucket(clock, rate=10, burst=5)
    assert [bucket.take() for _ in range(7)] == [True] * 5 + [False] * 2
    assert bucket.dropped == 2
    clock.now += 0.101
    assert [bucket.take() for _ in range(2)] == [True, False]
    assert bucket.dropped == 3  # it goes on: no pause yet
    clock.now += 1
    assert bucket.take()
    assert bucket.dropped == 0


def test_a_drawing_mouse_is_never_too_fast() -> None:
    clock = Clock()
    bucket = Bucket(clock)
    for _ in range(31 * 60):  # a minute at 31 frames a second
        clock.now += 1 / 31
        assert bucket.take()


def test_addresses() -> None:
    addresses = Addresses(2)
    assert [addresses.enter("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert addresses.enter("192.0.2.2")
    addresses.leave("192.0.2.1")
    assert addresses.enter("192.0.2.1")
    for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2"):
        addresses.leave(address)
    assert not addresses._open


def test_how_many_per_address_is_a_setting() -> None:
    assert from_environment({"UPSTAGE_CONNECTIONS_PER_ADDRESS": "30"}).connections_per_address == 30
    for wrong in ("0", "-1", "many", "٣"):
        with pytest.raises(SettingsError, match=f"UPSTAGE_CONNECTIONS_PER_ADDRESS={wrong}: "):
            from_environment({"UPSTAGE_CONNECTIONS_PER_ADDRESS": wrong})
