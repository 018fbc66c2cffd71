"""The options of a run: a value with which no run can begin is refused in one sentence, from any source."""

import pytest

import locustfile
from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import create, parse
from locustfile import Pages

LOCUSTS = ("users", "spawn-rate", "run-time")  # options, not ours
WRONG = [
    *((option, value) for option in LOCUSTS for value in ("abc", "-1", "inf", "nan", "0")),
    *((option, value) for option in ("chat-rate", "max-errors") for value in ("abc", "-1", "inf", "nan")),
    *(("arrivals", value) for value in ("many", "-1", "inf", "nan", "1000.1")),
    *(("crawl", value) for value in ("many", "-1", "inf", "nan", "10000.1")),
    *(("crawl-addresses", value) for value in ("0", "60001", "1.5")),
    ("robots", "perhaps"),
    *(("stage-port", "0"), ("misses", "often"), ("topologies", "nowhere"), ("paths", "/")),
    ("seconds", "0.5"),
]


@pytest.mark.parametrize(("option", "value"), WRONG)
@pytest.mark.parametrize("variable", [False, True])
def test_a_wrong_value_ends_locust_with_one_sentence(
    option: str,
    value: str,
    variable: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if variable:
        owner = "LOCUST" if option in LOCUSTS else "LOADTEST"
        monkeypatch.setenv(f"{owner}_{option.upper().replace('-', '_')}", value)
    with pytest.raises(SystemExit) as ended:
        parse(*() if variable else (f"--{option}={value}",))
    assert ended.value.code == 2
    [sentence] = capsys.readouterr().err.splitlines()
    assert f"--{option}: " in sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--shape=Hexagon",), "There is no shape 'Hexagon'; the shapes are Capacity, Compare, "),
        ((), "No user can take part in this run. Pages: there are no --paths."),
    ],
)
def test_a_run_that_cannot_begin_ends_locust(
    site: FakeSite, arguments: tuple[str, ...], sentence: str
) -> None:
    environment = create(site, Pages, arguments=("--headless", *arguments))
    with pytest.raises(SystemExit, match=sentence):
        locustfile.set_up(environment)
    assert environment.runner
    assert environment.runner.state == "ready"
