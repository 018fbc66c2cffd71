"""limits: the token bucket and the count by address, on a fake clock."""

import pytest
from twisted.internet.task import Clock

from upstage.stage import limits


class One:
    """A holder of a place, which records whether it has lost the place."""

    gave_up = False

    def __init__(self, places: limits.Places | None = None, address: str = "") -> None:
        self.places, self.address = places, address

    def give_up(self) -> None:
        self.gave_up = True
        assert self.places
        self.places.free(self.address, self)


def come(places: limits.Places, address: str, joined: bool = True) -> One:
    """Return a newcomer, which gives up at once if there is no place."""
    one = One(places, address)
    if places.take(address, one):
        places.note(address, one, joined)
    else:
        one.gave_up = True
    return one


def gone(ones: list[One]) -> int:
    return sum(one.gave_up for one in ones)


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    clock = Clock()
    bucket = limits.Bucket(clock.seconds, rate=10, burst=5)
    assert [bucket.spend(1) for _ in range(7)] == [0] * 5 + [pytest.approx(0.1), pytest.approx(0.2)]
    clock.advance(0.2)
    assert bucket.spend(0) == 0
    assert bucket.spend(30) == pytest.approx(3)
    clock.advance(3.4)
    bucket.spend(0)
    assert bucket.since_full() == pytest.approx(3.6)
    clock.advance(0.1)  # three seconds for the debt, half a second for the burst
    bucket.spend(0)
    assert bucket.since_full() == 0
    clock.advance(3600)
    assert [bucket.spend(5), bucket.spend(1)] == [0, pytest.approx(0.1)]  # no more than the burst


def test_connections_of_an_address_are_limited() -> None:
    addresses = limits.Addresses(Clock().seconds, 2)
    ones = [One() for _ in range(3)]
    assert [addresses.enter("192.0.2.1", one) is None for one in ones] == [False, False, True]
    assert addresses.enter("192.0.2.2", ones[2])
    addresses.leave("192.0.2.1", ones[0])
    assert addresses.enter("192.0.2.1", ones[0])
    for address, one in (("192.0.2.1", ones[0]), ("192.0.2.1", ones[1]), ("192.0.2.2", ones[2])):
        addresses.leave(address, one)
    assert not addresses._buckets
    assert not len(addresses._places)


def test_a_newcomer_gets_the_newest_place_of_the_address_that_has_the_most() -> None:
    places = limits.Places(most=10, each=8)
    crowd = [come(places, "192.0.2.1") for _ in range(7)]
    few = [come(places, "192.0.2.2") for _ in range(3)]
    assert not gone([come(places, "192.0.2.3"), come(places, "192.0.2.2")])
    assert [one.gave_up for one in crowd] == [False] * 5 + [True] * 2
    assert gone([come(places, "192.0.2.1")])  # its own address holds the most
    assert gone([come(places, "192.0.2.2")])  # otherwise the two would take from each other in turn
    assert not gone(few)
    assert len(places) == 10


def test_those_who_have_not_joined_lose_their_places_first() -> None:
    places = limits.Places(most=20, each=20)
    school = [come(places, "192.0.2.1") for _ in range(10)]
    crowds = [[come(places, f"198.51.100.{number}", joined=False) for _ in range(5)] for number in range(2)]
    assert gone([come(places, f"198.51.100.{number % 2}", joined=False) for number in range(20)]) == 20
    assert [gone(crowd) for crowd in crowds] == [0, 0]  # otherwise the two would take from each other in turn
    school += [come(places, "192.0.2.1") for _ in range(8)]
    assert [gone(crowd) for crowd in crowds] == [4, 4]
    assert not gone([come(places, "203.0.113.1"), come(places, "203.0.113.2")])
    assert [gone(crowd) for crowd in crowds] == [5, 5]  # even an address's only place is lost
    assert not gone(school)
    assert not gone([come(places, "203.0.113.3")])
    assert (gone(school), gone(school[-1:])) == (1, 1)
    places.note("192.0.2.1", school[0], joined=False)  # the first holder has left its stage
    assert not gone([come(places, "203.0.113.4")])
    assert (gone(school), gone(school[:1])) == (2, 1)
    assert len(places) == 20


def test_an_address_keeps_its_debts() -> None:
    clock = Clock()
    addresses = limits.Addresses(clock.seconds, most=2, rate=10)
    one = One()
    bucket = addresses.enter("192.0.2.1", one)
    assert bucket
    assert bucket.spend(2 * (limits.CONNECT + limits.JOIN) + 10 * limits.MAX_WAIT) > limits.MAX_WAIT
    addresses.leave("192.0.2.1", one)
    assert addresses.enter("192.0.2.1", one) is None
    clock.advance(3)
    assert addresses.enter("192.0.2.1", one) is bucket


def test_a_school_behind_one_address_connects_at_once() -> None:
    addresses = limits.Addresses(Clock().seconds)
    for _ in range(limits.MAX_PER_ADDRESS):
        bucket = addresses.enter("192.0.2.1", One())
        assert bucket
        assert bucket.spend(limits.JOIN) == 0


def test_remembered_addresses_are_bounded() -> None:
    addresses = limits.Addresses(Clock().seconds)
    one = One()
    for number in range(limits.REMEMBERED + 5):
        addresses.enter(str(number), one)
        addresses.leave(str(number), one)
    assert len(addresses._left) == limits.REMEMBERED


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::7", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", ""),
    ],
)
def test_a_client_is_its_ipv4_address_or_its_ipv6_network(address: str, client: str) -> None:
    assert limits.client_of(address) == client
