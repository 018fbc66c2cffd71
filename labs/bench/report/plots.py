"""The two kinds of plots, bars and lines, as pictures of the page."""

import base64
import io
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from bench import words

WIDTH = 5.0  # inches; the page scales it
DECADES = 30  # lines whose highest value is so many times the lowest have a logarithmic axis
INK, MUTED = "#1f1b2e", "#66566a"

# The colours of series, each with a shape for readers who see no colour: its name in matplotlib, a letter.
SHAPES = {
    "#c65a2b": ("o", "●"),
    "#7a6486": ("s", "■"),
    "#b23a2e": ("D", "◆"),
    "#2a8455": ("^", "▲"),
    "#a8721b": ("v", "▼"),
    "#3672b3": ("P", "✚"),
    "#b8436f": ("X", "✖"),
    "#1d7f8c": ("*", "★"),
}
STYLE: dict[Any, Any] = {  # matplotlib's own type lists every key there is
    "svg.hashsalt": "the same figures make the same picture",
    "text.parse_math": False,  # a dollar sign in a name does not begin a formula
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
}


@dataclass(frozen=True)
class Plot:
    """A picture in SVG, with its caption."""

    caption: str
    svg: bytes

    @property
    def picture(self) -> str:
        """The address of an image, which contains it."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}"


@dataclass(frozen=True)
class Bar:
    """A measured value with its spread; without a value it was rejected. `beside` follows the value."""

    name: str
    colour: str
    value: float | None
    spread: Sequence[float] = ()
    beside: str = ""
    published: float | None = None


@dataclass(frozen=True)
class Line:
    """Values along the x axis, with their spreads; a rejected one is not a number and leaves a gap."""

    colour: str
    x: Sequence[float]
    y: Sequence[float]
    spreads: Sequence[Sequence[float]]


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each series."""
    return dict(zip(names, itertools.cycle(SHAPES)))  # the cycle has no end


def bars(caption: str, bars: Sequence[Bar], metric: str) -> Plot:
    """Bars with their values; a hollow diamond is the published value, a whisker the spread."""

    def paint(axes: Axes) -> None:
        axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.tick_params(length=0, labelbottom=False)
        axes.xaxis.set_major_locator(NullLocator())
        axes.spines[["bottom", "left"]].set_visible(False)
        for row, bar in enumerate(bars):
            axes.barh(row, bar.value or 0, 0.62, color=bar.colour)
            if bar.spread:
                axes.plot(bar.spread, [row] * 2, color=INK, linewidth=1.4, marker="|")
            if bar.published is not None:
                axes.plot(bar.published, row, "D", markerfacecolor="white", markeredgecolor=INK)
            end = max(bar.value or 0, bar.published or 0, *bar.spread, 0)
            said = "rejected" if bar.value is None else f"{words.measured(metric, bar.value)}  {bar.beside}"
            axes.annotate(said, (end, row), (8, 0), textcoords="offset points", va="center_baseline")
        axes.set_xlim(0, (axes.dataLim.xmax or 1) * 1.45)  # room for the values

    return _draw(caption, 0.4 * len(bars) + 0.2, paint)


def lines(caption: str, series: Mapping[str, Line], metric: str, over: str) -> Plot:
    """A line for each series in a band of its spread, over the key `over`."""

    def paint(axes: Axes) -> None:
        for line in series.values():
            axes.plot(line.x, line.y, SHAPES[line.colour][0] + "-", color=line.colour, clip_on=False)
            low, high = zip(*line.spreads, strict=True)
            axes.fill_between(line.x, low, high, color=line.colour, alpha=0.18, linewidth=0)
        axes.grid(axis="y")
        axes.set_xlabel(words.spaced(over))
        axes.set_ylabel(words.metric(metric))
        values = [value for line in series.values() for value in line.y if not math.isnan(value)]
        if values and min(values) > 0 and max(values) > DECADES * min(values):
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(_tick))

    return _draw(caption, 3.4, paint)


def _draw(caption: str, height: float, paint: Callable[[Axes], None]) -> Plot:
    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        paint(figure.add_subplot())
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return Plot(caption, file.getvalue())


def _tick(value: float, _: int) -> str:
    """A number along an axis: 500, 1k, 2.5k."""
    return f"{value / 1000:g}k" if value >= 1000 else words.number(value)
