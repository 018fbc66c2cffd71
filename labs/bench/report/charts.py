"""The kinds of plots: bars, lines, steps and stacks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from bench import words
from bench.report.plot import SHAPES, Plot, draw, tone
from bench.report.tables import REST, Step, direction, gain

_ROW = 30  # height of a row of bars, in units of the SVG
_BEHIND: dict[str, Any] = {"textcoords": "offset points", "va": "center_baseline"}


@dataclass(frozen=True)
class Bar:
    """A measured value with its spread; without a value it was rejected. `beside` follows the value."""

    name: str
    tone: str
    value: float | None
    spread: tuple[float, float] | None = None
    beside: str = ""
    published: float | None = None
    rejected: str = ""


@dataclass(frozen=True)
class Stack:
    """A sum of parts, each with its colour, and of a hollow rest."""

    name: str
    parts: Mapping[str, tuple[float, str]]
    rest: float

    @property
    def total(self) -> float:
        """The sum."""
        return sum(value for value, _ in self.parts.values()) + self.rest


@dataclass(frozen=True)
class Point:
    """A point of a line, with the spread of its value; without a value it was rejected and leaves a gap."""

    x: float
    y: float | None
    spread: tuple[float, float] | None = None


@dataclass(frozen=True)
class Line:
    """The points of a series, and the published ones."""

    tone: str
    points: Sequence[Point]
    published: Sequence[Point] = ()


def bars(caption: str, bars: Sequence[Bar], metric: str) -> Plot:
    """Bars with their values; a hollow diamond is the published value, a whisker the spread."""
    ends = [max(bar.value or 0, bar.published or 0, *(bar.spread or ())) for bar in bars]
    reach = max(ends, default=0) or 1

    def paint(axes: Axes) -> None:
        _rows(axes, [bar.name for bar in bars])
        # Room for the values behind the bars, more of it where long names leave less; on the left for half a
        # diamond.
        longest = max(len(bar.name) for bar in bars)
        axes.set_xlim(-0.02 * reach, reach * (1.32 + 0.013 * longest))
        for row, (bar, end) in enumerate(zip(bars, ends, strict=True)):
            if bar.published is not None:
                _diamond(axes, bar.published, row)
            if bar.value is None:
                axes.annotate("rejected", (end, row), (8, 0), **_BEHIND, color=tone("muted"), style="italic")
                continue
            axes.barh(row, bar.value, 0.62, color=tone(bar.tone))
            _whisker(axes, bar.spread, row)
            # A diamond at the end needs more room.
            gap = 12 if bar.published and bar.published > end - 0.03 * reach else 6
            value = axes.annotate(words.measured(metric, bar.value), (end, row), (gap, 0), **_BEHIND)
            if bar.beside:
                _after(axes, value, row, bar.beside)

    said = [
        f"{bar.name} "
        + (bar.rejected if bar.value is None else f"{words.measured(metric, bar.value)} {bar.beside}".strip())
        + (f", published {words.measured(metric, bar.published)}" if bar.published is not None else "")
        for bar in bars
    ]
    label = f"{caption}, {words.metric(metric)}: {'; '.join(said)}."
    return draw(caption, label, _ROW * len(bars) + 10, paint)


def stacks(caption: str, stacks: Sequence[Stack], what: str) -> Plot:
    """Bars of parts, in the same order everywhere, with their sums."""

    def paint(axes: Axes) -> None:
        _rows(axes, [stack.name for stack in stacks])
        axes.set_xlim(0, max(stack.total for stack in stacks) * 1.18)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(FuncFormatter(_tick))
        axes.tick_params(labelbottom=True)
        axes.grid(axis="x", linewidth=0.8)
        axes.set_xlabel(what)
        for row, stack in enumerate(stacks):
            start = 0.0
            # The edge of the background's colour separates two parts for readers who see no colour.
            for value, colour in stack.parts.values():
                axes.barh(row, value, 0.62, start, linewidth=0.8, color=tone(colour), edgecolor=tone("card"))
                start += value
            rest: dict[str, Any] = {"color": tone("card"), "edgecolor": tone("muted")}
            axes.barh(row, stack.rest, 0.62, start, linewidth=0.8, **rest)
            axes.annotate(words.number(round(stack.total)), (stack.total, row), (6, 0), **_BEHIND)

    said = [
        f"{stack.name} {words.number(round(stack.total))}, of which "
        + ", ".join(f"{name} {words.number(round(value))}" for name, (value, _) in stack.parts.items())
        + f", {REST} {words.number(round(stack.rest))}"
        for stack in stacks
    ]
    return draw(caption, f"{caption}, {what}: {'; '.join(said)}.", _ROW * len(stacks) + 46, paint)


def lines(
    caption: str,
    series: Mapping[str, Line],
    metric: str,
    over: str,
    logarithmic: bool = False,
    diagonal: bool = False,
) -> Plot:
    """A line for each series in a band of its spread, over the key `over`; hollow diamonds are published."""

    def paint(axes: Axes) -> None:
        measured = [point for line in series.values() for point in line.points]
        places = sorted({point.x for point in measured})
        if diagonal:
            axes.plot(places, places, color=tone("muted"), linewidth=1, linestyle=(0, (2, 3)), marker="")
        for line in series.values():
            for point in line.published:
                _diamond(axes, point.x, point.y or 0, line.tone)
            x = [point.x for point in line.points]
            y = [math.nan if point.y is None else point.y for point in line.points]
            mark: dict[str, Any] = {
                "marker": SHAPES[line.tone][0],
                "markeredgecolor": tone("card"),
                "markeredgewidth": 0.8,
            }
            axes.plot(x, y, color=tone(line.tone), clip_on=False, **mark)  # a mark at zero is a whole one
            spreads = [point.spread or (at, at) for point, at in zip(line.points, y, strict=True)]
            low, high = zip(*spreads, strict=True) if spreads else ((), ())
            axes.fill_between(x, low, high, color=tone(line.tone), alpha=0.18, linewidth=0)
        axes.grid(axis="y", linewidth=0.8)
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(words.spaced(over))
        axes.set_ylabel(words.metric(metric))
        axes.xaxis.set_major_formatter(FuncFormatter(_tick))
        if len(places) <= 5:
            axes.set_xticks(places)
        else:
            axes.locator_params(axis="x", nbins=5)
        values = [point.y for point in measured if point.y is not None]
        if logarithmic and values and min(values) > 0:
            axes.set_yscale("log")
            # Few decades need ticks between them.
            subs = (1.0, 2.0, 5.0) if max(values) / min(values) < 300 else (1.0,)
            axes.yaxis.set_major_locator(LogLocator(subs=subs, numticks=8))
            axes.yaxis.set_minor_locator(NullLocator())
        else:
            axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(_tick))

    def say(name: str, points: Sequence[Point]) -> str:
        figures = ["rejected" if point.y is None else words.measured(metric, point.y) for point in points]
        at = [f"{figure} at {words.number(point.x)}" for figure, point in zip(figures, points, strict=True)]
        return f"{name} {', '.join(at)}"

    said = [say(name, line.points) for name, line in series.items()]
    said += [say(f"published {name}", line.published) for name, line in series.items() if line.published]
    label = f"{caption}, {words.metric(metric)} over {words.spaced(over)}: {'; '.join(said)}."
    return draw(caption, label, 250, paint)


def steps(caption: str, steps: Sequence[Step], metric: str) -> Plot:
    """A waterfall: each step as its change from the previous one; the first and the last from zero.

    A step is grey where its spread overlaps that of the previous one: it may be noise.
    """
    good = [step for step in steps if step.value is not None]
    reach = max((max(step.value or 0, *(step.spread or ())) for step in good), default=0) or 1

    def paint(axes: Axes) -> None:
        axes.set_ylim(len(steps) - 0.35, -0.75)
        axes.set_xlim(0, reach * 1.42)
        axes.set_yticks([])
        axes.set_xticks([])
        axes.spines[:].set_visible(False)
        before: Step | None = None
        above = 0.0  # where the bar of that step ends
        for row, step in enumerate(steps):
            # A background of its own keeps lines from running through the letters.
            ground = {"facecolor": tone("card"), "edgecolor": "none", "pad": 1.5}
            axes.annotate(step.name, (0, row), (0, 12), **_BEHIND, bbox=ground)
            place = row + 0.18
            if step.value is None:
                axes.annotate("rejected", (0, place), (0, 0), **_BEHIND, color=tone("muted"), style="italic")
                continue
            start = before.value if before and before.value else 0.0
            if step in (good[0], good[-1]):
                axes.barh(place, min(start, step.value) or step.value, 0.42, color=tone("plum"))
            if before:
                axes.plot([start] * 2, [above, row + 0.39], color=tone("muted"), linewidth=1)
                colour = tone({-1: "red", 0: "grey", 1: "green"}[direction(before, step)])
                axes.barh(place, step.value - start, 0.42, start, color=colour)
            _whisker(axes, step.spread, place)
            end = max(step.value, start, *(step.spread or ()))
            value = axes.annotate(words.measured(metric, step.value), (end, place), (8, 0), **_BEHIND)
            if before:
                _after(axes, value, place, gain(before, step))
            before, above = step, row + 0.39

    said, before = [], None
    for step in steps:
        value = "rejected" if step.value is None else words.measured(metric, step.value)
        said.append(f"{step.name} {value}" + (f" ({gain(before, step)})" if before and step.value else ""))
        before = step if step.value else before
    label = f"{caption}, {words.metric(metric)}: {'; '.join(said)}."
    return draw(caption, label, 46 * len(steps) + 6, paint)


def _rows(axes: Axes, names: Sequence[str]) -> None:
    """A named row for each bar, from the top, without any other line."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(length=0, labelbottom=False)
    axes.xaxis.set_major_locator(NullLocator())
    axes.spines[["bottom", "left"]].set_visible(False)


def _whisker(axes: Axes, spread: tuple[float, float] | None, row: float) -> None:
    if spread:
        axes.plot(spread, [row, row], color=tone("ink"), linewidth=1.4, marker="|", markersize=6)


def _diamond(axes: Axes, value: float, row: float, colour: str = "ink") -> None:
    edge: dict[str, Any] = {"markeredgecolor": tone(colour), "markeredgewidth": 1.6}
    axes.plot([value], [row], "D", markersize=8, markerfacecolor=tone("card"), zorder=3, **edge)


def _after(axes: Axes, text: Annotation, row: float, more: str) -> None:
    """Bold letters after others."""
    axes.annotate(more, (1, row), (7, 0), xycoords=(text, "data"), **_BEHIND, fontweight="bold")


def _tick(value: float, _: int) -> str:
    """A number along an axis: 500, 1k, 2.5k."""
    return f"{value / 1000:g}k" if value >= 1000 else words.number(value)
