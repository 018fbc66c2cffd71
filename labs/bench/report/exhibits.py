"""An exhibit that a lab.toml declares: its tables, and a picture."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from labs.bench import words
from labs.bench.report import plots, tables
from labs.bench.report.limits import Use, use
from labs.bench.report.reading import Lab, Wanted
from labs.bench.report.tables import Table, distinct
from labs.bench.results import Measured


@dataclass(frozen=True)
class Exhibit:
    """One declared exhibit of a lab."""

    lab: Lab
    wanted: Wanted

    def tables(self) -> list[Table]:
        """The figures; no table if the run has none for it."""
        if self.wanted.kind == "limits":
            return self._limits()
        over = self.wanted.over
        if not self.metrics or (over and len({cell.key[over] for cell in self.cells}) < 2):
            return []  # the quick mode has one place only
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

    def picture(self) -> bytes | None:
        """Bars of the first metric, in SVG, of the cells that differ in the series alone."""
        if self.wanted.kind == "limits" or self.wanted.over or not self.metrics:
            return None
        _, cells = next(self.groups())
        return self._bars(cells, self.metrics[0])

    @property
    def cells(self) -> list[Measured]:
        """The cells that it shows and that were measured or rejected."""
        return [cell for cell in self.lab.cells if self.wanted.shows(cell.key)]

    @property
    def metrics(self) -> list[str]:
        """The exhibit's metrics, without those that have no figure."""
        measured = {name for cell in self.cells for name in cell.median}
        return [name for name in self.wanted.metrics or [self.lab.primary] if name in measured]

    def series(self, cell: Measured) -> str:
        """The name of a cell's series."""
        return words.key({name: cell.key[name] for name in self.wanted.series})

    def groups(self) -> Iterator[tuple[str, list[Measured]]]:
        """The cells by the rest of their keys, in words."""
        found: dict[str, list[Measured]] = {}
        for cell in self.cells:
            rest = words.key(cell.key, {*self.wanted.series, *self.wanted.fixed})
            found.setdefault(rest, []).append(cell)
        yield from found.items()

    def _bars(self, cells: Sequence[Measured], metric: str) -> bytes:
        """Beside a figure stands its factor, or for steps the change from the one before."""
        named = [cell for cell in self.lab.cells if set(self.wanted.series) <= cell.key.keys()]
        colours = plots.colours(distinct(map(self.series, named)))
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
                bars.append(plots.Bar(name, colours[name], value, spread, beside, article))
        return plots.bars(bars, metric)

    def _uses(self, cells: Sequence[Measured]) -> Mapping[str, Use]:
        return {self.series(cell): it for cell in cells if (it := use(self.lab, cell))}

    def _limits(self) -> list[Table]:
        name = " · ".join(map(words.spaced, self.wanted.series))
        return [
            tables.limits(caption, name, uses)
            for caption, cells in self.groups()
            if (uses := self._uses(cells))
        ]

    def _saved(self) -> list[Table]:
        """What the steps save, with the application's help and without it, if the run has CPU times."""
        ladders = {}
        for caption, cells in self.groups():
            uses = {name: it for name, it in self._uses(cells).items() if it.rate}
            if len(uses) > 1:
                ladders[caption] = uses
        return [tables.saved(ladders, self.wanted.helped)] if ladders else []

    def _published(self, cell: Measured, metric: str) -> float | None:
        article = self.lab.article(cell.key)
        figure = article.figures.get(metric) if article else None
        return figure if words.is_number(figure) else None
