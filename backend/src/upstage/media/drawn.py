"""Counts the elements that a browser draws for an SVG file: <use>, patterns, masks and markers repeat some.

https://www.w3.org/TR/SVG2/struct.html#UseElement
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

# Elements that define a colour or a filter for others, and draw nothing themselves.
COLOURS = frozenset(["linearGradient", "radialGradient", "filter"])
# The effect of a reference. A property that is not inherited applies once, a paint to each shape inside, and
# a marker, or any property not listed here, to each vertex of those shapes.
HREF, ONCE, PAINT, MARK = "href", "once", "paint", "mark"
PROPERTIES = {
    **dict.fromkeys(["mask", "clip-path", "filter"], ONCE),
    **dict.fromkeys(["fill", "stroke", "marker-start", "marker-end"], PAINT),
}
VERTICES = 5  # the number that is assumed for a shape without points
CONTEXT = ""  # the ID for the paint that a marker takes from its line, which may be any of the file's paints
_REFERENCE = re.compile(r"(?:(?:^|[;{])\s*([\w-]+)\s*:\s*)?url\([\s\"']*#([^\"')\s]+)", re.I)
_POINTS = re.compile(r"[a-z]|\d+\.?\d*|\.\d+", re.I)
_PLAIN_RULE = re.compile(r"[^{}\"'/@(;]*\{[^{}\"'/@]*")
_CLASS = re.compile(r"[\w-]*\.([\w-]+)[\w.-]*")

Reference = tuple[str, str]  # the effect of the reference, and the ID
NOTHING: frozenset[Reference] = frozenset()


@dataclass(slots=True)
class _Element:
    children: list[int] = field(default_factory=list)  # the children's numbers
    refers_to: set[Reference] = field(default_factory=set)  # later also the references that it inherits
    classes: frozenset[str] = frozenset()
    vertices: int = VERTICES


class Drawn:
    """Counts the elements that are drawn. Call `start` when an element begins, `end` when it ends.

    It expands references as a browser does, and stops at `most`. When in doubt, it counts too many: inherited
    paint counts even if an element has its own.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most  # references that may still be found: each draws at least one element
        self._elements: list[_Element] = []
        self._open: list[int] = []  # elements that have begun and not ended
        self._by_id: dict[str, int] = {}  # the first element with each ID, as in browsers
        self._styled: defaultdict[str, set[Reference]] = defaultdict(set)  # by class; "" means any element
        self._paints: set[str] = set()  # IDs of paints and markers
        self._all_inherit = False  # whether an element may inherit even a mask

    def start(self) -> None:
        number = len(self._elements)
        if self._open:
            self._elements[self._open[-1]].children.append(number)
        self._elements.append(_Element())
        self._open.append(number)

    def end(self, name: str, attributes: dict[str, str], text: str) -> None:
        """Take an element that has ended: all its attributes are known."""
        number = self._open.pop()
        element = self._elements[number]
        for key, value in attributes.items():
            if key == "id" and name not in COLOURS:
                self._by_id[value] = min(number, self._by_id.get(value, number))
            elif key == "class":
                element.classes = frozenset(value.split())
            elif key.rpartition("}")[2] == "href":
                element.refers_to.add((HREF, unquote(value.strip().removeprefix("#"))))
            elif key in ("d", "points"):
                element.vertices += len(_POINTS.findall(value))
            else:
                element.refers_to |= self._references(value if key == "style" else f"{key}:{value}")
        if name == "style":
            for of_class, refers_to in self._rules(text):
                self._left -= len(refers_to)
                if self._left <= 0:
                    break
                self._styled[of_class] |= refers_to

    def _references(self, declarations: str) -> set[Reference]:
        """Return the references in CSS declarations, `name:value;name:value`; note the paints and markers
        among them.
        """
        found = {
            (PROPERTIES.get(name.lower(), MARK), unquote(id)) for name, id in _REFERENCE.findall(declarations)
        }
        lowered = declarations.lower()
        if "context-" in lowered:  # context-fill, context-stroke
            found.add((PAINT, CONTEXT))
        self._paints |= {id for kind, id in found if kind != ONCE and id != CONTEXT}
        self._all_inherit |= "inherit" in lowered
        return found

    def _rules(self, style: str) -> Iterator[tuple[str, set[Reference]]]:
        """Yield the class that each selector ends with, and the rule's references; "" if in doubt.

        Only the class after its last space counts, so a rule may seem to match more elements than it does.
        """
        for rule in style.split("}"):
            if refers_to := self._references(rule):
                selectors = rule.partition("{")[0] if _PLAIN_RULE.fullmatch(rule) else ""
                for selector in selectors.split(","):
                    [*_, last] = selector.split() or [""]
                    found = _CLASS.fullmatch(last)
                    yield found[1] if found else "", refers_to

    def count(self) -> int:
        """Return the number of elements drawn, or `most` if the number is as large or larger."""
        self._resolve()
        drawn, steps = 0, 2 * self._most  # a step may draw nothing
        drawing: set[tuple[int, frozenset[Reference]]] = set()  # each element, and the references it inherits
        waiting: list[tuple[int, frozenset[Reference]]] = [(0, NOTHING)]
        while waiting:
            number, inherited = waiting.pop()
            if number < 0:  # all that this element draws has been counted
                drawing.remove((~number, inherited))
                continue
            if (number, inherited) in drawing:  # a browser ignores an element inside itself
                continue
            drawn += 1
            if min(self._left, self._most - drawn, steps) <= 0:
                return self._most
            drawing.add((number, inherited))
            waiting.append((~number, inherited))
            element = self._elements[number]
            steps -= len(element.children)
            waiting += [(child, inherited) for child in element.children]
            references = element.refers_to | inherited
            for kind, id in references:
                times = max(0, min(element.vertices, steps)) if kind == MARK else 1
                steps -= times
                passed_on = inherited | _inherited(references) if kind == HREF else NOTHING
                waiting += [(self._by_id[id], passed_on)] * times
        return drawn

    def _resolve(self) -> None:
        """Keep the references to elements that exist, and pass on those that are inherited.

        Stop when there are too many.
        """
        self._by_id[CONTEXT] = len(self._elements)
        self._elements.append(_Element(refers_to={(ONCE, id) for id in self._paints}))
        ids = self._by_id.keys()
        styled = {
            name: {one for one in refers_to if one[1] in ids} for name, refers_to in self._styled.items()
        }
        from_parent: dict[int, frozenset[Reference]] = {}
        for number, element in enumerate(self._elements):  # each after its parent
            found = {one for one in element.refers_to if one[1] in ids} | from_parent.get(number, NOTHING)
            for name in {"", *element.classes} & styled.keys():
                found |= styled[name]
            if self._all_inherit:
                found = {(PAINT if kind == ONCE else kind, id) for kind, id in found}
            self._left -= len(found)
            if self._left <= 0:
                return
            element.refers_to = found
            from_parent |= dict.fromkeys(element.children, _inherited(found))


def _inherited(references: Iterable[Reference]) -> frozenset[Reference]:
    return frozenset(one for one in references if one[0] in (PAINT, MARK))
