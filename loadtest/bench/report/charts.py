"""The kinds of plots: bars, stacks, lines, a waterfall, and factors. They know no lab."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from bench.report import words
from bench.report.plot import SHAPES, Plot, draw, tone

_ROW = 30  # height of a row of bars, in units of the SVG
_LONGEST = 34  # letters of a refusal that a plot has room for; the page has all of it


@dataclass(frozen=True)
class Bar:
    """A measured value with its spread; without a value it was refused. `beside` stands behind the value."""

    name: str
    tone: str
    value: float | None
    spread: tuple[float, float] | None = None
    beside: str = ""
    published: float | None = None
    refused: str = ""


@dataclass(frozen=True)
class Stack:
    """A sum of parts, each with its tone, and of a hollow rest that belongs to none of them."""

    name: str
    parts: Mapping[str, tuple[float, str]]
    rest: float

    @property
    def total(self) -> float:
        """All of it."""
        return sum(value for value, _ in self.parts.values()) + self.rest


@dataclass(frozen=True)
class Point:
    """A place on a line, with the spread of its value; without a value it was refused and leaves a gap."""

    x: float
    y: float | None
    spread: tuple[float, float] | None = None


@dataclass(frozen=True)
class Lines:
    """What the x axis counts, whether the y axis is logarithmic, whether there is a dotted line y = x."""

    across: str
    logarithmic: bool = False
    as_asked: bool = False


@dataclass(frozen=True)
class Step:
    """A step of a ladder; without a value it was refused."""

    name: str
    value: float | None
    spread: tuple[float, float] | None = None


@dataclass(frozen=True)
class Factor:
    """A cell's ratio to its baseline, in the row of the cells that share the rest of its key."""

    row: str
    series: str
    value: float
    published: bool = False


def bars(caption: str, bars: Sequence[Bar], metric: str) -> Plot:
    """Bars, each with its value; a hollow diamond is what was published, a whisker the spread."""
    reach = max(
        (max(bar.value or 0, bar.published or 0, bar.spread[1] if bar.spread else 0) for bar in bars),
        default=0,
    )

    def paint(axes: Axes) -> None:
        _rows(axes, [bar.name for bar in bars])
        # Room for the values behind the bars, and on the left for half a diamond.
        axes.set_xlim(-0.02 * (reach or 1), (reach or 1) * 1.42)
        for row, bar in enumerate(bars):
            if bar.published is not None:
                _diamond(axes, bar.published, row)
            if bar.value is None:
                end = bar.published or 0
                axes.annotate(
                    _short(bar.refused), (end, row), (8, 0), **_BEHIND, color=tone("muted"), style="italic"
                )
                continue
            axes.barh(row, bar.value, 0.62, color=tone(bar.tone))
            _whisker(axes, bar.spread, row)
            end = max(bar.value, bar.published or 0, bar.spread[1] if bar.spread else 0)
            # A diamond at the end needs more room.
            gap = 12 if bar.published and bar.published > end - 0.03 * reach else 6
            value = axes.annotate(words.measured(metric, bar.value), (end, row), (gap, 0), **_BEHIND)
            if bar.beside:
                _after(axes, value, row, bar.beside)

    said = [
        f"{bar.name} "
        + (bar.refused if bar.value is None else f"{words.measured(metric, bar.value)} {bar.beside}".strip())
        + (f", published {words.measured(metric, bar.published)}" if bar.published is not None else "")
        for bar in bars
    ]
    return draw(
        caption, f"{caption}, {words.metric(metric)}: {'; '.join(said)}.", _ROW * len(bars) + 10, paint
    )


def stacks(caption: str, stacks: Sequence[Stack], what: str) -> Plot:
    """Bars of parts that stand in one order everywhere; their sum behind them."""

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
            for value, colour in stack.parts.values():
                # A line of the card's colour between two parts, for whoever sees them alike.
                axes.barh(row, value, 0.62, start, linewidth=0.8, color=tone(colour), edgecolor=tone("card"))
                start += value
            axes.barh(
                row, stack.rest, 0.62, start, linewidth=0.8, color=tone("card"), edgecolor=tone("muted")
            )
            axes.annotate(words.number(round(stack.total)), (stack.total, row), (6, 0), **_BEHIND)

    said = [
        f"{stack.name} {words.number(round(stack.total))}, of which "
        + ", ".join(f"{name} {words.number(round(value))}" for name, (value, _) in stack.parts.items())
        + f", {words.REST} {words.number(round(stack.rest))}"
        for stack in stacks
    ]
    return draw(caption, f"{caption}, {what}: {'; '.join(said)}.", _ROW * len(stacks) + 46, paint)


