"""Judges a whole run by its thresholds, without Locust and without a network.

Judging is monotonic: one more failed sample, exception or cache miss can make a good run bad, but never a bad
run good. So only successful samples count as samples, a failed sample counts as infinitely slow, and a run is
not good if it lacks the row of a threshold.
"""

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from caches.outcomes import hit_ratio
from caches.table import of_crawlers
from users import paths

# The tables of thresholds.toml that are about rows.
PERCENTILES = {"p95_ms": 0.95, "p99_ms": 0.99}
TABLES = ("samples", "error_ratio", *PERCENTILES, "hit_ratio")

# The limits for Locust itself if the file has none: percent of one core, at which Locust begins to warn, too,
# and milliseconds of timer delay.
GENERATOR = {"cpu_percent": 90.0, "late_ms": 100.0}

OK = "ok"
FAILED = "FAILED"
# The run is not good: a sample is missing that a class in the run takes.
NOT_MEASURED = "NOT MEASURED"
# The run is not good: Locust was the limit, so the figure describes Locust.
INCONCLUSIVE = "INCONCLUSIVE"
# The line does not apply: no class in the run has to take such samples.
NOT_IN_RUN = "not in this run"

# Lines with a description of their own.
WORDS = {
    ("error_ratio", "arrival start"): "arrivals that never started",
    ("p99_ms", "arrival start"): "p99 of how late arrivals start",
}

# table -> pattern -> number
Thresholds = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Row:
    """One row of Locust's table: its type as `kind` (`GET`, `stage`), and `times`, milliseconds -> samples.

    `failures` of the `samples` failed; `times` may or may not include them. `length`: bytes of all bodies.
    """

    kind: str
    name: str
    samples: int
    failures: int
    times: Mapping[int, int]
    length: int = 0

    def __str__(self) -> str:
        """Return the text with which patterns are compared."""
        return f"{self.kind} {self.name}"

    @property
    def good(self) -> int:
        return self.samples - self.failures


@dataclass(frozen=True)
class Run:
    """The measurements of a run.

    `caches`: (row, tier, outcome) -> responses, as in `caches.counters`. `exceptions`: tasks that raised an
    exception. `generator_cpu`: percent of one core, the highest use by a process of Locust for some seconds;
    `generator_warned`: whether Locust itself has warned of it. `generator_late`: milliseconds, the highest
    timer delay, a mean over some seconds. `lost`: workers that disappeared. `possible`: a row of each sort
    that the classes in the run should fill; `left_out`: the other known rows.
    """

    rows: list[Row] = field(default_factory=list)
    caches: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    exceptions: int = 0
    generator_cpu: float = 0.0
    generator_warned: bool = False
    generator_late: float = 0.0
    lost: int = 0
    possible: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def lacks(self, pattern: str) -> bool:
        """Return whether no class in this run has to fill such rows."""
        rows = (*self.possible, *map(str, self.rows))
        return not _any(rows, pattern) and _any(self.left_out, pattern)


@dataclass(frozen=True)
class Line:
    """One line of the verdict: threshold, measurement and, if the threshold is not met, the reason."""

    what: str
    allowed: str
    measured: str
    verdict: str
    why: str = ""


def read(path: Path) -> Thresholds:
    """Return the thresholds of a file. Raise ValueError for unknown entries: a typo must not weaken the
    verdict.
    """
    with path.open("rb") as file:
        tables = tomllib.load(file)
    for table, lines in tables.items():
        known = GENERATOR if table == "generator" else None
        if table not in (*TABLES, "generator") or not isinstance(lines, dict):
            raise ValueError(f"{path.name}: unknown table [{table}]")
        for pattern, number in lines.items():
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < math.inf:
                raise ValueError(f"{path.name}: {pattern} in [{table}] is not a number of at least 0")
            if known and pattern not in known:
                raise ValueError(f"{path.name}: [{table}] can have only {', '.join(known)}")
    if not any(tables.values()):
        raise ValueError(f"{path.name} has no thresholds")
    return tables


def judge(run: Run, thresholds: Thresholds) -> list[Line]:
    """Return all lines of the verdict, in the order of the file's tables."""
    generator = list(_generator(run, {**GENERATOR, **thresholds.get("generator", {})}))
    limited = not good(generator)
    lines: dict[str, Callable[[Run, str, float], Line]] = {
        "samples": _samples,
        "error_ratio": _errors,
        **{table: partial(_times, table, share, limited) for table, share in PERCENTILES.items()},
        "hit_ratio": _hits,
    }
    found = []
    for table, line in lines.items():
        for pattern, number in thresholds.get(table, {}).items():
            judged = line(run, pattern, number)
            found.append(replace(judged, what=WORDS.get((table, pattern), judged.what)))
        if table == "error_ratio" and run.exceptions:
            why = "a task raised an exception; see Locust's list of exceptions"
            found.append(Line("exceptions", "none", f"{run.exceptions}", FAILED, why))
    return found + generator


def good(lines: list[Line]) -> bool:
    return not faults(lines)


def faults(lines: list[Line]) -> list[Line]:
    """Return the lines that are not met."""
    return [line for line in lines if line.verdict not in (OK, NOT_IN_RUN)]


def conclusion(lines: list[Line]) -> Line:
    """Return the verdict on the whole run, as one line."""
    lines = [line for line in lines if line.verdict != NOT_IN_RUN]
    bad = [line.verdict for line in lines if line.verdict != OK]
    if not bad:
        verdict, why = "GOOD", f"all {len(lines)} lines hold."
    elif FAILED in bad:
        verdict, why = FAILED, f"{bad.count(FAILED)} of {len(lines)} lines were not met."
        if unknown := len(bad) - bad.count(FAILED):
            why += f" {unknown} could not be judged."
    elif INCONCLUSIVE in bad:
        verdict, why = INCONCLUSIVE, "Locust was the limit; the stack may be better than these figures."
    else:
        verdict, why = NOT_MEASURED, f"{len(bad)} of {len(lines)} lines could not be judged."
    return Line("the run", "", "", verdict, why)


