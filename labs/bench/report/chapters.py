"""A chapter of the page for each lab: the exhibits that its lab.toml declares, each with its tables."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench import words
from bench.report import plots, tables
from bench.report.limits import use
from bench.report.plots import SHAPES, Plot
from bench.report.reading import Lab, Wanted
from bench.report.tables import Table, distinct
from bench.results import Measured

LIMITS = (
    "The CPU time of a request, by service. The limit is the rate at which the fullest resource "
    "would be full: all cores, or the one core of a program with one thread."
)


@dataclass(frozen=True)
class Mark:
    """A line of the legend."""

    name: str
    colour: str
    letter: str
    meaning: str = ""


@dataclass(frozen=True)
class Exhibit:
    """Plots that belong together, their text, and the figures behind them."""

    title: str
    text: str
    plots: Sequence[Plot]
    legend: Sequence[Mark]
    tables: Sequence[Table]


@dataclass(frozen=True)
class Chapter:
    """The page's chapter about a lab; `notes` say what to distrust."""

    lab: Lab
    exhibits: Sequence[Exhibit] = ()
    published: Table | None = None
    everything: Table | None = None
    rejected: Table | None = None
    notes: Sequence[str] = ()


def chapter(lab: Lab) -> Chapter:
    """Draw a lab. The chapter of a lab that has not been run has only its published figures."""
    if not lab.results:
        return Chapter(lab, published=tables.published(lab))
    exhibits = [Drawing(lab, wanted).exhibit() for wanted in lab.exhibits]
    waiting = sum(not cell.median and not cell.problem for cell in lab.cells)
    missing = f"{waiting} of {words.plural(len(lab.cells), 'cell')}" if waiting else "repetitions"
    unfinished = [] if lab.results.finished else [f"Half measured, still to come: {missing}."]
    return Chapter(
        lab,
        [exhibit for exhibit in exhibits if exhibit.tables],
        tables.published(lab),
        tables.plain("Every cell, every metric: medians", lab.cells),
        tables.rejected(lab),
        [*unfinished, *lab.results.noise["notes"]],
    )


