"""The picture of a run: a panel for each measure, a line for each service or kind of request."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from labs.bench.report.plots import STYLE, colours
from tests.soak.verdict import MEASURES, Measure, Sample

COLUMNS = 2
WIDTH, HEIGHT = 5.0, 2.6  # inches of a panel
SMOOTH = 6  # samples on either side in a running median, a minute in all
POINTS = 2000  # of a line; more cannot be seen


def plot(samples: Sequence[Sample], path: Path) -> None:
    """Draw all measures of a run over time; the pale band is the warm-up."""
    with rc_context(STYLE):
        rows = -(-len(MEASURES) // COLUMNS)
        figure = Figure(figsize=(WIDTH * COLUMNS, HEIGHT * rows), layout="constrained")
        for number, measure in enumerate(MEASURES, 1):
            axes = figure.add_subplot(rows, COLUMNS, number)
            names = paint(axes, measure, samples)
            if number % COLUMNS == 0 and len(names) > 1:  # its neighbour has the same lines
                axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
        figure.savefig(path, dpi=110)


def paint(axes: Axes, measure: Measure, samples: Sequence[Sample]) -> list[str]:
    """One panel: each sample pale, their running median on top. Return the names of its lines."""
    names = list(dict.fromkeys(name for sample in samples for name in sample[measure.key]))
    for name, colour in colours(names).items():
        here = [sample for sample in samples if name in sample[measure.key]]
        minutes = [sample["seconds"] / 60 for sample in here]
        values = [sample[measure.key][name] for sample in here]
        smooth = [median(values[max(0, place - SMOOTH) : place + SMOOTH + 1]) for place in range(len(values))]
        each = max(1, len(values) // POINTS)
        axes.plot(minutes[::each], values[::each], color=colour, linewidth=0.7, alpha=0.3)
        axes.plot(minutes[::each], smooth[::each], color=colour, linewidth=1.6, label=name)
    axes.axvspan(0, samples[-1]["seconds"] / 120, color="black", alpha=0.04, linewidth=0)
    axes.set_title(", ".join(filter(None, (measure.title, measure.unit))), loc="left")
    axes.set_xlabel("minutes")
    axes.set_xlim(0, samples[-1]["seconds"] / 60)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.grid(axis="y")
    return names
