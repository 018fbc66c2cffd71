"""The judge: faults fail a run, and the verdict names them."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from verdict.judge import (
    FAILED,
    INCONCLUSIVE,
    NOT_IN_RUN,
    NOT_MEASURED,
    OK,
    Line,
    Row,
    Run,
    conclusion,
    good,
    judge,
    percentile,
    read,
)
from verdict.thresholds import SHIPPED

THRESHOLDS: Mapping[str, Mapping[str, float]] = {
    "samples": {"GET /media/*": 10, "stage heard": 10},
    "error_ratio": {"*": 0.1},
    "p95_ms": {"GET /*": 100, "stage heard": 200},
    "p99_ms": {"stage heard": 300},
    "hit_ratio": {"/media/*": 0.8},
    "generator": {"cpu_percent": 90, "late_ms": 100},
}
MEDIA = Row("GET", "/media/*.svg", samples=100, failures=0, times={5: 90, 50: 10})
HEARD = Row("stage", "heard", samples=100, failures=0, times={20: 98, 250: 2})
GOOD = Run(
    rows=[MEDIA, HEARD],
    caches={("/media/*.svg", "client", "hit"): 90, ("/media/*.svg", "client", "miss"): 10},
    generator_cpu=40,
)


def with_rows(*rows: Row) -> Run:
    return replace(GOOD, rows=list(rows))


def with_media(**outcomes: int) -> Run:
    """Return a good run with these outcomes for clients' requests below /media."""
    return replace(GOOD, caches={("/media/*.svg", "client", each): n for each, n in outcomes.items()})


def bad(run: Run, thresholds: Mapping[str, Mapping[str, float]] = THRESHOLDS) -> list[Line]:
    return [line for line in judge(run, thresholds) if line.verdict != OK]


def test_a_good_run_holds_every_line() -> None:
    lines = judge(GOOD, THRESHOLDS)
    assert bad(GOOD) == []
    assert good(lines)
    assert [line.what for line in lines] == [
        *("samples of GET /media/*", "samples of stage heard", "errors of *", "p95 of GET /*"),
        *("p95 of stage heard", "p99 of stage heard", "hits of /media/*"),
        *("CPU of Locust", "timer delay of Locust"),
    ]
    assert conclusion(lines).verdict == "GOOD"
    assert lines[4].measured == "20 ms"
    assert lines[6].measured == "90.0%"


SLOW = with_rows(replace(MEDIA, times={5: 90, 150: 10}), HEARD)


@pytest.mark.parametrize(
    ("verdict", "run", "what", "why"),
    [
        (FAILED, with_rows(MEDIA, replace(HEARD, samples=12, failures=8)), "samples of stage heard",
         "too few successful samples; 8 failed"),
        (FAILED, with_rows(replace(MEDIA, failures=40), HEARD), "errors of *",
         "40 of 200 failed, most of them GET /media/*.svg"),
        (FAILED, SLOW, "p95 of GET /*", "too slow: GET /media/*.svg"),
        (FAILED, with_rows(MEDIA, replace(HEARD, failures=6)), "p95 of stage heard",
         "more than 5% of stage heard failed"),
        (FAILED, with_rows(MEDIA, replace(HEARD, times={20: 95, 400: 5})), "p99 of stage heard",
         "too slow: stage heard"),
        (FAILED, with_media(**{"pass": 99, "hit": 1}), "hits of /media/*",
         "of 100 responses: hit 1, pass 99"),
        (FAILED, with_rows(replace(MEDIA, failures=15), HEARD), "hits of /media/*",
         "of 100 responses: hit 90, miss 10; 15 failed"),
        (FAILED, replace(GOOD, exceptions=1), "exceptions",
         "a task raised an exception; see Locust's list of exceptions"),
        (NOT_MEASURED, with_rows(MEDIA), "samples of stage heard", "too few samples"),
        (NOT_MEASURED, with_rows(MEDIA), "p95 of stage heard", "no such sample"),
        (NOT_MEASURED, with_rows(), "errors of *", "no such sample"),
        (NOT_MEASURED, replace(GOOD, caches={}), "hits of /media/*", "no such response"),
        # Locust itself may have been slow, but it does not cause failures.
        (INCONCLUSIVE, replace(SLOW, generator_late=101), "p95 of GET /*",
         "too slow: GET /media/*.svg, or Locust was"),
        (FAILED, replace(SLOW, generator_late=101, exceptions=1), "exceptions",
         "a task raised an exception; see Locust's list of exceptions"),
    ],
)  # fmt: skip
def test_a_line_that_is_not_met_says_why(verdict: str, run: Run, what: str, why: str) -> None:
    assert (what, verdict, why) in [(line.what, line.verdict, line.why) for line in bad(run)]
    assert conclusion(bad(run)).verdict == verdict


def test_a_threshold_that_is_no_number_never_holds() -> None:
    """The judge does not rely on the form and the file, which refuse nan."""
    asked = {table: dict.fromkeys(lines, math.nan) for table, lines in THRESHOLDS.items()}
    assert len(bad(GOOD, asked)) == sum(map(len, THRESHOLDS.values()))


