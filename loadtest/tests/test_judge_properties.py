"""The judge: one more fault never makes a run better."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as some

from verdict.judge import OK, PERCENTILES, Row, Run, good, judge

NAMES = ["/media/*.svg", "/stages/demo", "heard"]
counts = some.integers(0, 30)
times = some.dictionaries(some.sampled_from([0, 5, 100, 101, 300, 5000]), counts, max_size=4)


@some.composite
def rows(draw: some.DrawFn) -> Row:
    taken = draw(times)
    untimed = draw(some.integers(0, 2))
    samples = sum(taken.values()) + untimed
    failures = draw(some.integers(untimed, samples))
    return Row(
        draw(some.sampled_from(["GET", "stage"])), draw(some.sampled_from(NAMES)), samples, failures, taken
    )


keys = some.tuples(
    some.sampled_from(NAMES),
    some.sampled_from(["client", "varnish"]),
    some.sampled_from(["hit", "miss", "error"]),
)
runs = some.builds(
    Run,
    rows=some.lists(rows(), max_size=3, unique_by=str),
    caches=some.dictionaries(keys, counts),
    exceptions=some.integers(0, 1),
    generator_cpu=some.sampled_from([0.0, 89.0, 91.0]),
    generator_warned=some.booleans(),
    generator_late=some.sampled_from([0.0, 99.0, 101.0]),
    lost=some.integers(0, 1),
)
numbers = some.sampled_from([0, 0.01, 0.1, 0.5, 0.9, 1, 5, 100, 300])
patterns = some.sampled_from(["*", "GET *", "GET /media/*", "stage heard", "/media/*", "heard"])
tables = some.sampled_from(["samples", "error_ratio", *PERCENTILES, "hit_ratio"])
thresholds = some.dictionaries(tables, some.dictionaries(patterns, numbers, min_size=1), min_size=1)


def verdicts(run: Run, asked: Mapping[str, Mapping[str, float]]) -> dict[str, bool]:
    return {line.what: line.verdict == OK for line in judge(run, asked)}


def add_failure(run: Run, added: Row, milliseconds: int | None, outcome: str | None) -> Run:
    """Return the run with one more failed sample, which may have had a response, even from a cache."""
    known = {str(row): row for row in run.rows}
    row = known.get(str(added), Row(added.kind, added.name, 0, 0, {}))
    taken = dict(row.times)
    if milliseconds is not None:
        taken[milliseconds] = taken.get(milliseconds, 0) + 1
    known[str(row)] = replace(row, samples=row.samples + 1, failures=row.failures + 1, times=taken)
    caches = dict(run.caches)
    if row.kind == "GET" and outcome:
        key = (row.name, "client", outcome)
        caches[key] = caches.get(key, 0) + 1
    return replace(run, rows=list(known.values()), caches=caches)


@given(
    runs,
    thresholds,
    rows(),
    some.none() | some.sampled_from([0, 5, 100, 5000]),
    some.none() | some.sampled_from(["hit", "stale", "miss", "error", "none"]),
)
def test_one_more_failure_never_makes_a_run_better(
    run: Run, asked: dict[str, dict[str, float]], row: Row, milliseconds: int | None, outcome: str | None
) -> None:
    before = verdicts(run, asked)
    after = verdicts(add_failure(run, row, milliseconds, outcome), asked)
    assert [what for what, held in after.items() if held and not before[what]] == []


@given(runs, thresholds)
def test_exceptions_lost_workers_or_a_busy_generator_never_make_a_run_better(
    run: Run, asked: dict[str, dict[str, float]]
) -> None:
    worse = [
        replace(run, exceptions=run.exceptions + 1),
        replace(run, lost=run.lost + 1),
        replace(run, generator_cpu=run.generator_cpu + 10),
        replace(run, generator_late=run.generator_late + 10),
        replace(run, generator_warned=True),
    ]
    for other in worse:
        assert not (good(judge(other, asked)) and not good(judge(run, asked)))
    assert not good(judge(worse[0], asked))
    assert not good(judge(worse[1], asked))
    assert not good(judge(worse[4], asked))
