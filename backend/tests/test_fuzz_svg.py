"""Random drawings: each is accepted or rejected, and no accepted one refers to anything outside itself."""

import re
from pathlib import Path
from tempfile import NamedTemporaryFile
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from hypothesis import given
from hypothesis import strategies as st

from many_examples import EXAMPLES, holds
from upstage.media import svg
from upstage.media.files import BadMedia, format_of

NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'

# Parts of drawings, harmless and harmful.
DRAWN, FORBIDDEN = "svg g use path style pattern mask marker animate", "image script a foreignObject"
TAGS = st.sampled_from([*DRAWN.split() * 5, *FORBIDDEN.split()])
ATTRIBUTES = "id class style fill mask marker marker-mid d points href xlink:href src onload attributeName"
KEYS = st.sampled_from(ATTRIBUTES.split())
CSS = "url(#a) url(//b.example) url( #a ) ' \" fill: mask: ; { } .x /* */ @import \\ //b.example x M0 1,2"
WORDS = st.lists(st.sampled_from([*CSS.split(), " "]), max_size=8)
TEXT = WORDS.map("".join) | st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8)
PART = st.recursive(
    TEXT.map(escape),
    lambda parts: st.builds(
        lambda tag, attributes, inside: f"<{tag}{''.join(attributes)}>{''.join(inside)}</{tag}>",
        TAGS,
        st.dictionaries(KEYS, TEXT, max_size=3).map(
            lambda given: [f" {key}={quoteattr(value)}" for key, value in given.items()]
        ),
        st.lists(parts, max_size=4),
    ),
    max_leaves=12,
)
OUTSIDE = re.compile(r"url\(\s*['\"]?\s*[^#'\"\s]|@import|javascript:", re.I)


@EXAMPLES
def test_an_accepted_drawing_refers_to_nothing_outside_itself(examples: int) -> None:
    @given(st.lists(PART, max_size=4).map("".join))
    def prove(inside: str) -> None:
        drawing = f"<svg {NS}>{inside}</svg>"
        with NamedTemporaryFile() as file:
            Path(file.name).write_text(drawing)
            try:
                format_of(Path(file.name))
            except BadMedia:
                return
        for element in ElementTree.fromstring(drawing).iter():
            assert element.tag.rpartition("}")[2] not in FORBIDDEN.split()
            for key, value in element.attrib.items():
                assert not key.startswith("on")
                assert not key.endswith(("href", "src")) or value.strip().startswith("#")
                assert not OUTSIDE.search(value), value
            assert element.tag != f"{svg.SVG}style" or not OUTSIDE.search(element.text or "")

    holds(prove, examples)
