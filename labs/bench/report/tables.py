"""Tables of words."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from labs.bench import words
from labs.bench.report.limits import RATE, Use
from labs.bench.report.reading import Lab
from labs.bench.results import Measured

REJECTED, NOT_YET, REST = "rejected", "not yet", "everything else"


@dataclass(frozen=True)
class Table:
    """A table. The first `labels` columns identify a row, the others are figures."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    labels: int = 1


def distinct(values: Iterable[str]) -> list[str]:
    """Each value once, in the order of their first occurrence."""
    return list(dict.fromkeys(values))


def figure(cell: Measured | None, metric: str) -> str:
    """A cell's figure, or why there is none."""
    if cell is None:
        return words.NOTHING
    if cell.problem:
        return REJECTED
    return words.measured(metric, cell.median.get(metric)) if cell.median else NOT_YET


def across(lab: Lab, cells: Sequence[Measured], series: Sequence[str], metric: str) -> Table:
    """A column for each series, a row for each combination of the other keys.

    The figures are a metric's; the primary metric has its factor behind it.
    """

    def say(cell: Measured | None) -> str:
        factor = lab.factor(cell) if cell and metric == lab.primary else None
        return figure(cell, metric) + (f" ({words.factor(factor)})" if factor else "")

    def column(cell: Measured) -> str:
        return words.key({name: cell.key[name] for name in series})

    caption = words.metric(metric)
    if metric == lab.primary and any(lab.factor(cell) for cell in cells):
        baseline = {name: value for name, value in lab.results.baseline.items() if name in cells[0].key}
        caption += f" (times {words.key(baseline)})"
    others = distinct(name for cell in cells for name in cell.key if name not in series)
    columns = distinct(map(column, cells))
    found = {(words.key(cell.key, series), column(cell)): cell for cell in cells}
    rows = [
        [row, *(say(found.get((row, name))) for name in columns)]
        for row in distinct(words.key(cell.key, series) for cell in cells)
    ]
    return Table(caption, [" · ".join(map(words.spaced, others)), *columns], rows)


def plain(caption: str, cells: Sequence[Measured], chosen: Iterable[str] = ()) -> Table:
    """A row for each cell with the chosen metrics, or with every metric."""
    metrics = list(chosen) or distinct(name for cell in cells for name in cell.median)
    keys = distinct(name for cell in cells for name in cell.key)
    rows = [
        [
            *(words.part(name, cell.key[name]) if name in cell.key else words.NOTHING for name in keys),
            *(figure(cell, metric) for metric in metrics),
        ]
        for cell in cells
    ]
    return Table(caption, [*map(words.spaced, keys), *map(words.metric, metrics)], rows, labels=len(keys))


def steps(caption: str, steps: Mapping[str, Measured], metric: str) -> Table:
    """A ladder: each step, against the previous one and against the first."""
    rows, first, before = [], None, None
    for name, cell in steps.items():
        value, spread = cell.median.get(metric), cell.spread.get(metric, ())
        rows.append(
            [
                name,
                figure(cell, metric),
                " to ".join(map(words.number, spread)) or words.NOTHING,
                gain(before, value),
                words.factor(value / first if first and value else None),
            ]
        )
        first, before = first or value, value or before
    head = ["step", words.metric(metric), "lowest to highest", "against the step before", "against the first"]
    return Table(caption, head, rows)


def saved(ladders: Mapping[str, Mapping[str, Use]], helped: Collection[str]) -> Table:
    """The CPU time of a request that a ladder saves: by the steps in `helped`, and by the others."""
    rows = []
    for caption, uses in ladders.items():
        times = [it.total for it in uses.values()]
        steps = dict(zip(list(uses)[1:], (before - after for before, after in pairwise(times)), strict=True))
        all, by_helped = times[0] - times[-1], sum(gain for name, gain in steps.items() if name in helped)
        figures = [times[0], all - by_helped, by_helped, times[-1]]
        share = f"{(all - by_helped) / all * 100:.0f} %" if all > 0 else words.NOTHING
        rows.append([caption, *(words.number(round(figure)) for figure in figures), share])
    head = ["", "at first", "saved without it", "saved with its help", "at last", "without it"]
    names = ", ".join(helped)
    return Table(f"CPU of a request in µs, and the application's help ({names})", head, rows)


def gain(before: float | None, value: float | None) -> str:
    """The change from one step to the next: +12 %."""
    if not before or value is None:
        return words.NOTHING
    return f"{(value / before - 1) * 100:+.0f} %".replace("-", words.MINUS)


def limits(caption: str, name: str, found: Mapping[str, Use]) -> Table:
    """Each series' share of the limit, and the CPU time of a request if there is a rate."""
    services = distinct(service for it in found.values() for service in it.services)
    head = [name, *services]
    if services:
        head += [REST, "sum", words.metric(RATE), "limit"]
    rows = []
    for series, it in found.items():
        row = [series]
        if services:
            spent = [*(it.services.get(service, 0) for service in services), it.rest, it.total]
            row += [words.number(round(value)) for value in spent]
            row += [
                words.number(value) if value else words.NOTHING for value in (it.limit and it.rate, it.limit)
            ]
        rows.append([*row, f"{it.share * 100:.0f} %", it.full])
    if services:
        caption = " · ".join(filter(None, ["CPU of a request in µs, and the limit", caption]))
    return Table(caption or "The fullest resource", [*head, "share", "what is full"], rows)


def published(lab: Lab) -> Table | None:
    """The article's figures, and beside them those measured here."""
    if not lab.published:
        return None
    figures = distinct(name for entry in lab.published for name in entry.figures)
    known = {name for cell in lab.cells for name in cell.median}
    factors = any(lab.published_factor(entry) for entry in lab.published)
    head = [" · ".join(map(words.spaced, distinct(name for entry in lab.published for name in entry.key)))]
    for name in figures:
        head += [f"{words.metric(name)}: article", *(["here"] if name in known else [])]
    rows = []
    for entry in lab.published:
        cell = lab.cell(entry.key)
        row = [words.key(entry.key)]
        for name in figures:
            row.append(words.measured(name, entry.figures.get(name)))
            if name in known:
                row.append(figure(cell, name) if name in entry.figures else words.NOTHING)
        if factors:
            row.append(words.factor(lab.published_factor(entry)))
            row.append(words.factor(lab.factor(cell) if cell else None))
        rows.append(row)
    head += ["factor: article", "here"] if factors else []
    return Table("The article beside this machine", head, rows)


def rejected(lab: Lab) -> Table | None:
    """The rejected cells, each with its reason."""
    rows = [[words.key(cell.key), words.reason(cell.problem)] for cell in lab.cells if cell.problem]
    return Table("Rejected measurements", ["cell", "reason"], rows, labels=2) if rows else None
