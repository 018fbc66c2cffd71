"""Is this run good enough? The judgement of a whole run, without Locust and without a network.

Everything here goes one way: a failed sample, an exception or an answer that no cache had may turn a good run
into a bad one, never a bad one into a good one. That is why good samples alone count as samples, why a failed
one counts as one that took for ever, and why what a threshold speaks of and nobody measured has failed.
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

# Per cent of one core: where Locust, too, begins to warn, and what holds if the file says nothing.
BUSY = 90.0

OK = "ok"
FAILED = "FAILED"
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
    some seconds; `generator_warned`: Locust has said the same. `lost`: workers that went away without a word.
    """

    rows: list[Row] = field(default_factory=list)
    caches: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    exceptions: int = 0
    generator_cpu: float = 0.0
    generator_warned: bool = False
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
        known = ("cpu_percent",) if table == "generator" else None
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
    return [
        *_samples(run, thresholds.get("samples", {})),
        *_errors(run, thresholds.get("error_ratio", {})),
        *_times(run, thresholds),
        *_hits(run, thresholds.get("hit_ratio", {})),
        *_generator(run, thresholds.get("generator", {}).get("cpu_percent", BUSY)),
    ]


def good(lines: list[Line]) -> bool:
    """Whether the run has passed."""
    return all(line.verdict == OK for line in lines)


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


def _matching(run: Run, pattern: str) -> list[Row]:
    return [row for row in run.rows if fnmatchcase(str(row), pattern)]


def _samples(run: Run, thresholds: Mapping[str, float]) -> Iterator[Line]:
    for pattern, least in thresholds.items():
        rows = _matching(run, pattern)
        count = sum(row.good for row in rows)
        why = ""
        if count < least:
            failed = sum(row.failures for row in rows)
            why = f"too few good samples; {failed} failed" if failed else "too few were made"
        yield Line(f"samples of {pattern}", f"at least {least:g}", f"{count}", FAILED if why else OK, why)


def _errors(run: Run, thresholds: Mapping[str, float]) -> Iterator[Line]:
    for pattern, most in thresholds.items():
        rows = _matching(run, pattern)
        samples = sum(row.samples for row in rows)
        failures = sum(row.failures for row in rows)
        ratio = failures / samples if samples else 1.0
        why = ""
        if not samples:
            why = "no such sample was made"
        elif ratio > most or failures == samples:
            worst = max(rows, key=lambda row: (row.failures, str(row)))
            why = f"{failures} of {samples} failed, most of them {worst}"
        yield Line(f"errors of {pattern}", f"at most {most:.2%}", f"{ratio:.2%}", FAILED if why else OK, why)
    if run.exceptions:
        why = "a user's task broke off; Locust's list of exceptions says where"
        yield Line("exceptions", "none", f"{run.exceptions}", FAILED, why)


def _times(run: Run, thresholds: Thresholds) -> Iterator[Line]:
    for table, share in PERCENTILES.items():
        for pattern, most in thresholds.get(table, {}).items():
            what = f"{table[:3]} of {pattern}"
            slowest = max(
                ((percentile(row, share), str(row)) for row in _matching(run, pattern)),
                default=(math.inf, ""),
            )
            why = ""
            if not slowest[1]:
                why = "no such sample was made"
            elif math.isinf(slowest[0]):
                why = f"more than {1 - share:.0%} of {slowest[1]} failed"
            elif slowest[0] > most:
                why = f"too slow: {slowest[1]}"
            measured = "-" if math.isinf(slowest[0]) else f"{slowest[0]:g} ms"
            yield Line(what, f"at most {most:g} ms", measured, FAILED if why else OK, why)


def _hits(run: Run, thresholds: Mapping[str, float]) -> Iterator[Line]:
    # An answer with which the visitor was not content is no hit, whoever gave it.
    failures = {row.name: row.failures for row in run.rows if row.kind == "GET"}
    for pattern, least in thresholds.items():
        said: dict[str, int] = {}
        for (row, tier, outcome), count in run.caches.items():
            if tier == "house" and fnmatchcase(row, pattern):
                said[outcome] = said.get(outcome, 0) + count
        answers = sum(said.values())
        failed = sum(count for row, count in failures.items() if fnmatchcase(row, pattern))
        hits = max(0, said.get("hit", 0) + said.get("stale", 0) - failed)
        ratio = hits / answers if answers else 0.0
        why = ""
        if not answers:
            why = "no such answer came"
        elif ratio < least or answers <= failed:
            rest = ", ".join(f"{outcome} {count}" for outcome, count in sorted(said.items()))
            why = f"of {answers} answers: {rest}" + (f"; {failed} failed" if failed else "")
        yield Line(f"hits of {pattern}", f"at least {least:.0%}", f"{ratio:.1%}", FAILED if why else OK, why)


def _generator(run: Run, most: float) -> Iterator[Line]:
    why = ""
    if run.generator_cpu > most or run.generator_warned:
        why = "Locust itself was the limit: its figures, not the house's; give it more processes"
    verdict = NOT_MEASURED if why else OK
    yield Line("CPU of Locust", f"at most {most:g} %", f"{run.generator_cpu:.0f} %", verdict, why)
    if run.lost:
        why = "workers went away during the run, and their samples with them"
        yield Line("workers lost", "none", f"{run.lost}", NOT_MEASURED, why)
