"""The lane of anonymous clients: a few requests at a time, each client in its turn."""

from twisted.internet.task import Clock

from upstage.net.lane import PATIENCE, WAITING, Lane


class Requests:
    """A lane, and the names of the requests that have begun, and of those that were refused."""

    def __init__(self, places: int) -> None:
        self.clock = Clock()
        self.lane = Lane(self.clock, places)
        self.begun: list[str] = []
        self.refused: list[str] = []

    def ask(self, client: str, name: str) -> None:
        self.lane.enter(client, lambda: self.begun.append(name), lambda: self.refused.append(name))


def test_those_who_wait_get_a_place_in_turn_one_of_each_client() -> None:
    asked = Requests(2)
    for number in range(5):
        asked.ask("greedy", f"greedy {number}")
    asked.ask("newcomer", "newcomer")
    for _ in range(6):
        asked.lane.leave()
    assert asked.begun == ["greedy 0", "greedy 1", "greedy 2", "newcomer", "greedy 3", "greedy 4"]
    asked.ask("greedy", "later")
    assert asked.begun[-1] == "later"
    assert (len(asked.lane), asked.lane.outcomes) == (0, {"waited": 4, "refused": 0})


def test_nobody_waits_for_long() -> None:
    asked = Requests(1)
    asked.ask("a", "first")
    asked.ask("b", "second")
    asked.clock.advance(PATIENCE / 2)
    asked.ask("c", "third")
    asked.clock.advance(PATIENCE / 2)
    assert asked.refused == ["second"]
    asked.lane.leave()
    asked.clock.advance(PATIENCE)
    assert (asked.begun, asked.refused) == (["first", "third"], ["second"])
    assert not asked.clock.getDelayedCalls()


def test_when_the_lane_is_full_the_client_with_the_most_loses_its_newest() -> None:
    asked = Requests(1)
    for number in range(WAITING + 11):
        asked.ask("greedy", f"greedy {number}")
    assert asked.refused == [f"greedy {number}" for number in range(WAITING + 1, WAITING + 11)]
    asked.ask("newcomer", "newcomer")
    assert asked.refused[-1] == f"greedy {WAITING}"
    asked.lane.leave()
    asked.lane.leave()
    assert asked.begun == ["greedy 0", "greedy 1", "newcomer"]


def test_without_a_limit_nobody_waits() -> None:
    asked = Requests(0)
    for number in range(50):
        asked.ask("a", str(number))
    assert len(asked.begun) == 50
