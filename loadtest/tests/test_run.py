"""The arguments of Locust that the variables behind make stand for."""

import os

import pytest

import run

LOAD = "--chat-rate 20 --thresholds verdict/thresholds.toml"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("USERS", "SPAWN", "TIME", "LOADTEST_PROCESSES", *run.OWN_CLASSES):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("command", "variables", "arguments"),
    [
        ("load", {}, f"--users 20 --spawn-rate 10 --run-time 30s {LOAD}"),
        (
            "load",
            {"USERS": "3", "SPAWN": "0.5", "TIME": "1h5m", "EXAMPLE": "5", "CLASSES": "Talker"},
            "--users 3 --spawn-rate 0.5 --run-time 1h5m --locustfile examples/05_stage_socket.py Talker",
        ),
        (
            "load",
            {"EXAMPLE": "09", "LOADTEST_PROCESSES": "2"},
            "examples/09_workers.py --processes 2 --master-b",
        ),
        ("load", {"ARRIVALS": "2"}, f"{LOAD} --arrivals 2"),
        (
            "load",
            {"CRAWL": "300", "CRAWL_ADDRESSES": "50", "ROBOTS": "obey"},
            f"{LOAD} --crawl 300 --crawl-addresses 50 --robots obey",
        ),
        ("compare", {"USERS": "11", "STAGE": "demo"}, "--users 11 --spawn-rate 3 --seconds 30 --stage demo"),
        ("compare", {"PATHS": "/tmp/paths"}, "--topologies alone.app,nginx.app,app --paths /tmp/paths Pages"),
        ("soak", {"MINUTES": "5"}, "--shape LongRun --users 30 --run-time 5m --misses count --thresholds"),
    ],
)
def test_the_variables_become_arguments(
    command: str, variables: dict[str, str], arguments: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert arguments in " ".join(run.COMMANDS[command]())


@pytest.mark.parametrize(
    ("command", "variables", "sentence"),
    [
        ("load", {"USERS": "abc"}, "USERS: 'abc' is not a whole number from 1 to 99999"),
        ("compare", {"USERS": "many"}, "USERS: 'many' is not a whole number from 1 to 99999"),
        ("load", {"EXAMPLE": "5", "ARRIVALS": "3"}, "ARRIVALS is not for an EXAMPLE"),
        ("load", {"ROBOTS": "obey"}, "CRAWL_ADDRESSES and ROBOTS are those of crawlers"),
        *(("load", {"SPAWN": wrong}, "SPAWN: ") for wrong in ("abc", "-1", "inf", "0.0")),
        *(("load", {"TIME": wrong}, "is not a time such as") for wrong in ("soon", "-1", "inf", "0s")),
        ("load", {"EXAMPLE": "99"}, "There is no EXAMPLE=99; the examples are 01 one request, 02 user"),
    ],
)
def test_a_wrong_variable_is_named_and_starts_nothing(
    command: str,
    variables: dict[str, str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "environ", os.environ | variables)
    with pytest.raises(SystemExit) as refused:
        run.COMMANDS[command]()
    assert refused.value.code == run.REFUSED
    assert sentence in capsys.readouterr().err