def lines(
    caption: str,
    series: Mapping[str, Sequence[Point]],
    tones: Mapping[str, str],
    metric: str,
    kind: Lines,
    printed: Mapping[str, Sequence[Point]],
) -> Plot:
    """A line for each series in a band of its spread; a hollow diamond in its colour was published."""

    def paint(axes: Axes) -> None:
        every = [point for line in (*series.values(), *printed.values()) for point in line]
        places = sorted({point.x for point in every})
        values = [point.y for point in every if point.y is not None]
        if kind.as_asked and places:
            axes.plot(places, places, color=tone("muted"), linewidth=1, linestyle=(0, (2, 3)), marker="")
        for name, points in printed.items():
            for point in points:
                _diamond(axes, point.x, point.y or 0, tones[name])
        for name, points in series.items():
            colour, shape = tone(tones[name]), SHAPES[tones[name]][0]
            x = [point.x for point in points]
            y = [math.nan if point.y is None else point.y for point in points]
            # A mark at zero is a whole one.
            axes.plot(
                x, y, color=colour, marker=shape, clip_on=False,
                markeredgecolor=tone("card"), markeredgewidth=0.8,
            )  # fmt: skip
            low = [point.spread[0] if point.spread else at for point, at in zip(points, y, strict=True)]
            high = [point.spread[1] if point.spread else at for point, at in zip(points, y, strict=True)]
            axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.grid(axis="y", linewidth=0.8)
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(kind.across)
        axes.set_ylabel(words.metric(metric))
        axes.xaxis.set_major_formatter(FuncFormatter(_tick))
        if len(places) <= 5:
            axes.set_xticks(places)
        else:
            axes.locator_params(axis="x", nbins=5)
        if kind.logarithmic and values and min(values) > 0:
            axes.set_yscale("log")
            # Few decades need ticks between them.
            subs = (1.0, 2.0, 5.0) if max(values) / min(values) < 300 else (1.0,)
            axes.yaxis.set_major_locator(LogLocator(subs=subs, numticks=8))
            axes.yaxis.set_minor_locator(NullLocator())
        else:
            axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(_tick))

    said = [
        f"{name} "
        + ", ".join(
            f"{'refused' if point.y is None else words.measured(metric, point.y)} at {words.number(point.x)}"
            for point in points
        )
        for name, points in (
            *series.items(),
            *((f"published {name}", found) for name, found in printed.items()),
        )
    ]
    alt = f"{caption}, {words.metric(metric)} over {kind.across}: {'; '.join(said)}."
    return draw(caption, alt, 250, paint)


