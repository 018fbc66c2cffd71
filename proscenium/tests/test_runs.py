"""Runs that are kept: the figures that are compared, and the differences that count."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadtest.verdict import baseline
from loadtest.verdict.baseline import Difference, RunError, compared, figures
from proscenium import runs


def report(p50: int, p95: int, requests: int = 20, failed: int = 0, name: str = "/") -> dict[str, Any]:
    """Return the report of a round with one row, as Locust writes it."""
    row = {
        "method": "GET",
        "name": name,
        "num_requests": requests,
        "num_failures": failed,
        "median_response_time": p50,
        "response_time_percentile_0.95": p95,
    }
    return {"rows": [row]}


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        ((4, 5, 4), (4, 5, 4), ""),
        ((4, 5, 4), (24, 25, 24), "worse"),
        ((24, 25, 24), (4, 5, 4), "better"),
        ((4, 5, 4), (9, 10, 9), ""),  # below the floor
        ((4, 30, 4), (40, 45, 41), ""),  # the rounds of one run differ as much
        ((100, 101, 100), (110, 111, 110), ""),  # less than a tenth
        ((100, 101, 100), (120, 121, 120), "worse"),
        ((4, 5, 4), (24, 25, 5), ""),  # one of the rounds is as before
    ],
)
def test_a_difference_counts_if_it_is_larger_than_the_spread(
    before: tuple[float, ...], now: tuple[float, ...], verdict: str
) -> None:
    assert Difference("GET /", "p50, ms", before, now).verdict == verdict


def test_the_figures_of_a_round() -> None:
    found = figures(report(2, 200, failed=4))
    assert found == {("GET /", "p50, ms"): 2, ("GET /", "p95, ms"): 200, ("GET /", "failed, %"): 20}
    assert figures(report(2, 200, requests=19)) == {}


def test_only_rows_of_all_rounds_are_compared() -> None:
    one, other = figures(report(1, 2)), figures(report(1, 2, name="/new"))
    assert {each.row for each in compared([one, one | other], [one, one | other])} == {"GET /"}
    with pytest.raises(RunError, match="No row has 20 samples"):
        compared([one], [other])


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the state folder of a stack whose load test writes the report `next.json` and ends."""
    monkeypatch.setattr(runs, "REPO", tmp_path)
    monkeypatch.setattr(baseline, "RUNS", tmp_path / "runs")
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", "x")
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "stack"
    write = "mkdir -p .run/x/load; cp next.json .run/x/load/report.json"
    script.write_text(f'#!/bin/sh\necho "$USERS" >>users\n{write}\n')
    script.chmod(0o755)
    (tmp_path / "next.json").write_text(json.dumps(report(4, 4)))
    return tmp_path


def test_a_run_is_repeated_as_it_was(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("USERS", "7")
    assert runs.main("save", "before") == 0
    monkeypatch.delenv("USERS")
    rare = report(4, 4, requests=19, name="/rare")["rows"]
    (state / "next.json").write_text(json.dumps({"rows": [*report(4, 4)["rows"], *rare]}))
    assert runs.main("compare", "before") == 0
    assert "too few samples (under 20): 1." in capsys.readouterr().out
    assert (state / "users").read_text().split() == ["7"] * 2 * baseline.ROUNDS
    (state / "next.json").write_text(json.dumps(report(24, 24)))
    assert runs.main("compare", "before") == 1
    assert "worse   GET /" in capsys.readouterr().out
    rows = [*report(4, 4, name="/other")["rows"], *report(4, 4, requests=19)["rows"]]
    (state / "next.json").write_text(json.dumps({"rows": rows}))
    with pytest.raises(RunError, match="nothing can be compared"):
        runs.main("compare", "before")
    kept = sorted(path.stem for path in (state / "runs/before").iterdir())
    assert kept == ["1", "2", "3", "options"]


def test_what_cannot_be_compared_is_a_sentence(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.main("save", "before")
    refused = {"../x": "lower-case letters", "other": "There is no run 'other' .*the kept ones: before"}
    for name, said in refused.items():
        with pytest.raises(RunError, match=said):
            runs.main("compare", name)
    monkeypatch.setenv("TIME", "1m")
    with pytest.raises(RunError, match="TIME: the run is repeated as it was"):
        runs.main("compare", "before")
    monkeypatch.delenv("TIME")
    for text in ("{}", json.dumps(report(4, 4)).replace("4", "null", 1), "[" * 100_000):
        (state / "runs/before/2.json").write_text(text)
        with pytest.raises(RunError, match="is damaged"):
            runs.main("compare", "before")
    for code in (1, 2):  # though there is a report of an earlier run
        (state / "bin" / "stack").write_text(f"#!/bin/sh\nexit {code}")
        with pytest.raises(RunError, match="Round 1 has failed"):
            runs.main("save", "another")
