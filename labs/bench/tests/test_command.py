"""`python -m labs.bench NAME`: its output and exit code, with a fake stack and driver."""

import fcntl
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Self

import pytest

from labs.bench import __main__ as command
from labs.bench import machine, runner
from labs.bench.drivers import ab
from labs.bench.lab_stack import REPO, Problem, Usage
from labs.bench.report import plots
from labs.bench.results import Results

LAB = """
title = "A lab"
driver = "ab"
services = ["nginx", "generator"]
repetitions = 2
primary = "rps"
baseline = { topology = "slow" }
prepare = ["touch", "/tmp/it"]
prepare_in = "nginx"

[[cells]]
topology = ["slow", "fast"]

[[exhibits]]
title = "Side by side"
series = ["topology"]
"""
Bench = Callable[..., tuple[int, str]]


class Fake:
    """A stack and a driver in one, with their calls; `act` and `prepare` may raise."""

    def __init__(self, lab: Path, services: Sequence[str], extras: Sequence[str]) -> None:
        assert (lab.name, services, extras) == ("mine", ["nginx", "generator"], ())

    running = 0
    prepared: list[tuple[str, ...]]
    measured: list[str]
    act: Callable[[str], None]
    prepare: Callable[[], None]

    def __enter__(self) -> Self:
        Fake.running += 1
        return self

    def __exit__(self, *_: object) -> None:
        Fake.running -= 1

    def run(self, service: str, *words: str) -> str:
        Fake.prepare()
        self.prepared.append((service, *words))
        return ""

    def usage(self, services: Sequence[str]) -> dict[str, Usage]:
        return dict.fromkeys(services, Usage(0.0, 0, 1))

    @staticmethod
    def measure(stack: object, settings: Mapping[str, Any]) -> dict[str, float]:
        Fake.act(settings["topology"])
        Fake.measured.append(settings["topology"])
        return {"rps": 100.0 if settings["topology"] == "slow" else 250.0}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    """Runs the command with these words; returns the exit code and what it printed, in one line."""
    Fake.prepared, Fake.measured = [], []
    Fake.act, Fake.prepare = staticmethod(lambda topology: None), staticmethod(lambda: None)
    (tmp_path / "labs" / "mine").mkdir(parents=True)
    (tmp_path / "labs" / "mine" / "lab.toml").write_text(LAB)
    for where, name, value in (
        (command, "REPO", tmp_path),
        (command, "LABS", tmp_path / "labs"),
        (command, "RESULTS", tmp_path / "results"),
        (command, "LabStack", Fake),
        (machine, "describe", lambda stack: {"cpu": "one"}),
        (machine, "versions", lambda stack, experiment: {}),
        (machine, "configuration", lambda stack, experiment: {}),
        (runner, "calibrate", lambda: 10.0),
        (ab, "measure", Fake.measure),
        (plots, "bars", lambda bars, metric: b"<svg/>"),  # matplotlib's cache of fonts belongs to all tests
    ):
        monkeypatch.setattr(where, name, value)

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["bench", *words])
        code = command.main()
        assert Fake.running == 0, "whatever happens, the containers are removed"
        return code, " ".join(capsys.readouterr().out.split())

    return run


def fail(error: BaseException, after: int = 0) -> Callable[..., None]:
    """Raises the error once, after that many calls."""
    calls = iter([*[None] * after, error])

    def act(*_: object) -> None:
        if problem := next(calls, None):
            raise problem

    return staticmethod(act)


def test_a_run_prints_its_figures_and_writes_its_results(bench: Bench, tmp_path: Path) -> None:
    code, printed = bench("mine")
    assert code == 0
    assert Fake.prepared == [("nginx", "touch", "/tmp/it")]
    results = Results.read(tmp_path / "results" / "mine.json")
    assert results
    assert results.finished
    assert results.mode == "quick"
    assert "fast │ 250 │ 250 │ 250 │ 2.50 │" in printed
    assert "The tables: results/mine.md" in printed


@pytest.mark.parametrize("told", ["", "quiet", "busy"])
@pytest.mark.parametrize("busy", [False, True])
def test_results_md_is_replaced_only_if_told_so_and_by_a_busy_run_only_if_told_that(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, busy: bool
) -> None:
    page, times = tmp_path / "labs" / "mine" / "results.md", iter([10] + [20] * 6 if busy else [10] * 4)
    picture = page.with_suffix(".svg")
    page.write_text("of another day")
    picture.write_text("of another day")
    monkeypatch.setattr(runner, "calibrate", lambda: next(times))
    code, printed = bench("mine", *(["--publish", told] if told else []))
    first = page.read_text().splitlines()[0]
    if told == "busy" or (told and not busy):
        assert (code, first) == (0, "# Results: A lab")
        assert picture.read_bytes() == (tmp_path / "results" / "mine.svg").read_bytes()
        assert "Published: labs/mine/results.md" in printed
    else:
        assert (code, first, picture.read_text()) == (2 if told else 0, "of another day", "of another day")
        why = "This machine was busy: 3 of 4" if told else "PUBLISH=1 replaces it."
        assert f"as published. {why}" in printed
    # The tables of the run are in the other place, whatever happens.
    assert (tmp_path / "results" / "mine.md").read_text().startswith("# Results: A lab")


