"""The picture of the tab Compare and of the report: SVG.

There is a panel for each measured figure, with a bar for each measurement. The text has the colour of the
surrounding page, which may be light or dark.
"""

from collections.abc import Sequence
from html import escape

import topologies
from comparison.measurement import Measurement
from results.table import FIGURES

# Colours that people with colour blindness can tell apart: https://jfly.uni-koeln.de/color/
PALETTE = ["#009e73", "#d55e00", "#e69f00", "#56b4e9", "#0072b2", "#f0e442"]
COLOURS = dict(zip(("default", "direct", *topologies.COMPARISON), PALETTE, strict=False))
OTHER = "#cc79a7"
PANELS = (
    "requests_per_second",
    "bytes_per_second",
    "p95_ms",
    "p99_ms",
    "chat_p99_ms",
    "visit_p99_ms",
    "hit_ratio",
    "backend_requests_per_second",
    "backend_cpu_percent",
)
ACROSS = 4  # panels in a row
WIDTH, VALUE = 290, 62  # pixels: the width of a panel, and of the figures in it
LONGEST, LETTER = 17, 6.5  # for a name in a panel: the most letters, and the pixels of a letter
BAR, STEP, HEAD, GAP = 16, 22, 30, 14


def svg(measurements: Sequence[Measurement]) -> str:
    """Return the whole picture; empty without measurements."""
    if not measurements:
        return ""
    height = HEAD + STEP * len(measurements) + GAP
    figures = [measured.figures() for measured in measurements]
    measured_ones = [key for key in PANELS if any(each[key] is not None for each in figures)]
    panels = [
        f'<g transform="translate({number % ACROSS * WIDTH} {number // ACROSS * height})">'
        f"{panel(key, measurements)}</g>"
        for number, key in enumerate(measured_ones)
    ]
    size = f"{ACROSS * WIDTH} {-(-len(panels) // ACROSS) * height}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" fill="currentColor" '
        f'aria-label="The measurements as bars" font-family="system-ui, sans-serif" font-size="12">'
        f"{''.join(panels)}</svg>"
    )


def panel(key: str, measurements: Sequence[Measurement]) -> str:
    """Return the panel of one figure: its name, and a bar for each measurement; the longest fills it."""
    title, factor, decimals = next((t, f, d) for t, name, f, d in FIGURES if name == key)
    values = [measured.figures()[key] for measured in measurements]
    most = max((value for value in values if value), default=0) or 1
    same_users = len({measured.users for measured in measurements if not measured.arrivals}) <= 1
    names = [
        shortened(measured.name if same_users else f"{measured.users} users") for measured in measurements
    ]
    label = round(LETTER * max(map(len, names))) + 7
    parts = [f'<text y="14" font-size="13" font-weight="600">{escape(title)}</text>']
    for number, (measured, value) in enumerate(zip(measurements, values, strict=True)):
        y = HEAD + STEP * number
        length = round((WIDTH - label - VALUE) * (value or 0) / most, 1)
        colour = COLOURS.get(topologies.name(measured.topology), OTHER)
        parts.append(
            f'<text x="0" y="{y + 12}">{escape(names[number])}</text>'
            f'<rect x="{label}" y="{y}" width="{length}" height="{BAR}" rx="2" fill="{colour}"/>'
            f'<text x="{label + length + 6}" y="{y + 12}">{number_of(value, factor, decimals)}</text>'
        )
    return "".join(parts)


def number_of(value: float | None, factor: float, decimals: int) -> str:
    """Return a figure as the text beside its bar."""
    return "-" if value is None else f"{value * factor:.{decimals}f}"


def shortened(name: str) -> str:
    """Return a name, shortened to fit beside its bar."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
