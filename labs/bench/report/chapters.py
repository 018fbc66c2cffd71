"""A chapter of the page for each lab: the exhibits that its lab.toml declares, each with its tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench import words
from bench.report import charts, tables
from bench.report.limits import Use, use
from bench.report.plot import SHAPES, Mark, Plot, tones
from bench.report.reading import Lab, Wanted
from bench.report.tables import Step, Table, distinct
from bench.results import Measured

PUBLISHED = Mark("published in the article", "ink", "◇")
STEPS = [Mark("so far", "plum"), Mark("gain", "green"), Mark("loss", "red"), Mark("may be noise", "grey")]
REST = Mark(tables.REST, "muted", "□", "logs, the kernel's own work, other programs")
LIMITS = (
    "The CPU time of a request, by service. The limit is the rate at which the fullest resource "
    "would be full: all cores, or the one core of a program with one thread."
)


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
        kinds = {"bars": self._bars, "lines": self._lines, "steps": self._steps, "limits": self._limits}
        return kinds[self.wanted.kind]()

    @property
    def cells(self) -> list[Measured]:
        """The cells that it shows."""
        return [cell for cell in self.lab.cells if self.wanted.shows(cell.key)]

    @property
    def metrics(self) -> Mapping[str, str]:
        """Its metrics and their captions, those without any figure left out."""
        wanted = self.wanted.metrics or {self.lab.primary: ""}
        measured = {name for cell in self.cells for name in cell.median}
        return {name: caption for name, caption in wanted.items() if name in measured}

    def series(self, cell: Measured) -> str:
        """The name of a cell's series."""
        return words.key({name: cell.key[name] for name in self.wanted.series})

    @property
    def tones(self) -> Mapping[str, str]:
        """The colour of each series, the same in all exhibits of the lab with such series."""
        named = [cell for cell in self.lab.cells if set(self.wanted.series) <= cell.key.keys()]
        return tones(distinct(map(self.series, named)))

    def groups(self, *leave_out: str) -> Iterator[tuple[str, list[Measured]]]:
        """The cells by the rest of their keys, in words."""
        found: dict[str, list[Measured]] = {}
        for cell in self.cells:
            rest = words.key(cell.key, {*self.wanted.series, *self.wanted.fixed, *leave_out})
            found.setdefault(rest, []).append(cell)
        yield from found.items()

    def _bars(self) -> Exhibit:
        plots = []
        for metric, caption in self.metrics.items():
            for group, cells in self.groups():
                bars = [self._bar(cell, metric) for cell in cells if cell.problem or metric in cell.median]
                if bars:
                    title = " · ".join(filter(None, (caption, group))) or words.metric(metric)
                    plots.append(charts.bars(title, bars, metric))
        return self._made(plots, self._tables())

    def _bar(self, cell: Measured, metric: str) -> charts.Bar:
        factor = self.lab.factor(cell) if metric == self.lab.primary else None
        return charts.Bar(
            self.series(cell),
            self.tones[self.series(cell)],
            cell.median.get(metric),
            _spread(cell, metric),
            words.factor(factor) if factor else "",
            self._published(cell, metric),
            words.reason(cell.problem),
        )

    def _lines(self) -> Exhibit:
        over, plots = self.wanted.over, []
        if len({cell.key[over] for cell in self.cells}) < 2:
            return self._made([], [])  # the quick mode has one place only
        for metric, caption in self.metrics.items():
            for group, cells in self.groups(over):
                title = " · ".join(filter(None, (caption, group))) or words.metric(metric)
                logarithmic, diagonal = metric in self.wanted.logarithmic, metric == self.wanted.diagonal
                series = {
                    name: self._line(name, [cell for cell in cells if self.series(cell) == name], metric)
                    for name in distinct(map(self.series, cells))
                }
                plots.append(charts.lines(title, series, metric, over, logarithmic, diagonal))
        return self._made(plots, self._tables())

    def _line(self, name: str, cells: Sequence[Measured], metric: str) -> charts.Line:
        points, published = [], []
        for cell in sorted(cells, key=lambda cell: cell.key[self.wanted.over]):
            x, y = cell.key[self.wanted.over], cell.median.get(metric)
            if words.is_number(x) and (y is not None or cell.problem):
                points.append(charts.Point(x, y, _spread(cell, metric)))
            if words.is_number(x) and (figure := self._published(cell, metric)) is not None:
                published.append(charts.Point(x, figure))
        return charts.Line(self.tones[name], points, published)

    def _steps(self) -> Exhibit:
        plots, behind, metric = [], [], self.lab.primary
        for caption, cells in self.groups():
            steps = [
                Step(self.series(cell), cell.median.get(metric), _spread(cell, metric))
                for cell in cells
                if cell.median or cell.problem
            ]
            if steps:
                plots.append(charts.steps(caption, steps, metric))
                behind.append(tables.steps(caption, steps, metric))
        return Exhibit(self.wanted.title, self.wanted.text, plots, STEPS, behind)

    def _limits(self) -> Exhibit:
        groups: dict[str, dict[str, Use]] = {}
        for caption, cells in self.groups():
            found = {self.series(cell): it for cell in cells if (it := use(self.lab, cell))}
            if found:
                groups[caption] = found
        uses = [it for found in groups.values() for it in found.values()]
        colours = tones(distinct(name for it in uses for name in it.services or ()))
        plots = []
        for caption, found in groups.items():
            stacks = [
                charts.Stack(
                    series, {name: (spent, colours[name]) for name, spent in it.services.items()}, it.rest
                )
                for series, it in found.items()
                if it.services
            ]
            if stacks:
                plots.append(charts.stacks(caption, stacks, "µs of CPU for a request"))
        name = " · ".join(map(words.spaced, self.wanted.series))
        behind = [tables.limits(caption, name, found) for caption, found in groups.items()]
        legend = [*(Mark(name, tone) for name, tone in colours.items()), REST] if plots else []
        return Exhibit(self.wanted.title, self.wanted.text or LIMITS, plots, legend, behind)

    def _tables(self) -> list[Table]:
        others = {name for cell in self.cells for name in cell.key} - {
            *self.wanted.series,
            *self.wanted.fixed,
        }
        if not others and len(self.metrics) > 1:
            return [tables.plain(self.wanted.title, self.cells, self.metrics)]
        return [tables.across(self.lab, self.cells, self.wanted.series, metric) for metric in self.metrics]

    def _made(self, plots: Sequence[Plot], behind: Sequence[Table]) -> Exhibit:
        meanings = self.lab.meanings
        legend = [
            Mark(name, self.tones[name], SHAPES[self.tones[name]][1], meanings.get(name, ""))
            for name in distinct(map(self.series, self.cells))
        ]
        published = any(self._published(cell, metric) for cell in self.cells for metric in self.metrics)
        return Exhibit(self.wanted.title, self.wanted.text, plots, legend + [PUBLISHED] * published, behind)

    def _published(self, cell: Measured, metric: str) -> float | None:
        article = self.lab.article(cell.key)
        figure = article.figures.get(metric) if article else None
        return figure if words.is_number(figure) else None


def _spread(cell: Measured, metric: str) -> tuple[float, float] | None:
    """The lowest and the highest sample of a metric."""
    low_high = cell.spread.get(metric)
    return (low_high[0], low_high[1]) if low_high else None