@dataclass(frozen=True)
class Drawing:
    """Draws one declared exhibit of a lab."""

    lab: Lab
    wanted: Wanted

    def exhibit(self) -> Exhibit:
        """The exhibit; without tables if the run has no figures for it."""
        if self.wanted.kind == "limits":
            return Exhibit(self.wanted.title, self.wanted.text or LIMITS, [], [], self._limits())
        over = self.wanted.over
        if over and len({cell.key[over] for cell in self.cells}) < 2:
            return Exhibit(self.wanted.title, "", [], [], [])  # the quick mode has one place only
        shown = []
        for metric, caption in self.metrics.items():
            for group, cells in self.groups(over):
                title = " · ".join(filter(None, (caption, group))) or words.metric(metric)
                shown.append((self._lines if over else self._bars)(title, cells, metric))
        return Exhibit(self.wanted.title, self.wanted.text, shown, self._legend(), self._tables())

    @property
    def cells(self) -> list[Measured]:
        """The cells that it shows and that were measured or rejected."""
        return [cell for cell in self.lab.cells if self.wanted.shows(cell.key)]

    @property
    def metrics(self) -> Mapping[str, str]:
        """The chapter's metrics and their captions, without those that have no figure."""
        wanted = self.wanted.metrics or {self.lab.primary: ""}
        measured = {name for cell in self.cells for name in cell.median}
        return {name: caption for name, caption in wanted.items() if name in measured}

    def series(self, cell: Measured) -> str:
        """The name of a cell's series."""
        return words.key({name: cell.key[name] for name in self.wanted.series})

    @property
    def colours(self) -> Mapping[str, str]:
        """The colour of each series, the same in all exhibits of the lab with such series."""
        named = [cell for cell in self.lab.cells if set(self.wanted.series) <= cell.key.keys()]
        return plots.colours(distinct(map(self.series, named)))

    def groups(self, *leave_out: str) -> Iterator[tuple[str, list[Measured]]]:
        """The cells by the rest of their keys, in words."""
        found: dict[str, list[Measured]] = {}
        for cell in self.cells:
            rest = words.key(cell.key, {*self.wanted.series, *self.wanted.fixed, *leave_out})
            found.setdefault(rest, []).append(cell)
        yield from found.items()

    def _bars(self, title: str, cells: Sequence[Measured], metric: str) -> Plot:
        """Beside a figure stands its factor, or for steps the change from the one before."""
        bars, before = [], None
        for cell in cells:
            value, beside = cell.median.get(metric), ""
            if self.wanted.kind == "steps":
                beside, before = tables.gain(before, value) if before else "", value or before
            elif metric == self.lab.primary and (factor := self.lab.factor(cell)):
                beside = words.factor(factor)
            if cell.problem or value is not None:
                name, article = self.series(cell), self._published(cell, metric)
                spread = cell.spread.get(metric, ())
                bars.append(plots.Bar(name, self.colours[name], value, spread, beside, article))
        return plots.bars(title, bars, metric)

    def _lines(self, title: str, cells: Sequence[Measured], metric: str) -> Plot:
        lines = {}
        for name in distinct(map(self.series, cells)):
            points = [cell for cell in cells if self.series(cell) == name and (cell.median or cell.problem)]
            points.sort(key=lambda cell: cell.key[self.wanted.over])
            y = [cell.median.get(metric, math.nan) for cell in points]
            spreads = [cell.spread.get(metric, [math.nan] * 2) for cell in points]
            x = [float(cell.key[self.wanted.over]) for cell in points]
            if points:
                lines[name] = plots.Line(self.colours[name], x, y, spreads)
        return plots.lines(title, lines, metric, self.wanted.over)

    def _legend(self) -> list[Mark]:
        names = distinct(map(self.series, self.cells))
        known = [(name, self.colours[name], self.lab.meanings.get(name, "")) for name in names]
        legend = [Mark(name, colour, SHAPES[colour][1], meaning) for name, colour, meaning in known]
        if any(self._published(cell, metric) for cell in self.cells for metric in self.metrics):
            legend.append(Mark("published in the article", plots.INK, "◇"))
        return legend

    def _tables(self) -> list[Table]:
        if self.wanted.kind == "steps":
            found = [
                tables.steps(caption, {self.series(cell): cell for cell in cells}, self.lab.primary)
                for caption, cells in self.groups()
            ]
            return [*found, *self._saved()] if self.wanted.helped else found
        others = {name for cell in self.cells for name in cell.key}
        if not others - {*self.wanted.series, *self.wanted.fixed} and len(self.metrics) > 1:
            return [tables.plain(self.wanted.title, self.cells, self.metrics)]
        return [tables.across(self.lab, self.cells, self.wanted.series, metric) for metric in self.metrics]

    def _limits(self) -> list[Table]:
        name, found = " · ".join(map(words.spaced, self.wanted.series)), []
        for caption, cells in self.groups():
            if uses := {self.series(cell): it for cell in cells if (it := use(self.lab, cell))}:
                found.append(tables.limits(caption, name, uses))
        return found

    def _saved(self) -> list[Table]:
        """What the steps save, with the application's help and without it, if the run has CPU times."""
        ladders = {}
        for caption, cells in self.groups():
            uses = {self.series(cell): it for cell in cells if (it := use(self.lab, cell)) and it.rate}
            if len(uses) > 1:
                ladders[caption] = uses
        return [tables.saved(ladders, self.wanted.helped)] if ladders else []

    def _published(self, cell: Measured, metric: str) -> float | None:
        article = self.lab.article(cell.key)
        figure = article.figures.get(metric) if article else None
        return figure if words.is_number(figure) and not self.wanted.over else None
