"""One plot as inline SVG.

Its letters are text in the reader's own font, its colours names of the style sheet: the same plot is read by
day, by night, on a phone and on paper.
"""

import io
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# In units of the SVG. The page shows a plot 330 to 500 pixels wide, so its letters are 11 to 17 pixels high.
WIDTH = 360
LETTER = 12

# The names of the colours; style.css says what they are.
TONES = (
    "ink",
    "muted",
    "grid",
    "card",
    "orange",
    "plum",
    "red",
    "green",
    "gold",
    "blue",
    "rose",
    "teal",
    "grey",
)
# Who appears in several labs wears the same colour in all of them.
KNOWN = {
    "direct": "orange",
    "classic": "plum",
    "default": "red",
    "nginx": "green",
    "static": "gold",
    "varnish": "blue",
}
# The tones of series, each with a shape for whoever sees no colour: in matplotlib's words, and as a letter.
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

_PAPER = "#0101"  # a colour that no plot uses otherwise, with the place of a tone behind it
_STYLE: dict[Any, Any] = {  # matplotlib's own type lists every name there is
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar in a name is a dollar
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
    """An SVG with its caption; the SVG carries its content in words for people who do not see it."""

    caption: str
    svg: Markup


@dataclass(frozen=True)
class Mark:
    """A line of the legend."""

    name: str
    tone: str
    letter: str
    meaning: str = ""


def tone(name: str) -> str:
    """The colour that stands for a tone until the SVG is finished."""
    return f"{_PAPER}{TONES.index(name):02x}"


def tones(names: Iterable[str]) -> dict[str, str]:
    """A tone for each series; the known ones have theirs already."""
    names = list(names)
    taken = {KNOWN[name] for name in names if name in KNOWN}
    free = itertools.cycle([tone for tone in SHAPES if tone not in taken] or SHAPES)
    return {name: KNOWN.get(name) or next(free) for name in names}


def legend(tones: Mapping[str, str]) -> list[Mark]:
    """The marks of the series."""
    return [Mark(name, tone, SHAPES[tone][1]) for name, tone in tones.items()]


def draw(caption: str, alt: str, height: float, paint: Callable[[Axes], None]) -> Plot:
    """Have a plot painted, `height` units high, and return it as SVG."""
    style = _STYLE | {
        # Every plot gets names of its own for its shapes: many of them stand on one page.
        "svg.hashsalt": caption + alt,
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
    return Plot(caption, _inline(file.getvalue(), alt))


def _inline(svg: bytes, alt: str) -> Markup:
    """The SVG as an element of the page."""
    ElementTree.register_namespace("", _SVG.strip("{}"))
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(svg)
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    text = ElementTree.tostring(root, "unicode")
    named = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
    for element in root.iter():
        if element.get("id") not in named:
            element.attrib.pop("id", None)
        if element.tag == f"{_SVG}text":
            element.set("style", _text_style(element.get("style", "")))
    root.attrib.pop("width")
    root.attrib.pop("height")
    root.attrib |= {"class": "plot", "role": "img", "aria-label": alt}
    text = ElementTree.tostring(root, "unicode")
    # What is in it was escaped by ElementTree.
    return Markup(re.sub(_PAPER + "(..)", lambda found: f"var(--plot-{TONES[int(found[1], 16)]})", text))


def _text_style(style: str) -> str:
    """Size, weight and anchor stay; the font is the page's, and the colour is named as for any other text."""
    style = re.sub(r"font: ((?:bold )?)([\d.]+px)[^;]*", _font, style)
    return re.sub(r"fill: ", "color: ", style)


def _font(found: re.Match[str]) -> str:
    return f"font-size: {found[2]}" + ("; font-weight: 700" if found[1] else "")
