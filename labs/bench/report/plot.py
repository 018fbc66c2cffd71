"""One plot as inline SVG.

Its text is text in the reader's own font and its colours are variables of the style sheet, so the same plot
serves light and dark screens, phones and paper.
"""

import io
import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# In units of the SVG. The page shows a plot 330 to 500 pixels wide, so its text is 11 to 17 pixels high.
WIDTH = 360
LETTER = 12

# The colours of series, each with a shape for readers who see no colour: matplotlib's name of it, and a
# letter.
SHAPES = {
    "orange": ("o", "●"),
    "plum": ("s", "■"),
    "red": ("D", "◆"),
    "green": ("^", "▲"),
    "gold": ("v", "▼"),
    "blue": ("P", "✚"),
    "rose": ("X", "✖"),
    "teal": ("*", "★"),
}
# Every colour; style.css has their values.
TONES = ("ink", "muted", "grid", "card", "grey", *SHAPES)

_PLACEHOLDER = "#0101"  # a colour that no plot uses, followed by the index of a tone
_STYLE: dict[Any, Any] = {  # matplotlib's own type lists every key there is
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar sign in a name does not begin a formula
    "font.size": LETTER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.labelsize": LETTER,
    "xtick.labelsize": LETTER,
    "ytick.labelsize": LETTER,
    "lines.linewidth": 2,
    "lines.markersize": 7,
}
_SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Plot:
    """An SVG with its caption; its label says the same in words."""

    caption: str
    svg: Markup


@dataclass(frozen=True)
class Mark:
    """A line of the legend."""

    name: str
    tone: str
    letter: str = "■"
    meaning: str = ""


def tone(name: str) -> str:
    """The placeholder of a colour, until the SVG is finished."""
    return f"{_PLACEHOLDER}{TONES.index(name):02x}"


def tones(names: Iterable[str]) -> dict[str, str]:
    """A colour for each series."""
    return dict(zip(names, itertools.cycle(SHAPES)))  # the cycle has no end


def draw(caption: str, label: str, height: float, paint: Callable[[Axes], None]) -> Plot:
    """Let `paint` draw a plot `height` units high; return it as SVG."""
    style = _STYLE | {
        # The seed of the SVG's IDs, which must differ between the plots of a page.
        "svg.hashsalt": caption + label,
        "text.color": tone("ink"),
        "axes.edgecolor": tone("grid"),
        "axes.labelcolor": tone("muted"),
        "xtick.color": tone("grid"),
        "ytick.color": tone("grid"),
        "xtick.labelcolor": tone("ink"),
        "ytick.labelcolor": tone("ink"),
        "grid.color": tone("grid"),
    }
    with rc_context(style):
        figure = Figure(figsize=(WIDTH / 72, height / 72), layout="constrained")
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        figure.patch.set_visible(False)
        paint(axes)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return Plot(caption, _inline(file.getvalue(), label))


def _inline(svg: bytes, label: str) -> Markup:
    """The SVG as an element of the page."""
    ElementTree.register_namespace("", _SVG.strip("{}"))
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(svg)
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    named = set(re.findall(r'(?:url\(#|href="#)([^")]+)', ElementTree.tostring(root, "unicode")))
    for element in root.iter():
        if element.get("id") not in named:
            element.attrib.pop("id", None)
        if element.tag == f"{_SVG}text":
            # Keep size, weight and anchor; the font is the page's.
            font = re.sub(r"font: ((?:bold )?)([\d.]+px)[^;]*", _font, element.get("style", ""))
            element.set("style", font.replace("fill: ", "color: "))
    del root.attrib["width"], root.attrib["height"]
    root.attrib |= {"class": "plot", "role": "img", "aria-label": label}
    text = ElementTree.tostring(root, "unicode")  # escaped
    return Markup(
        re.sub(_PLACEHOLDER + "(..)", lambda found: f"var(--plot-{TONES[int(found[1], 16)]})", text)
    )


def _font(found: re.Match[str]) -> str:
    return f"font-size: {found[2]}" + ("; font-weight: 700" if found[1] else "")
