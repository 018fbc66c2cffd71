"""The load shapes: what they ask for, second by second, and that Locust plays them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from test_locust import LOADTEST, eventually, run
from tiny_front import Front

# In a process of its own: importing Locust here would patch the test runner for gevent.
TICKS = """
import json, sys, types
import locustfile
from locust import LoadTestShape

from scenarios import Scenario

run_time, users, Scenario.users = json.loads(sys.argv[1])
options = types.SimpleNamespace(num_users=users, run_time=run_time)
runner = types.SimpleNamespace(environment=types.SimpleNamespace(parsed_options=options))
ticks = {}
for name, shape in vars(locustfile).items():
    if isinstance(shape, type) and issubclass(shape, LoadTestShape):
        second = 0
        played = shape()
        played.runner = runner
        played.get_run_time = lambda: second
        ticks[name] = []
        for second in range(400):
            ticks[name].append(played.tick())
print(json.dumps(ticks))
"""


def play(run_time: int | None, users: int = 200, offered: int = 20) -> dict[str, Any]:
    """What each scenario asks for, for 400 seconds: [users, rate], or None at the end.

    `users` is what the form sends, `offered` what it showed.
    """
    command = [sys.executable, "-c", TICKS, json.dumps([run_time, users, offered])]
    done = subprocess.run(command, cwd=LOADTEST, capture_output=True, text=True, timeout=300, check=True)
    ticks: dict[str, Any] = json.loads(done.stdout)
    return ticks


@pytest.fixture(scope="module")
def ticks() -> dict[str, Any]:
    return play(None)


@pytest.mark.parametrize(
    ("scenario", "timetable"),
    [
        ("CurtainUp", {0: [200, 40.0], 59: [200, 40.0], 60: None, 399: None}),
        (
            "Slashdot",
            {
                0: [20, 2.0],
                30: [200, 18.0],
                89: [200, 18.0],
                90: [100, pytest.approx(3.3, abs=0.1)],
                150: [20, pytest.approx(5.3, abs=0.1)],
                179: [20, pytest.approx(5.3, abs=0.1)],
                180: None,
            },
        ),
        (
            "Interval",
            {
                0: [200, pytest.approx(6.7, abs=0.1)],
                60: [0, 20.0],
                89: [0, 20.0],
                90: [200, 20.0],
                149: [200, 20.0],
                150: None,
            },
        ),
        ("LongRun", {0: [200, pytest.approx(3.3, abs=0.1)], 399: [200, pytest.approx(3.3, abs=0.1)]}),
        ("Step", {0: [20, 4.0], 29: [20, 4.0], 30: [40, 4.0], 270: [200, 4.0], 299: [200, 4.0], 300: None}),
    ],
)
def test_a_scenario_ticks_as_it_says(ticks: dict[str, Any], scenario: str, timetable: dict[int, Any]) -> None:
    assert {second: ticks[scenario][second] for second in timetable} == timetable


def test_there_is_a_timetable_above_for_every_scenario(ticks: dict[str, Any]) -> None:
    assert sorted(ticks) == ["CurtainUp", "Interval", "LongRun", "Slashdot", "Step"]


def test_the_run_time_of_the_form_ends_every_scenario() -> None:
    for scenario in play(20).values():
        assert None not in scenario[:20]
        assert set(map(str, scenario[20:])) == {"None"}


def test_a_form_that_asks_for_nobody_gets_as_many_as_it_offers() -> None:
    assert play(None, users=0, offered=200) == play(None)


QUICK = """
from locustfile import *
from scenarios import Part

Interval.parts = (Part(10, 1, ramp=1), Part(4, 0, ramp=1), Part(80, 1, ramp=1))
"""


def test_locust_plays_it_and_all_leave_in_the_interval(front: Front, tmp_path: Path) -> None:
    path = tmp_path / "quick.py"
    path.write_text(QUICK)
    options = ("--scenario=Interval", "-u4", "--audience=stays")
    result = run(front, *options, code=str(path), until={"stage join": 8})
    assert result.code == 0, result.output
    assert "Ramping to 0 users" in result.output
    eventually(lambda: front.stage.lost == 8)


def test_without_a_scenario_the_form_decides(front: Front) -> None:
    result = run(front, "-u2", "-r2", until={"stage join": 2})
    assert result.code == 0, result.output
    assert "Shape test starting" not in result.output


def test_an_unknown_scenario_is_an_error() -> None:
    command = [sys.executable, "-m", "locust", "--headless", "--scenario=Nonsense"]
    done = subprocess.run(command, cwd=LOADTEST, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "invalid choice: 'Nonsense'" in done.stderr


def test_workers_share_the_run_and_each_hears_its_own(front: Front) -> None:
    options = ("--processes=2", "-u4", "-r4", "--audience=stays", "--chat-rate=240")
    result = run(front, *options, until={"stage chat": 60})
    assert result.code == 0, result.output
    # Two visitors in each process: one hears the other, and the lines of the other process are nothing to it.
    assert 0.5 * front.stage.heard["TEXT"] < result.requests["stage heard"] <= front.stage.heard["TEXT"]
