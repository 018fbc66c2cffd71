"""Is this run good enough? The judgement of a whole run, without Locust and without a network.

Everything here goes one way: a failed sample, an exception or an answer that no cache had may turn a good run
into a bad one, never a bad one into a good one. That is why good samples alone count as samples, why a failed
one counts as one that took for ever, and why a run is not good if it lacks what a threshold speaks of.
"""

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

# The tables of thresholds.toml that speak of rows, and what each measures.
PERCENTILES = {"p95_ms": 0.95, "p99_ms": 0.99}
TABLES = ("samples", "error_ratio", *PERCENTILES, "hit_ratio")

# What holds for Locust itself if the file says nothing: per cent of one core, where Locust, too, begins to
# warn, and milliseconds by which its timers are late.
GENERATOR = {"cpu_percent": 90.0, "late_ms": 100.0}

OK = "ok"
FAILED = "FAILED"
# No sample of the kind, or Locust was the limit. It is no good run either.
NOT_MEASURED = "NOT MEASURED"

# table -> pattern -> number
Thresholds = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Row:
    """One row of Locust's table: its type as `kind` (`GET`, `stage`), and `times`, milliseconds -> samples.

    `failures` of the `samples` failed; those have times, too, or may have none.
    """

    kind: str
    name: str
    samples: int
    failures: int
    times: Mapping[int, int]

    def __str__(self) -> str:
        """What patterns are matched with."""
        return f"{self.kind} {self.name}"

    @property
    def good(self) -> int:
        """Samples that did not fail."""
        return self.samples - self.failures


@dataclass(frozen=True)
class Run:
    """What a run has measured.

    `caches`: (row, tier, outcome) -> answers, as `visitors.outcomes` counts them. `exceptions`: tasks that
    broke off. `generator_cpu`: per cent of one core, the highest that a process of the generator has used for
    some seconds; `generator_warned`: Locust has said the same. `generator_late`: milliseconds, the most by
    which the timers of one were late in some seconds, on average. `lost`: workers that went away silently.
    """

    rows: list[Row] = field(default_factory=list)
    caches: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    exceptions: int = 0
    generator_cpu: float = 0.0
    generator_warned: bool = False
    generator_late: float = 0.0
    lost: int = 0


@dataclass(frozen=True)
class Line:
    """One line of the verdict: what was asked, what came out, and, if it is not good, why in words."""

    what: str
    allowed: str
    measured: str
    verdict: str
    why: str = ""


def read(path: Path) -> Thresholds:
    """Read a file of thresholds. ValueError for what we would not judge: a slip must not pass for a yes."""
    with path.open("rb") as file:
        tables = tomllib.load(file)
    for table, lines in tables.items():
        known = GENERATOR if table == "generator" else None
        if table not in (*TABLES, "generator") or not isinstance(lines, dict):
            raise ValueError(f"{path.name}: there is no table [{table}]")
        for pattern, number in lines.items():
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < math.inf:
                raise ValueError(f"{path.name}: {pattern} in [{table}] is not a number from 0 up")
            if known and pattern not in known:
                raise ValueError(f"{path.name}: [{table}] knows only {', '.join(known)}")
    if not any(tables.values()):
        raise ValueError(f"{path.name} asks for nothing")
    return tables


def judge(run: Run, thresholds: Thresholds) -> list[Line]:
    """All lines of the verdict, in the order of the file's tables."""
    generator = list(_generator(run, {**GENERATOR, **thresholds.get("generator", {})}))
    return [
        *_samples(run, thresholds.get("samples", {})),
        *_errors(run, thresholds.get("error_ratio", {})),
        *_times(run, thresholds, limited=not good(generator)),
        *_hits(run, thresholds.get("hit_ratio", {})),
        *generator,
    ]


def good(lines: list[Line]) -> bool:
    """Whether the run has passed."""
    return all(line.verdict == OK for line in lines)


def conclusion(lines: list[Line]) -> Line:
    """All lines in one."""
    bad = [line.verdict for line in lines if line.verdict != OK]
    if not bad:
        verdict, why = "GOOD", f"all {len(lines)} lines hold."
    elif FAILED in bad:
        verdict, why = FAILED, f"{len(bad)} of {len(lines)} lines do not hold."
    else:
        verdict, why = NOT_MEASURED, f"{len(bad)} of {len(lines)} lines were not measured."
    return Line("the run", "", "", verdict, why)


def percentile(row: Row, share: float) -> float:
    """Milliseconds within which that share of a row's samples came back well; inf if fewer did.

    Locust does not say which of the times are those of failures, so the fastest are taken for them: an error
    page comes quickly, and must not make a slow row fast.
    """
    rank = math.ceil(share * row.samples) + row.failures
    for milliseconds in sorted(row.times):
        rank -= row.times[milliseconds]
        if rank <= 0:
            return milliseconds
    return math.inf


