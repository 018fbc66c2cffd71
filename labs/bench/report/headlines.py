"""The top of the page: the headline figures of all labs."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench import words
from bench.report.reading import Headline, Lab


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
    keys = [headline.cell, *([{**headline.cell, **headline.over}] if headline.over else [])]
    values = [cell.median.get(metric) if (cell := lab.cell(key)) else None for key in keys]
    if None in values or not all(values[1:]):
        return None
    if len(values) == 2:
        return Figure(headline.text, words.factor(values[0] / values[1]), "")  # type: ignore[operator]
    return Figure(headline.text, words.measured(metric, values[0]), words.metric(metric).rpartition(", ")[2])
