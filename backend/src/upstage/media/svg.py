"""The check of uploaded SVG files. A browser may open one as a separate page, so it must not run scripts,
load anything or refer to anything outside itself: elements that are not on the list are rejected.
"""

import re
import time
from io import BytesIO
from pathlib import Path
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from upstage.media.drawn import Drawn

MAX_SECONDS = 2.0
MAX_ELEMENTS = 20_000  # in the file
MAX_DRAWN = 100_000  # elements, with every <use> or other reference expanded
MAX_DEPTH = 100
PIECE = 64 * 1024  # bytes
SPACE = " \t\r\n\f"  # the white space of CSS
SVG = "{http://www.w3.org/2000/svg}"
# Metadata of drawing programs: kept, because browsers do not draw them.
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

_REFUSED = ("\\", "@import", "javascript:", "image-set", "var(", "path(")
_INSTRUCTION = re.compile(rb"<\?(?!xml\s)")  # such as xml-stylesheet, which loads a file


class BadSvg(ValueError):
    """A rejected drawing; the message says why."""


class _Pieces(BytesIO):
    """A file that is read in large pieces, whatever size the parser requests.

    The pieces are large because at each one Expat before 2.6 parses an unfinished attribute or comment again.
    """

    def read(self, size: int | None = -1) -> bytes:
        return super().read(PIECE)


def check(path: Path) -> None:
    """Return if a file is a harmless SVG drawing; otherwise raise BadSvg."""
    data = path.read_bytes()
    if b"\0" in data or _INSTRUCTION.search(data):  # UTF-16 would hide an instruction
        raise BadSvg("This drawing contains processing instructions (<?...?>), or is not in UTF-8.")
    depth = count = 0
    root = None
    drawn = Drawn(MAX_DRAWN)
    deadline = time.thread_time() + MAX_SECONDS
    try:
        # forbid_dtd rules out entities, which could expand without bounds or include a file of the server.
        for event, element in iterparse(_Pieces(data), events=("start", "end"), forbid_dtd=True):
            if time.thread_time() > deadline:
                raise BadSvg("This drawing is too complicated.")
            if event == "start":
                root = element if root is None else root
                count, depth = count + 1, depth + 1
                drawn.start()
                if count > MAX_ELEMENTS or depth > MAX_DEPTH:
                    raise BadSvg("This drawing has too many elements.")
                if depth == 1 and element.tag != f"{SVG}svg":
                    raise BadSvg("This is XML, but not an SVG drawing.")
            else:  # only now are the element's text and all its attributes known
                depth -= 1
                if element.tag == f"{SVG}style" and len(element):
                    raise BadSvg("This drawing has an element inside <style>, which is not allowed.")
                _check_element(element.tag, element.attrib, element.text or "")
                drawn.end(element.tag.removeprefix(SVG), element.attrib, element.text or "")
                element.clear()
    except DefusedXmlException:
        raise BadSvg(
            "This drawing declares a document type or entities. Please save it without them."
        ) from None
    except (ParseError, ValueError, LookupError) as error:
        if isinstance(error, BadSvg):
            raise
        raise BadSvg(f"This SVG file is damaged: {error}.") from None
    if root is None:
        raise BadSvg("This SVG file is empty.")
    if drawn.count() >= MAX_DRAWN:
        raise BadSvg("This drawing repeats its parts too often: it would slow down every browser.")


def _check_element(tag: str, attributes: dict[str, str], text: str) -> None:
    if tag.startswith(NOTES):
        return
    name = tag.removeprefix(SVG)
    if name not in ELEMENTS or not tag.startswith(SVG):
        raise BadSvg(f"This drawing contains <{name.rpartition('}')[2]}>, which is not allowed.")
    if name == "style":
        _check_style(text)
    for key, value in attributes.items():
        local = key.rpartition("}")[2].lower()
        if local.startswith("on"):
            raise BadSvg(f"This drawing contains a script ({local}).")
        if local in ("href", "src") and not value.strip().startswith("#"):
            raise BadSvg(f"This drawing refers to something outside itself ({local}).")
        animated = value.strip().rpartition(":")[2].lower() if local == "attributename" else ""
        if animated in ("href", "src", "class") or (name.startswith("animate") and "url(" in value.lower()):
            raise BadSvg("This drawing animates a reference.")
        _check_style(value)


def _check_style(text: str) -> None:
    """Reject whatever would load a file: url() to another file, @import, and escapes that hide them.

    It also rejects var() and path(), which could hide an element's references and points from `drawn`.
    """
    lowered = text.lower()
    if any(word in lowered for word in _REFUSED):
        raise BadSvg("This drawing's style contains something that is not allowed.")
    for piece in lowered.split("url(")[1:]:  # one pass: a search for both parentheses would be quadratic
        _check_url(piece.lstrip(SPACE))


def _check_url(text: str) -> None:
    """Check the text between one `url(` and the next."""
    quote = text[:1] if text.startswith(("'", '"')) else ""
    inside, end, behind = text.removeprefix(quote).partition(quote or ")")
    if not inside.lstrip(SPACE).startswith("#"):
        raise BadSvg("This drawing refers to something outside itself (url).")
    if not end or (quote and not behind.lstrip(SPACE).startswith(")")):
        raise BadSvg("This drawing has an unfinished url(.")