@pytest.mark.parametrize(
    ("run", "word"),
    [
        (replace(GOOD, generator_cpu=90.5), "Locust itself was the limit"),
        (replace(GOOD, generator_warned=True), "Locust itself was the limit"),
        (replace(GOOD, generator_late=100.5), "Locust's timers were late"),
        (replace(GOOD, lost=1), "workers disappeared"),
    ],
)
@pytest.mark.parametrize("thresholds", [THRESHOLDS, {"samples": {"*": 1}}])
def test_a_run_that_measured_locust_instead_of_the_stack(
    run: Run, word: str, thresholds: Mapping[str, Mapping[str, float]]
) -> None:
    (line,) = bad(run, thresholds)
    assert line.verdict == (NOT_MEASURED if run.lost else INCONCLUSIVE)
    assert word in line.why
    assert not good([line])
    assert conclusion([line]).verdict == line.verdict


# The rows of a Reader, and the row of another class.
FETCHED = ("GET /media/*.svg", "GET /stages/demo")
READER = replace(with_rows(MEDIA), possible=FETCHED, left_out=("stage heard",))
ABOUT_HEARD = {f"{kind} of stage heard" for kind in ("samples", "p95", "p99")}


STAYED = replace(with_rows(HEARD), possible=("stage heard",), left_out=("GET /media/*.svg",))
ABOUT_FILES = {"samples of GET /media/*", "p95 of GET /*", "hits of /media/*"}


@pytest.mark.parametrize(("run", "about"), [(READER, ABOUT_HEARD), (STAYED, ABOUT_FILES)])
def test_lines_about_classes_that_were_not_picked_do_not_apply(run: Run, about: set[str]) -> None:
    lines = judge(run, THRESHOLDS)
    assert {line.what for line in lines if line.verdict == NOT_IN_RUN} == about
    assert good(lines)
    assert conclusion(lines).why == "all 6 lines hold."


@pytest.mark.parametrize(
    "run",
    [
        replace(READER, possible=(*READER.possible, "stage heard")),  # picked, but without a sample
        replace(READER, left_out=()),  # no class is known to take such samples
    ],
)
def test_a_picked_class_without_a_sample_was_not_measured(run: Run) -> None:
    assert {line.what for line in bad(run)} == ABOUT_HEARD
    assert conclusion(bad(run)).verdict == NOT_MEASURED


def test_responses_that_no_cache_may_keep_are_no_missing_hits() -> None:
    """Such responses are a webcam's frames, whose row also matches the pattern of media."""
    polled = {**GOOD.caches, ("/media/video/*.jpg", "client", "none"): 900}
    assert not bad(replace(GOOD, caches=polled))


def test_a_threshold_of_zero_still_requires_a_success() -> None:
    """The only response is a hit, but a failed sample."""
    run = Run(
        rows=[Row("GET", "/media/*.svg", samples=1, failures=1, times={5: 1})],
        caches={("/media/*.svg", "client", "hit"): 1},
    )
    for asked in ({"hit_ratio": {"/media/*": 0.0}}, {"error_ratio": {"*": 1.0}}):
        assert [line.verdict for line in bad(run, asked)] == [FAILED]


def test_a_percentile_counts_failures_as_infinitely_slow() -> None:
    row = Row("stage", "chat", samples=20, failures=0, times={10: 18, 30: 1, 70: 1})
    assert percentile(row, 0.90) == 10
    assert percentile(row, 0.95) == 30
    assert percentile(row, 0.99) == 70
    # One request failed quickly; the other nineteen must still be fast enough.
    assert percentile(replace(row, failures=1), 0.95) == 70
    assert percentile(replace(row, failures=2), 0.95) == math.inf
    assert percentile(Row("stage", "chat", 0, 0, {}), 0.95) == math.inf


def test_an_empty_run_fails_all_the_shipped_thresholds() -> None:
    lines = judge(Run(), read(SHIPPED))
    assert [line.what for line in lines if line.verdict == OK] == ["CPU of Locust", "timer delay of Locust"]
    assert len(lines) == 2 + sum(len(table) for name, table in read(SHIPPED).items() if name != "generator")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[p59_ms]\n'GET /' = 1", r"unknown table \[p59_ms\]"),
        ("samples = 3", r"unknown table \[samples\]"),
        ("[samples]\n'GET /' = '3'", r"GET / in \[samples\] is not a number"),
        ("[samples]\n'GET /' = true", "is not a number"),
        ("[samples]\n'GET /' = -1", "is not a number of at least 0"),
        ("[p95_ms]\n'GET /' = inf", "is not a number of at least 0"),
        ("[p95_ms]\n'GET /' = nan", "is not a number of at least 0"),
        ("[generator]\ncpu = 90", "can have only cpu_percent"),
        ("", "has no thresholds"),
        ("[samples]", "has no thresholds"),
        ("samples", "Expected '='"),
    ],
)
def test_a_mistake_in_the_file_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "thresholds.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read(path)
