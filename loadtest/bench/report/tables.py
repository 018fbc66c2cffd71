"""Tables of words. The page and the labs' README files show the same ones."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.cost import Cost
from bench.report import words
from bench.report.charts import Step, gain
from bench.report.profile import Profile
from bench.report.reading import Key, Lab, is_number
from bench.results import Measured

REFUSED = "refused"
NOT_YET = "not yet"


@dataclass(frozen=True)
class Table:
    """A table. The first `labels` columns say what a row is about, the others are figures."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    labels: int = 1


def distinct(values: Iterable[str]) -> list[str]:
    """Each value once, in the order of their first."""
    return list(dict.fromkeys(values))


def figure(cell: Measured | None, metric: str) -> str:
    """What a table says about a cell: a figure, or why there is none."""
    if cell is None:
        return words.NOTHING
    if cell.problem:
        return REFUSED
    return words.measured(metric, cell.median.get(metric)) if cell.median else NOT_YET


def across(lab: Lab, cells: Sequence[Measured], names: Sequence[str], metric: str) -> Table:
    """A column for each value of the keys `names`, a row for each combination of the others.

    The cells hold a metric, and where that is the primary one the factor behind it.
    """

    def say(cell: Measured) -> str:
        factor = lab.factor(cell) if metric == lab.primary else None
        return figure(cell, metric) + (f" ({words.factor(factor)})" if factor else "")

    caption = words.metric(metric)
    if metric == lab.primary and any(lab.factor(cell) for cell in cells):
        caption += f" (times {words.key(lab.baseline)})"
    return _crossed(caption, cells, names, say)


def factors(lab: Lab, cells: Sequence[Measured], names: Sequence[str]) -> Table:
    """The same with nothing but factors, and the published ones behind them."""

    def say(cell: Measured) -> str:
        if cell.problem:
            return REFUSED
        article = lab.article(cell.key)
        printed = lab.published_factor(article) if article else None
        return words.factor(lab.factor(cell)) + (f" (article: {words.factor(printed)})" if printed else "")

    compared = [cell for cell in cells if not lab.is_base(cell.key)]
    return _crossed(f"times {words.key(lab.baseline)}", compared, names, say)


def _crossed(
    caption: str, cells: Sequence[Measured], names: Sequence[str], say: Callable[[Measured], str]
) -> Table:
    columns = distinct(words.key(cell.key, without(cell.key, names)) for cell in cells)
    others = distinct(name for cell in cells for name in cell.key if name not in names)
    found = {
        (words.key(cell.key, names), words.key(cell.key, without(cell.key, names))): cell for cell in cells
    }
    rows = []
    for row in distinct(words.key(cell.key, names) for cell in cells):
        there = [found.get((row, column)) for column in columns]
        rows.append([row or "all", *(say(cell) if cell else words.NOTHING for cell in there)])
    return Table(caption, [" · ".join(map(words.spaced, others)), *columns], rows)


def without(key: Key, names: Iterable[str]) -> list[str]:
    """The parts of a key that are not among these."""
    names = set(names)
    return [name for name in key if name not in names]


def plain(caption: str, cells: Sequence[Measured], choose: Callable[[str], bool] = lambda _: True) -> Table:
    """A row for each cell with every metric that is chosen."""
    metrics = [name for name in distinct(name for cell in cells for name in cell.median) if choose(name)]
    keys = distinct(name for cell in cells for name in cell.key)
    rows = [
        [
            *(words.part(name, cell.key[name]) if name in cell.key else words.NOTHING for name in keys),
            *(figure(cell, metric) for metric in metrics),
        ]
        for cell in cells
    ]
    return Table(caption, [*map(words.spaced, keys), *map(words.metric, metrics)], rows, labels=len(keys))


def steps(caption: str, steps: Sequence[Step], metric: str) -> Table:
    """A ladder: what each step gives, against the one before and against the first."""
    rows, good = [], [step for step in steps if step.value]
    for place, step in enumerate(steps):
        if step.value is None:
            rows.append([step.name, REFUSED, words.NOTHING, words.NOTHING, words.NOTHING])
            continue
        before = [other for other in steps[:place] if other.value]
        low_high = f"{words.number(step.spread[0])} to {words.number(step.spread[1])}" if step.spread else ""
        rows.append(
            [
                step.name,
                words.measured(metric, step.value),
                low_high or words.NOTHING,
                gain(before[-1], step) if before else words.NOTHING,
                words.factor(step.value / good[0].value) if before and good[0].value else words.NOTHING,
            ]
        )
    head = ["step", words.metric(metric), "lowest to highest", "against the step before", "against the first"]
    return Table(caption, head, rows)


def profiles(caption: str, name: str, found: Mapping[str, Profile]) -> Table:
    """What a request costs each service, and how many of them can be served; a row for each `name`."""
    services = distinct(service for it in found.values() for service in it.services)
    rows = [
        [
            value,
            *(_whole(it.services.get(service, 0)) for service in services),
            _whole(it.rest),
            _whole(it.total),
            words.number(it.measured),
            words.number(it.limit),
            it.why,
        ]
        for value, it in found.items()
    ]
    head = [name, *services, words.REST, "sum", "requests/s", "limit, requests/s", "what is full there"]
    return Table(f"CPU for a request, µs: {caption}", head, rows)


def _whole(value: float) -> str:
    """A microsecond more or less says nothing."""
    return words.number(round(value))


def costs(found: Mapping[str, Cost | None]) -> Table:
    """What a user costs on each server. One that kept up with no rate or held nobody has no price."""
    measured = ["keeps up with, requests/s", "bytes per connection"]
    head = ["server", *measured, "users of one machine", "because of", "machines", "dollars per user"]
    rows = [
        [
            server,
            ("at least " if it.at_least else "") + words.number(it.rate),
            words.number(it.size),
            words.number(math.floor(it.users)),
            it.why,
            words.number(it.machines),
            f"{it.dollars:.4f}",
        ]
        if it
        else [server, *[words.NOTHING] * (len(head) - 1)]
        for server, it in found.items()
    ]
    return Table("What a user costs", head, rows)


def published(lab: Lab) -> Table | None:
    """What the article gives, and beside it what was measured here."""
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
            row += [
                words.factor(lab.published_factor(entry)),
                words.factor(lab.factor(cell) if cell else None),
            ]
        rows.append(row)
    caption = "The article beside this machine" if lab.results else "What the article measured"
    return Table(caption, head + (["factor: article", "here"] if factors else []), rows)


def has_number(cells: Iterable[Measured], metric: str) -> bool:
    """Whether anything of this metric was measured."""
    return any(is_number(cell.median.get(metric)) for cell in cells)