def _line(what: str, allowed: str, measured: str, failed: str = "", unmeasured: str = "") -> Line:
    """One line; the last two are why it does not hold."""
    verdict = FAILED if failed else NOT_MEASURED if unmeasured else OK
    return Line(what, allowed, measured, verdict, failed or unmeasured)


def _matching(run: Run, pattern: str) -> list[Row]:
    return [row for row in run.rows if fnmatchcase(str(row), pattern)]


# A number from the form can be "nan". Nothing is more or less than that, so each question below is whether
# something holds, never whether it does not.


def _samples(run: Run, thresholds: Mapping[str, float]) -> Iterator[Line]:
    for pattern, least in thresholds.items():
        rows = _matching(run, pattern)
        count = sum(row.good for row in rows)
        failed = unmeasured = ""
        if not count >= least:
            if failures := sum(row.failures for row in rows):
                failed = f"too few good samples; {failures} failed"
            else:
                unmeasured = "too few were made"
        yield _line(f"samples of {pattern}", f"at least {least:g}", f"{count}", failed, unmeasured)


def _errors(run: Run, thresholds: Mapping[str, float]) -> Iterator[Line]:
    for pattern, most in thresholds.items():
        rows = _matching(run, pattern)
        samples = sum(row.samples for row in rows)
        failures = sum(row.failures for row in rows)
        ratio = failures / samples if samples else 1.0
        failed = unmeasured = ""
        if not samples:
            unmeasured = "no such sample was made"
        elif not ratio <= most or failures == samples:
            worst = max(rows, key=lambda row: (row.failures, str(row)))
            failed = f"{failures} of {samples} failed, most of them {worst}"
        yield _line(f"errors of {pattern}", f"at most {most:.2%}", f"{ratio:.2%}", failed, unmeasured)
    if run.exceptions:
        why = "a user's task broke off; Locust's list of exceptions says where"
        yield _line("exceptions", "none", f"{run.exceptions}", why)


def _times(run: Run, thresholds: Thresholds, limited: bool) -> Iterator[Line]:
    for table, share in PERCENTILES.items():
        for pattern, most in thresholds.get(table, {}).items():
            slowest, row = max(
                ((percentile(row, share), str(row)) for row in _matching(run, pattern)),
                default=(math.inf, ""),
            )
            failed = unmeasured = ""
            if not row:
                unmeasured = "no such sample was made"
            elif math.isinf(slowest):
                failed = f"more than {1 - share:.0%} of {row} failed"
            elif not slowest <= most and limited:
                unmeasured = f"too slow: {row}, or only Locust was"
            elif not slowest <= most:
                failed = f"too slow: {row}"
            measured = "-" if math.isinf(slowest) else f"{slowest:g} ms"
            yield _line(f"{table[:3]} of {pattern}", f"at most {most:g} ms", measured, failed, unmeasured)


def _hits(run: Run, thresholds: Mapping[str, float]) -> Iterator[Line]:
    # An answer with which the visitor was not content is no hit, whoever gave it.
    failures = {row.name: row.failures for row in run.rows if row.kind == "GET"}
    for pattern, least in thresholds.items():
        said: dict[str, int] = {}
        for (row, tier, outcome), count in run.caches.items():
            if tier == "house" and fnmatchcase(row, pattern):
                said[outcome] = said.get(outcome, 0) + count
        answers = sum(said.values())
        bad = sum(count for row, count in failures.items() if fnmatchcase(row, pattern))
        hits = max(0, said.get("hit", 0) + said.get("stale", 0) - bad)
        ratio = hits / answers if answers else 0.0
        failed = unmeasured = ""
        if not answers and not bad:
            unmeasured = "no such answer came"
        elif not ratio >= least or answers <= bad:
            rest = ", ".join(f"{outcome} {count}" for outcome, count in sorted(said.items()))
            failed = f"of {answers} answers: {rest}" + (f"; {bad} failed" if bad else "")
        yield _line(f"hits of {pattern}", f"at least {least:.0%}", f"{ratio:.1%}", failed, unmeasured)


def _generator(run: Run, most: Mapping[str, float]) -> Iterator[Line]:
    why = "Locust itself was the limit: its figures, not the house's; give it more processes"
    busy = run.generator_warned or not run.generator_cpu <= most["cpu_percent"]
    yield _line(
        "CPU of Locust",
        f"at most {most['cpu_percent']:g} %",
        f"{run.generator_cpu:.0f} %",
        unmeasured=why if busy else "",
    )
    why = "Locust's timers were late, and so its figures; give it more processes, or an idle machine"
    yield _line(
        "lateness of Locust",
        f"at most {most['late_ms']:g} ms",
        f"{run.generator_late:.0f} ms",
        unmeasured="" if run.generator_late <= most["late_ms"] else why,
    )
    if run.lost:
        why = "workers went away during the run, and their samples with them"
        yield _line("workers lost", "none", f"{run.lost}", unmeasured=why)
