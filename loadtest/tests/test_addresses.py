"""The addresses of the target take turns."""

import socket
from collections import Counter

from users.addresses import Address, in_turn


def address(text: str, port: int = 8000, family: int = socket.AF_INET) -> Address:
    return (family, socket.SOCK_STREAM, 6, "", (text, port))


NODES = [address(f"10.0.0.{node}") for node in (2, 10, 3)]


def test_each_is_the_first_as_often_as_the_others_in_whatever_order_they_are_found() -> None:
    orders = [in_turn(NODES if number % 2 else reversed(NODES)) for number in range(30)]
    assert Counter(order[0] for order in orders) == dict.fromkeys(NODES, 10)
    assert all(sorted(order) == sorted(NODES) for order in orders)
    # The one behind a lost node is not always the same, either.
    assert Counter(order[1] for order in orders) == dict.fromkeys(NODES, 10)


def test_ports_take_turns_on_their_own() -> None:
    pairs = {(in_turn(NODES)[0], in_turn([address("a", 7230), address("b", 7230)])[0]) for _ in range(6)}
    assert len(pairs) == 6


def test_a_family_that_is_not_preferred_stays_behind() -> None:
    local = [address("::1", family=socket.AF_INET6), address("127.0.0.1")]
    assert [in_turn(local) for _ in range(2)] == [local, local]