def waterfall(caption: str, steps: Sequence[Step], metric: str) -> Plot:
    """Each step as what it adds to the one before; the first and the last from the ground.

    A step is grey where its spread overlaps that of the one before: it may be noise.
    """
    good = [step for step in steps if step.value is not None]
    reach = max((step.spread[1] if step.spread else step.value or 0 for step in good), default=0)

    def paint(axes: Axes) -> None:
        axes.set_ylim(len(steps) - 0.35, -0.75)
        axes.set_xlim(0, (reach or 1) * 1.42)
        axes.set_yticks([])
        axes.set_xticks([])
        axes.spines[:].set_visible(False)
        before: Step | None = None
        above = 0.0  # where the bar of that step ends
        for row, step in enumerate(steps):
            # On a ground of its own, so that no line runs through the letters.
            ground = {"facecolor": tone("card"), "edgecolor": "none", "pad": 1.5}
            axes.annotate(step.name, (0, row), (0, 12), **_BEHIND, bbox=ground)
            if step.value is None:
                axes.annotate(
                    "refused", (0, row + 0.18), (0, 0), **_BEHIND, color=tone("muted"), style="italic"
                )
                continue
            start = before.value if before and before.value else 0.0
            if step in (good[0], good[-1]):
                axes.barh(row + 0.18, min(start, step.value) or step.value, 0.42, color=tone("plum"))
            if before:
                axes.plot([start] * 2, [above, row + 0.39], color=tone("muted"), linewidth=1)
                colour = tone({-1: "red", 0: "grey", 1: "green"}[direction(before, step)])
                axes.barh(row + 0.18, step.value - start, 0.42, start, color=colour)
            _whisker(axes, step.spread, row + 0.18)
            end = max(step.value, start, step.spread[1] if step.spread else 0)
            value = axes.annotate(words.measured(metric, step.value), (end, row + 0.18), (8, 0), **_BEHIND)
            if before:
                _after(axes, value, row + 0.18, gain(before, step))
            before, above = step, row + 0.39

    said = []
    for place, step in enumerate(steps):
        earlier = [other for other in steps[:place] if other.value is not None]
        value = "refused" if step.value is None else words.measured(metric, step.value)
        said.append(
            f"{step.name} {value}" + (f" ({gain(earlier[-1], step)})" if earlier and step.value else "")
        )
    return draw(caption, f"{caption}, {words.metric(metric)}: {'; '.join(said)}.", 46 * len(steps) + 6, paint)


def gain(before: Step, step: Step) -> str:
    """What a step adds to the one before: +12 %."""
    if not before.value or step.value is None:
        return words.NOTHING
    change = (step.value / before.value - 1) * 100
    return f"{change:+.0f} %".replace("-", words.MINUS)


def direction(before: Step, step: Step) -> int:
    """1 for a gain, -1 for a loss, 0 where the two spreads overlap."""
    low, high = step.spread or (step.value or 0,) * 2
    low_before, high_before = before.spread or (before.value or 0,) * 2
    return 1 if low > high_before else -1 if high < low_before else 0


def factors(caption: str, found: Sequence[Factor], tones: Mapping[str, str], over: str) -> Plot:
    """A row of marks for all cells that share a baseline, on a scale where twice and half are equally far."""
    rows = list(dict.fromkeys(factor.row for factor in found))

    def paint(axes: Axes) -> None:
        _rows(axes, rows)
        axes.set_xscale("log", base=2)
        # Wide enough for half and twice, so that small differences look small.
        values = [factor.value for factor in found]
        axes.set_xlim(min(0.5, *values) / 1.15, max(2, *values) * 1.15)
        axes.axvline(1, color=tone("muted"), linewidth=1)
        axes.grid(axis="both", linewidth=0.8)
        for factor in found:
            row = rows.index(factor.row)
            if factor.published:
                _diamond(axes, factor.value, row, tones[factor.series])
            else:
                colour, shape = tone(tones[factor.series]), SHAPES[tones[factor.series]][0]
                axes.plot(
                    [factor.value], [row], shape, color=colour, markersize=8,
                    markeredgecolor=tone("card"), markeredgewidth=0.8,
                )  # fmt: skip
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}{words.TIMES}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.tick_params(labelbottom=True)
        axes.set_xlabel(f"times {over}")

    said = [
        f"{row}: "
        + ", ".join(
            f"{'published ' if factor.published else ''}{factor.series} {words.factor(factor.value)}"
            for factor in found
            if factor.row == row
        )
        for row in rows
    ]
    return draw(caption, f"{caption}, times {over}. {'; '.join(said)}.", 26 * len(rows) + 50, paint)


_BEHIND: dict[str, Any] = {"textcoords": "offset points", "va": "center_baseline"}


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
    axes.plot(
        [value], [row], "D", markersize=8, markerfacecolor=tone("card"), markeredgecolor=tone(colour),
        markeredgewidth=1.6, zorder=3,
    )  # fmt: skip


def _after(axes: Axes, text: Annotation, row: float, more: str) -> None:
    """Bold letters behind others."""
    axes.annotate(more, (1, row), (7, 0), xycoords=(text, "data"), **_BEHIND, fontweight="bold")


def _tick(value: float, _: int) -> str:
    """A number along an axis: 500, 1k, 2.5k."""
    return f"{value / 1000:g}k" if value >= 1000 else words.number(value)


def _short(text: str) -> str:
    text = f"refused: {text}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
