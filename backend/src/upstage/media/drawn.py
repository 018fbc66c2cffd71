"""How much a browser draws for an SVG file: <use>, patterns, masks and markers repeat what they refer to.

https://www.w3.org/TR/SVG2/struct.html#UseElement
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

# They colour what is drawn, and draw nothing themselves.
COLOURS = frozenset(["linearGradient", "radialGradient", "filter"])
_URL = re.compile(r"url\([\s\"']*#([^\"')\s]+)", re.I)
_CLASS = re.compile(r"\.([\w-]+)")


@dataclass(slots=True)
class _Element:
    parts: list[int]  # the numbers of its children, later also of what it refers to
    refers_to: set[str] = field(default_factory=set)  # IDs
    classes: frozenset[str] = frozenset()


class Drawn:
    """Counts the elements that are drawn, up to `most`. Add each element when its end has been read.

    Time and memory grow with the length of the file and with `most`, not with what the file unfolds to.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most  # references that may still be found: each draws an element at least
        self._elements: list[_Element] = []
        self._open: list[list[int]] = [[]]  # of each element that has begun: its children so far
        self._by_id: dict[str, int] = {}
        self._styled: dict[str, set[str]] = {}  # the IDs to which a class refers; "": any element may

    def start(self) -> None:
        """An element begins."""
        self._open.append([])

    def end(self, name: str, attributes: dict[str, str], text: str) -> None:
        """It has ended."""
        element = _Element(self._open.pop())
        number = len(self._elements)
        for key, value in attributes.items():
            if key == "id" and name not in COLOURS:
                self._by_id.setdefault(value, number)
            elif key == "class":
                element.classes = frozenset(value.split())
            elif key.rpartition("}")[2] == "href":
                element.refers_to.add(unquote(value.strip().removeprefix("#")))
            else:
                element.refers_to.update(_ids(value))
        if name == "style":
            for of_class, refers_to in _rules(text):
                self._left -= len(refers_to)
                if self._left <= 0:
                    break
                self._styled.setdefault(of_class, set()).update(refers_to)
        self._elements.append(element)
        self._open[-1].append(number)

    def count(self) -> int:
        """Return the number of elements drawn, or `most` if there are as many or more."""
        self._resolve()
        if self._left <= 0:
            return self._most
        counts: dict[int, int] = {}
        begun: set[int] = set()  # browsers ignore an element that refers to itself
        waiting = self._open[0][:]
        while waiting:
            number = waiting[-1]
            parts = self._elements[number].parts
            if number not in begun:
                begun.add(number)
                waiting += [part for part in parts if part not in begun]
            else:
                waiting.pop()
                counts.setdefault(number, min(self._most, 1 + sum(counts.get(part, 0) for part in parts)))
        return max((counts[number] for number in self._open[0]), default=0)

    def _resolve(self) -> None:
        """Add what each element refers to to its parts, until there are too many."""
        ids = self._by_id.keys()
        styled = {name: refers_to & ids for name, refers_to in self._styled.items()}
        for element in self._elements:
            found = [
                element.refers_to & ids,
                *(styled[name] for name in {"", *element.classes} & styled.keys()),
            ]
            self._left -= sum(map(len, found))
            if self._left <= 0:
                return
            element.parts += [self._by_id[id] for id in set().union(*found)]


def _ids(text: str) -> list[str]:
    return [unquote(id) for id in _URL.findall(text)]


def _rules(style: str) -> Iterator[tuple[str, list[str]]]:
    """Yield a class of each selector, and the IDs to which its rule refers.

    One class behind its last space counts, so a rule may seem to match more elements than it does.
    """
    for rule in style.split("}"):
        selectors, _, body = rule.partition("{")
        if refers_to := _ids(body):
            for selector in selectors.split(","):
                [*_, last] = selector.split() or [""]
                yield next(iter(_CLASS.findall(last)), ""), refers_to
