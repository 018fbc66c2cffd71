"""The top of the page: the headline figures of all labs, and how near this machine's limit they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench import words
from bench.report.limits import use
from bench.report.reading import Headline, Lab
from bench.report.tables import Table, percent
from bench.results import Measured


@dataclass(frozen=True)
class Figure:
    """One headline with its figure; `unit` is empty for a ratio."""

    text: str
    value: str
    unit: str


def figures(labs: Sequence[Lab]) -> list[Figure]:
    """Every headline whose cells were measured."""
    return [found for lab in labs for headline in lab.headlines if (found := _figure(lab, headline))]


def _figure(lab: Lab, headline: Headline) -> Figure | None:
    metric = headline.metric or lab.primary
    values = [cell.median.get(metric) if cell else None for cell in _cells(lab, headline)]
    if None in values or not all(values[1:]):
        return None
    if len(values) == 2:
        return Figure(headline.text, words.factor(values[0] / values[1]), "")  # type: ignore[operator]
    return Figure(headline.text, words.measured(metric, values[0]), words.metric(metric).rpartition(", ")[2])


def limits(labs: Sequence[Lab]) -> Table:
    """A row for each cell behind a headline: measured, limit, share, the full resource."""
    rows: list[Sequence[str]] = []
    for lab in labs:
        cells = {words.key(cell.key): cell for each in lab.headlines for cell in _cells(lab, each) if cell}
        for name, cell in cells.items():
            if found := use(lab, cell):
                metric = found.rate or lab.primary
                measured = words.with_unit(metric, cell.median.get(metric))
                limit = words.number(found.limit) if found.limit else ""
                rows.append([lab.title, name, measured, limit, percent(found.share), found.full])
    head = ["lab", "configuration", "measured", "limit here", "share", "what is full"]
    return Table("How near this machine\N{RIGHT SINGLE QUOTATION MARK}s limit", head, rows, labels=2)


def _cells(lab: Lab, headline: Headline) -> list[Measured | None]:
    keys = [headline.cell, *([{**headline.cell, **headline.over}] if headline.over else [])]
    return [lab.cell(key) for key in keys]
