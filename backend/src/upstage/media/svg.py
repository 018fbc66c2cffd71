"""Whether an SVG drawing is only a drawing. It may be opened as a page of its own, so it must not be able
to run a script, load anything, or point anywhere but into itself: what is not on the lists is refused."""

import re
import time
from io import BytesIO
from pathlib import Path
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

MAX_SECONDS = 2.0
MAX_ELEMENTS = 20_000
MAX_DEPTH = 100
PIECE = 64 * 1024  # bytes
SPACE = " \t\r\n\f"  # of CSS
SVG = "{http://www.w3.org/2000/svg}"
# Notes of drawing programs, which browsers ignore: kept, but nothing in them is drawn.
NOTES = (
    "{http://www.inkscape.org/",
    "{http://sodipodi.sourceforge.net/",
    "{http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "{http://creativecommons.org/ns#",
    "{http://web.resource.org/cc/",
    "{http://purl.org/dc/",
)
_DRAWN = """
svg g defs symbol use title desc metadata switch view style path rect circle ellipse line polyline polygon
text tspan textPath marker pattern mask clipPath linearGradient radialGradient stop filter
animate animateMotion animateTransform mpath
feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap
feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feMerge feMergeNode
feMorphology feOffset fePointLight feSpecularLighting feSpotLight feTile feTurbulence
"""
ELEMENTS = frozenset(_DRAWN.split())

_INSTRUCTION = re.compile(rb"<\?(?!xml\s)")  # such as xml-stylesheet, which loads one


class BadSvg(ValueError):
    """A drawing that is not taken; the message says why."""


class _Pieces(BytesIO):
    """A file that is read in large pieces, whatever is asked for.

    With each piece, Expat before 2.6 looks again at the whole of an attribute or comment that has no end yet.
    """

    def read(self, size: int | None = -1) -> bytes:
        return super().read(PIECE)


def check(path: Path) -> None:
    """Return if a file is a harmless SVG drawing; raise BadSvg."""
    data = path.read_bytes()
    if b"\0" in data or _INSTRUCTION.search(data):  # UTF-16 would hide one
        raise BadSvg("This drawing has instructions for programs in it (<?...?>), or is not in UTF-8.")
    depth = count = 0
    root = None
    deadline = time.monotonic() + MAX_SECONDS
    try:
        # forbid_dtd: no entities that grow, no files of ours that come in.
        for event, element in iterparse(_Pieces(data), events=("start", "end"), forbid_dtd=True):
            if time.monotonic() > deadline:
                raise BadSvg("This drawing is too complicated.")
            if event == "start":
                root = element if root is None else root
                count, depth = count + 1, depth + 1
                if count > MAX_ELEMENTS or depth > MAX_DEPTH:
                    raise BadSvg("This drawing has too many parts.")
                if depth == 1 and element.tag != f"{SVG}svg":
                    raise BadSvg("This is XML, but not an SVG drawing.")
            else:  # only now are its text and all its attributes known
                depth -= 1
                if element.tag == f"{SVG}style" and len(element):
                    raise BadSvg("This drawing has a part in its style, which is not taken.")
                _check_element(element.tag, element.attrib, element.text or "")
                element.clear()
    except DefusedXmlException:
        raise BadSvg("This drawing declares a document type or entities: save it without.") from None
    except (ParseError, ValueError, LookupError) as error:
        if isinstance(error, BadSvg):
            raise
        raise BadSvg(f"This SVG file is broken: {error}.") from None
    if root is None:
        raise BadSvg("This SVG file is empty.")


def _check_element(tag: str, attributes: dict[str, str], text: str) -> None:
    if tag.startswith(NOTES):
        return
    name = tag.removeprefix(SVG)
    if name not in ELEMENTS or not tag.startswith(SVG):
        raise BadSvg(f"This drawing has a <{name.rpartition('}')[2]}> in it, which is not taken.")
    if name == "style":
        _check_style(text)
    for key, value in attributes.items():
        local = key.rpartition("}")[2].lower()
        if local.startswith("on"):
            raise BadSvg(f"This drawing has a script in it ({local}).")
        if local in ("href", "src") and not value.strip().startswith("#"):
            raise BadSvg(f"This drawing refers to something outside itself ({local}).")
        if local == "attributename" and value.strip().rpartition(":")[2].lower() in ("href", "src"):
            raise BadSvg("This drawing changes where it refers to.")
        _check_style(value)


def _check_style(text: str) -> None:
    """Refuse what would load something: url() to elsewhere, @import, and escapes that hide either."""
    lowered = text.lower()
    if "\\" in text or "@import" in lowered or "javascript:" in lowered or "image-set" in lowered:
        raise BadSvg("This drawing has something in its style that is not taken.")
    for piece in lowered.split("url(")[1:]:  # each looked at once: a search for both ends would be quadratic
        _check_url(piece.lstrip(SPACE))


def _check_url(text: str) -> None:
    """Check what comes behind `url(`, up to the next one."""
    quote = text[:1] if text.startswith(("'", '"')) else ""
    inside, end, behind = text.removeprefix(quote).partition(quote or ")")
    if not inside.lstrip(SPACE).startswith("#"):
        raise BadSvg("This drawing refers to something outside itself (url).")
    if not end or (quote and not behind.lstrip(SPACE).startswith(")")):
        raise BadSvg("This drawing has a url( without an end.")