def percentile(row: Row, share: float) -> float:
    """Return the milliseconds within which that share of a row's samples succeeded; inf if fewer did.

    Locust does not report which times belong to failures. The fastest samples are counted as failures: an
    error page comes quickly and must not make a slow row look fast.
    """
    rank = math.ceil(share * row.samples) + row.failures
    for milliseconds in sorted(row.times):
        rank -= row.times[milliseconds]
        if rank <= 0:
            return milliseconds
    return math.inf


def _any(rows: Iterable[str], pattern: str) -> bool:
    return any(fnmatchcase(row, pattern) for row in rows)


def _matching(run: Run, pattern: str) -> list[Row]:
    return [row for row in run.rows if fnmatchcase(str(row), pattern)]


# Each of these functions judges one threshold. Every comparison with NaN is false, so each condition tests
# whether a threshold is met, never whether it is exceeded.


def _samples(run: Run, pattern: str, least: float) -> Line:
    line = partial(Line, f"samples of {pattern}", f"at least {least:g}")
    if run.lacks(pattern):
        return line("", NOT_IN_RUN)
    rows = _matching(run, pattern)
    count = sum(row.good for row in rows)
    if count >= least:
        return line(f"{count}", OK)
    if failures := sum(row.failures for row in rows):
        return line(f"{count}", FAILED, f"too few successful samples; {failures} failed")
    return line(f"{count}", NOT_MEASURED, "too few samples")


def _errors(run: Run, pattern: str, most: float) -> Line:
    line = partial(Line, f"errors of {pattern}", f"at most {most:.2%}")
    if run.lacks(pattern):
        return line("", NOT_IN_RUN)
    rows = _matching(run, pattern)
    samples, failures = sum(row.samples for row in rows), sum(row.failures for row in rows)
    if not samples:
        return line("-", NOT_MEASURED, "no such sample")
    ratio = failures / samples
    if ratio <= most and failures < samples:
        return line(f"{ratio:.2%}", OK)
    worst = max(rows, key=lambda row: (row.failures, str(row)))
    return line(f"{ratio:.2%}", FAILED, f"{failures} of {samples} failed, most of them {worst}")


def _times(table: str, share: float, limited: bool, run: Run, pattern: str, most: float) -> Line:
    """Judge a percentile. `limited`: Locust was the limit, and may be the reason why a row is slow."""
    line = partial(Line, f"{table[:3]} of {pattern}", f"at most {most:g} ms")
    if run.lacks(pattern):
        return line("", NOT_IN_RUN)
    rows = _matching(run, pattern)
    if not rows:
        return line("-", NOT_MEASURED, "no such sample")
    slowest, row = max((percentile(row, share), str(row)) for row in rows)
    if math.isinf(slowest):
        return line("-", FAILED, f"more than {1 - share:.0%} of {row} failed")
    if slowest <= most:
        return line(f"{slowest:g} ms", OK)
    if limited:
        return line(f"{slowest:g} ms", INCONCLUSIVE, f"too slow: {row}, or Locust was")
    return line(f"{slowest:g} ms", FAILED, f"too slow: {row}")


def _hits(run: Run, pattern: str, least: float) -> Line:
    line = partial(Line, f"hits of {pattern}", f"at least {least:.0%}")
    if run.lacks(f"GET {pattern}"):
        return line("", NOT_IN_RUN)
    responses: Counter[str] = Counter()
    for (row, tier, outcome), count in run.caches.items():
        if tier == "client" and fnmatchcase(row, pattern) and not (paths.passed(row) or of_crawlers(row)):
            responses[outcome] += count
    # A failed sample is not a hit, whichever cache answered.
    bad = sum(row.failures for row in run.rows if row.kind == "GET" and fnmatchcase(row.name, pattern))
    total, ratio = responses.total(), hit_ratio(responses, failed=bad)
    if not total and not bad:
        return line("-", NOT_MEASURED, "no such response")
    if ratio >= least and total > bad:
        return line(f"{ratio:.1%}", OK)
    rest = ", ".join(f"{outcome} {count}" for outcome, count in sorted(responses.items()))
    why = f"of {total} responses: {rest}" + (f"; {bad} failed" if bad else "")
    return line(f"{ratio:.1%}", FAILED, why)


def _generator(run: Run, most: Mapping[str, float]) -> Iterator[Line]:
    busy = run.generator_warned or not run.generator_cpu <= most["cpu_percent"]
    why = "Locust itself was the limit, not the stack; give it more processes"
    allowed, measured = f"at most {most['cpu_percent']:g}%", f"{run.generator_cpu:.0f}%"
    yield Line("CPU of Locust", allowed, measured, *((INCONCLUSIVE, why) if busy else (OK,)))
    late = not run.generator_late <= most["late_ms"]
    why = "Locust's timers were late, and so are its figures; give it more processes or an idle machine"
    allowed, measured = f"at most {most['late_ms']:g} ms", f"{run.generator_late:.0f} ms"
    yield Line("timer delay of Locust", allowed, measured, *((INCONCLUSIVE, why) if late else (OK,)))
    if run.lost:
        why = "workers disappeared during the run, and their samples with them"
        yield Line("workers lost", "none", f"{run.lost}", NOT_MEASURED, why)
