"""The classes of users that take part in a run, and how many users of each."""

import pytest
from locust import User
from locust.runners import WorkerNode

from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import create, parse
from locustfile import Arrivals, Crawler, Pages, Player, Reader
from users import taking_part


@pytest.mark.parametrize(
    ("user", "arguments", "lack"),
    [
        (Reader, "", None),
        (Reader, "--arrivals=0.5", "with --arrivals only Arrivals take part"),
        (Arrivals, "", "there are no --arrivals"),
        (Arrivals, "--arrivals=0.5", None),
        (Crawler, "", "there is no --crawl"),
        (Crawler, "--crawl=1 --arrivals=1 --topology=classic.localhost", None),
        (Crawler, "--crawl=1 --topology=direct.localhost", "direct.localhost has no port for crawlers"),
        (Pages, "", "there are no --paths"),
    ],
)
def test_what_a_class_lacks(user: type[User], arguments: str, lack: str | None) -> None:
    options = parse(*arguments.split())
    assert taking_part.lack(user, options) == lack
    refused = lack and f"No user can take part in this run. {user.__name__}: {lack}."
    assert taking_part.refusal([user], options) == refused


def test_one_class_that_lacks_nothing_is_enough() -> None:
    assert taking_part.refusal([Pages, Reader], parse()) is None


CRAWL, BOTH = "--crawl=1", "--crawl=1 --arrivals=6"


@pytest.mark.parametrize(
    ("users", "arguments", "expected"),
    [
        (7, CRAWL, {Crawler: 2, Reader: 7}),
        (0, CRAWL, {Crawler: 0, Reader: 0}),
        (7, "", {Crawler: 0, Reader: 7}),
        (3, "", {Player: 0, Reader: 3}),  # without an account
        (7, CRAWL, {Crawler: 2}),
        (7, f"{CRAWL} --topology=direct.localhost", {Crawler: 0}),
        (1, "--arrivals=6", {Arrivals: 2, Reader: 0}),
        (20, "--arrivals=6", {Arrivals: 2, Reader: 0}),
        (0, "--arrivals=6", {Arrivals: 0, Reader: 0}),
        (7, BOTH, {Arrivals: 2, Crawler: 2, Reader: 0}),
    ],
)
def test_each_process_has_one_user_of_an_open_model_whatever_the_number_in_the_form(
    site: FakeSite, users: int, arguments: str, expected: dict[type[User], int]
) -> None:
    """This holds after another number, or none, in the same run, too."""
    environment = create(site, *expected, arguments=("--crawl=1",))
    taking_part.register(environment)
    environment.parsed_options = parse(*arguments.split())  # Compare changes them, too
    nodes = [WorkerNode(f"host_{number}") for number in range(2)]
    dispatcher = environment.dispatcher_class(nodes, list(expected))
    for number in (2, 0, users):
        dispatcher.new_dispatch(number, 100)
        last = list(dispatcher)[-1]
    assert all(there.get("Crawler", 0) <= 1 and there.get("Arrivals", 0) <= 1 for there in last.values())
    found = {user: sum(there.get(user.__name__, 0) for there in last.values()) for user in expected}
    assert found == expected
    assert sum(found.values()) == taking_part.in_all(environment, users)
