"""The rows that each class of users can fill, against those that it does."""

import pytest
from locust import User

from fake_site import FakeSite
from locust_library import CLASSES, run
from locustfile import Audience, FlashClient, Reader
from verdict import rows

# A row that shows that a user has done all its work once.
LAST = {
    "Audience": {"stage heard": 2},
    "WebAudience": {"ws heard": 2},
    "FlashClient": {"policy policy": 2, "stage heard": 2},
    "Reader": {"/media/audio/*.mp3": 1, "/media/*.svg": 1, "/style/*.css": 1},
    "SlowReader": {"stage connect": 1},
    "Player": {"stage move": 1},
}


@pytest.mark.parametrize("name", LAST)
def test_a_class_fills_only_its_rows(site: FakeSite, name: str) -> None:
    account = ("--player=ann", f"--password={site.password}") if name == "Player" else ()
    result = run(
        site,
        CLASSES[name],
        until_rows=LAST[name],
        users=2,
        arguments=("--chat-rate=120", "--audience=stays", *account),
    )
    filled = {str(entry.method) + " " + entry.name for entry in result.environment.stats.entries.values()}
    declared = rows.possible(CLASSES[name])
    assert declared
    assert filled <= set(declared)


def test_every_class_declares_its_rows() -> None:
    assert LAST.keys() == CLASSES.keys()


class Unknown(User):
    """A class that somebody has added."""


def test_a_run_lacks_the_rows_that_only_other_classes_fill() -> None:
    possible, left_out = rows.of_run([Reader], CLASSES.values())
    assert "GET /media/*.svg" in possible
    assert {"GET /admin/id", "stage heard", "ws join", "policy policy"} <= set(left_out)
    _, left_out = rows.of_run([Audience, FlashClient], CLASSES.values())
    assert {row for row in left_out if not row.startswith("ws ")} == {
        "POST /admin/login",
        "stage avatar",
        "stage move",
        "stage draw",
    }


def test_in_a_short_measurement_a_class_need_not_fill_all_its_rows() -> None:
    def due(*seen: str) -> set[str]:
        return {rows.sort(row) for row in rows.of_run([Reader, FlashClient], CLASSES.values(), seen)[0]}

    assert due("GET /media/thumb/*.png", "stage heard") == set()
    assert "policy policy" in due("GET /media/thumb/*.png")
    assert "GET /stages" in due("stage heard")


def test_an_unknown_class_may_fill_any_row() -> None:
    assert rows.of_run([Reader, Unknown], CLASSES.values()) == ((), ())
