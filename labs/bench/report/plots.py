"""Bars, as a picture in SVG."""

import io
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from labs.bench import words

WIDTH = 5.0  # inches; the page scales it
INK, MUTED = "#1f1b2e", "#66566a"
COLOURS = ["#c65a2b", "#7a6486", "#b23a2e", "#2a8455", "#a8721b", "#3672b3", "#b8436f", "#1d7f8c"]
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
class Bar:
    """A measured value with its spread; without a value it was rejected. `beside` follows the value."""

    name: str
    colour: str
    value: float | None
    spread: Sequence[float] = ()
    beside: str = ""
    published: float | None = None


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each series."""
    return dict(zip(names, itertools.cycle(COLOURS)))  # the cycle has no end


def bars(bars: Sequence[Bar], metric: str) -> bytes:
    """Bars with their values; a hollow diamond is the published value, a whisker the spread."""
    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.4 * len(bars) + 0.2), layout="constrained")
        paint(figure.add_subplot(), bars, metric)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def paint(axes: Axes, bars: Sequence[Bar], metric: str) -> None:
    """Paint the bars, the first on top."""
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