@pytest.mark.parametrize("words", ["It takes {} ms", "It has {} of"])
def test_a_page_without_the_place_of_a_figure_is_named_and_left_alone(
    bench: Bench, tmp_path: Path, words: str
) -> None:
    """And a figure that the results do not have: those of a quick run have fewer rows."""
    lab = tmp_path / "labs" / "mine"
    (lab / "README.md").write_text("It has 5 of them.")
    (lab / "figures.toml").write_text(f'"no such table" = [["{words}", "row", "column"]]')
    code, printed = bench("mine", "--publish", "busy")
    assert (code, (lab / "README.md").read_text()) == (1, "It has 5 of them.")
    assert "README.md is unchanged: " in printed
    assert (words in printed) == ("ms" in words)
    assert ("no such table, row, column" in printed) == ("of" in words)


def test_what_was_measured_before_is_published_without_measuring(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "labs" / "other").mkdir()
    (tmp_path / "labs" / "other" / "lab.toml").write_text(LAB)
    bench("mine")
    Fake.measured.clear()
    assert bench("--publish", "quiet")[0] == 0
    assert Fake.measured == []
    assert [page.parent.name for page in tmp_path.glob("labs/*/results.md")] == ["mine"]


def test_a_rejected_cell_sets_the_exit_code(bench: Bench) -> None:
    Fake.act = fail(Problem("502"), after=1)
    code, printed = bench("mine")
    assert code == 1
    assert "rejected: fast: 502" in printed
    assert "fast │ rejected │" in printed


ALL = ["slow", "fast"] * 2 + ["fast", "slow"]  # two warm-ups, there and back


@pytest.mark.parametrize(
    ("options", "cpu", "measured", "said"),
    [
        ([], "one", ["slow", "fast", "fast", "fast", "slow"], "Continuing an interrupted run"),
        (["--fresh"], "one", ALL, ""),
        ([], "another", ALL, "have changed: machine."),
    ],
)
def test_an_interrupted_run_continues_unless_told_otherwise_or_a_condition_has_changed(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    cpu: str,
    measured: list[str],
    said: str,
) -> None:
    Fake.act = fail(KeyboardInterrupt(), after=3)  # two warm-ups and a sample
    assert bench("mine")[0] == 130
    Fake.measured.clear()
    monkeypatch.setattr(machine, "describe", lambda stack: {"cpu": cpu})
    code, printed = bench("mine", *options)
    assert (code, Fake.measured) == (0, measured)
    assert said in printed
    # A finished run does not continue: the next one starts over.
    Fake.measured.clear()
    bench("mine")
    assert Fake.measured == ALL


@pytest.mark.parametrize("toml", ["", LAB.replace("title", "titel")])
def test_the_other_labs_are_measured_if_one_fails(bench: Bench, tmp_path: Path, toml: str) -> None:
    (tmp_path / "labs" / "bad").mkdir()
    if toml:
        (tmp_path / "labs" / "bad" / "lab.toml").write_text(toml)
    code, printed = bench("bad", "mine")
    assert code == 2
    assert ("title: missing" if toml else "No such file") in printed
    assert len(Fake.measured) == 6


def test_a_second_run_at_the_same_time_is_rejected(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    with (tmp_path / "results" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, printed = bench("mine")
    assert code == 2
    assert "Another run" in printed
    assert Fake.measured == []


def test_the_digest_covers_names_and_contents_but_no_markdown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.bench.machine.REPO", tmp_path)
    folder = tmp_path / "nginx"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "a.conf").write_text("a")
    before = machine.digest([folder])
    (folder / "README.md").write_text("text")
    (folder / "__pycache__" / "x.pyc").write_text("compiled")
    assert machine.digest([folder]) == before
    (folder / "a.conf").write_text("b")
    changed = machine.digest([folder])
    (folder / "a.conf").rename(folder / "b.conf")
    assert len({before, changed, machine.digest([folder])}) == 3


def test_every_part_of_the_configuration_exists() -> None:
    for path in chain(machine.LOCUST, *machine.CONFIGURATION.values()):
        assert (REPO / path).exists(), path
