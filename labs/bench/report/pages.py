"""The figures in a lab's README.md. figures.toml beside it has their places in the page and in results.md.

It has a table for each heading of results.md; of each figure the page's words, with {} for the digits, the
row and the column, and if the page has another unit, what the figure is multiplied by.
`make lab ... PUBLISH=1` writes new figures into the page.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from math import floor, log10
from pathlib import Path
from typing import NamedTuple


class Figure(NamedTuple):
    """A figure of a page: where it stands in the text, and what it is in results.md."""

    words: str
    whole: tuple[int, int]  # of the words, in the page
    digits: tuple[int, int]
    value: float


def figures(lab: Path) -> Iterator[Figure]:
    """The figures of a lab's page. Raise ValueError if the page or results.md has one not once."""
    page = (lab / "README.md").read_text()
    for heading, rows in tomllib.loads((lab / "figures.toml").read_text()).items():
        for words, row, column, *times in rows:
            before, after = (r"\s+".join(map(re.escape, part.split(" "))) for part in words.split("{}"))
            found = list(re.finditer(rf"{before}([\d,.]*\d){after}", page))
            if len(found) != 1:
                raise ValueError(f"{lab.name}/README.md has {len(found)} times: {words}")
            value = number(lab / "results.md", heading, row, column) * (times or [1])[0]
            yield Figure(words, found[0].span(), found[0].span(1), value)


def number(results: Path, heading: str, row: str, column: str) -> float:
    """A figure in results.md, from the tables below this heading that have the row and the column.

    The column "factor of default" has the factor that stands behind the figure.
    """
    factor, column = column.startswith("factor of "), column.removeprefix("factor of ")
    found = []
    for section in results.read_text().split("\n## ")[1:]:
        title, *lines = section.splitlines()
        table = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
        if title.partition(" (times")[0] == heading and table and column in table[0]:
            found += [
                cells[table[0].index(column)]
                for cells in table
                if row in (" · ".join(cells[:keys]) for keys in (1, 2, 3))
            ]
    if len(set(found)) != 1:
        raise ValueError(f"{results} has {len(set(found))} figures of: {heading}, {row}, {column}")
    parts = re.fullmatch(r"([\d,.]+)(?:| \(([\d.]+).\)| %| [kM]B)", found[0])
    if not parts or not parts[1 + factor]:
        raise ValueError(f"{results} has no figure of: {heading}, {row}, {column}")
    return float(parts[1 + factor].replace(",", ""))


def shown(value: float, before: str) -> str:
    """The value as a page writes it: as before if that is the value, rounded; else with as many digits.

    36,000 has two.
    """
    digits = before.replace(",", "")
    whole, _, decimals = digits.partition(".")
    step = 10.0 ** (-len(decimals) if decimals else len(whole) - len(whole.rstrip("0")))
    if abs(float(digits) - value) <= step * 0.501:
        return before
    significant = len((whole + decimals).lstrip("0") if decimals else whole.rstrip("0"))
    places = significant - 1 - (floor(log10(value)) if value else 0)
    return f"{round(value, places):,.{max(places, 0)}f}"


def update(lab: Path) -> int:
    """Write the figures of results.md into the page, and the words of figures.toml anew.

    Returns how many have changed. Raises ValueError as `figures` does, before it writes.
    """
    page, places = lab / "README.md", lab / "figures.toml"
    old, new, end = page.read_text(), "", 0
    moved = {0: 0}  # ends of figures: where they are in the old page, and in the new one
    found = sorted(figures(lab), key=lambda figure: figure.digits)
    written = {figure.digits: shown(figure.value, old[slice(*figure.digits)]) for figure in found}
    for (start, stop), text in written.items():
        new += old[end:start] + text
        moved[stop], end = len(new), stop
    new += old[end:]

    def there(place: int) -> int:
        last = max(stop for stop in moved if stop <= place)
        return moved[last] + place - last

    words = places.read_text()
    for figure in found:
        start, stop = there(figure.digits[0]), there(figure.digits[1])
        parts = new[there(figure.whole[0]) : start], new[stop : there(figure.whole[1])]
        now = "{}".join(re.sub(r"\s+", " ", part) for part in parts)
        words = words.replace(
            json.dumps(figure.words, ensure_ascii=False), json.dumps(now, ensure_ascii=False)
        )
    page.write_text(new)
    places.write_text(words)
    return sum(old[slice(*place)] != text for place, text in written.items())
