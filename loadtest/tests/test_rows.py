"""The rows that each class of users can fill, compared with those that it does fill."""

from collections.abc import Iterable

import pytest
from locust import User

from loadtest.tests.fake_site import CAMERA, FakeSite
from loadtest.tests.locust_library import CLASSES, parse, run
from locustfile import Audience, FlashClient, Reader
from verdict import rows
from verdict.judge import FAILED, NOT_IN_RUN, OK, Row, Run, judge, read
from verdict.thresholds import SHIPPED, of

# The rows that show that a user has done all its work once.
WEBCAM = {"/media/video-still/*.jpg": 1, "poll /media/video/*.jpg": 1}
LAST = {
    "Audience": {"stage heard": 2, **WEBCAM},
    "WebAudience": {"ws heard": 2, **WEBCAM},
    "FlashClient": {"policy policy": 2, "stage heard": 2},
    "Reader": {"/media/audio/*.mp3": 1, "/media/*.svg": 1, "/style/*.css": 1},
    "SlowReader": {"stage connect": 1},
    "Player": {"stage move": 1},
    "Arrivals": {"arrival visit": 1},
}


@pytest.mark.parametrize("name", LAST)
def test_a_class_fills_only_its_rows_and_on_a_healthy_site_nothing_fails(site: FakeSite, name: str) -> None:
    site.stage.camera = CAMERA
    account = ("--player=ann", f"--password={site.password}") if name == "Player" else ()
    alone = ("--arrivals=5",) if name == "Arrivals" else ()
    arguments = ("--chat-rate=120", "--audience=stays", *account, *alone)
    result = run(site, CLASSES[name], until_rows=LAST[name], users=2, arguments=arguments)
    filled = {str(entry.method) + " " + entry.name for entry in result.environment.stats.entries.values()}
    assert filled <= set(rows.OURS[name])
    assert not result.failed


class Own(User):
    """A class that a user has added."""


def test_a_run_lacks_the_rows_that_only_other_classes_fill() -> None:
    possible, left_out = rows.of_run([Reader])
    assert "GET /media/*.svg" in possible
    assert {"GET /admin/id", "stage heard", "ws join", "policy policy"} <= set(left_out)
    _, left_out = rows.of_run([Audience, FlashClient])
    players = {"POST /admin/login", "stage avatar", "stage move", "stage draw"}
    assert {row for row in left_out if not row.startswith("ws ")} == players | {*rows.LIVE, *rows.ARRIVAL}


@pytest.mark.parametrize(
    ("sample", "failed", "errors"),
    [("GET /stages/load", 0, OK), ("GET /stages/load", 1, FAILED), ("x y", 0, OK)],
)
def test_an_own_class_is_judged_by_what_it_did(sample: str, failed: int, errors: str) -> None:
    """Its errors and Locust's own limits are judged; the other lines of the file are for our classes."""
    assert rows.of_run([Reader, Own]) == rows.of_run([Reader])
    assert rows.any_of_ours([Reader, Own])
    assert not rows.any_of_ours([Own])
    possible, left_out = rows.of_run([Own])
    kind, name = sample.split()
    row = Row(kind, name, samples=3, failures=failed, times={9000: 3})
    lines = judge(Run([row], possible=possible, left_out=left_out), of(parse(), ours=False))
    generator = [("CPU of Locust", OK), ("timer delay of Locust", OK)]
    assert [(line.what, line.verdict) for line in lines] == [("errors of *", errors), *generator]


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        ([], NOT_IN_RUN),  # no user spoke
        ([Row("GET", "/speech/*.mp3", 9, 0, {2000: 9})], OK),
        ([Row("GET", "/speech/*.mp3", 9, 0, {2001: 9})], FAILED),
    ],
)
@pytest.mark.parametrize("picked", [CLASSES.values(), [Audience], [Reader, Own]])
def test_spoken_lines_are_judged_if_there_are_any(
    picked: Iterable[type[User]], samples: list[Row], verdict: str
) -> None:
    possible, left_out = rows.of_run(picked)
    lines = judge(Run(rows=samples, possible=possible, left_out=left_out), read(SHIPPED))
    assert [line.verdict for line in lines if line.what == "p95 of GET /speech/*"] == [verdict]
