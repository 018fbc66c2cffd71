"""Pages say what was measured: the figures in a lab's README.md are those of its results.md, rounded.

When `make lab` has rewritten results.md, this fails where a page needs another figure. figures.toml has the
places.
"""

import re
import tomllib
from pathlib import Path

import pytest

from tests.stack import REPO

NUMBER_WORDS = {18: "eighteen", 20: "twenty", 21: "twenty-one", 22: "twenty-two", 27: "twenty-seven"}
FIGURES = [
    pytest.param(lab, words, (heading, row, column), *times or [1], id=f"{lab}: {words}")
    for lab, tables in tomllib.loads(Path(__file__).with_name("figures.toml").read_text()).items()
    for heading, figures in tables.items()
    for words, row, column, *times in figures
]
PORTAL = ("opendata", "requests/s", "home · no keep-alive · 5 clients", "direct")


def number(lab: str, heading: str, row: str, column: str) -> float:
    """A figure in results.md, from the tables below this heading that have the row and the column.

    The column "factor of default" has the factor that stands behind the figure.
    """
    factor, column = column.startswith("factor of "), column.removeprefix("factor of ")
    found = []
    for section in (REPO / "labs" / lab / "results.md").read_text().split("\n## ")[1:]:
        title, *lines = section.splitlines()
        table = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
        if title.partition(" (times")[0] == heading and table and column in table[0]:
            found += [
                cells[table[0].index(column)]
                for cells in table
                if row in (" · ".join(cells[:keys]) for keys in (1, 2, 3))
            ]
    [text] = set(found)
    [figures] = re.findall(r"^([\d,.]+)(?:| \(([\d.]+).\)| %| [kM]B)$", text)
    return float(figures[factor].replace(",", ""))


def page(folder: str) -> str:
    return " ".join((REPO / folder / "README.md").read_text().split())


def rounded(value: float, shown: str) -> bool:
    """Whether a page's number is this value, rounded to the number's own digits: 36,000 to thousands."""
    digits = shown.replace(",", "")
    whole, _, decimals = digits.partition(".")
    unit = 10.0 ** (-len(decimals) if decimals else len(whole) - len(whole.rstrip("0")))
    return abs(float(digits) - value) <= unit * 0.501


@pytest.mark.parametrize(("lab", "words", "place", "times"), FIGURES)
def test_a_figure_is_that_of_the_results(
    lab: str, words: str, place: tuple[str, str, str], times: float
) -> None:
    value = number(lab, *place) * times
    before, after = words.split("{}")
    [shown] = re.findall(re.escape(before) + r"([\d,.]*\d)" + re.escape(after), page(f"labs/{lab}"))
    assert rounded(value, shown), f"{value:,.9g} in results.md"


@pytest.mark.parametrize(
    ("folder", "words"), [("labs/opendata", "{} ms of real work"), ("labs", "in the article, {} here")]
)
def test_the_time_of_a_page_is_that_of_the_results(folder: str, words: str) -> None:
    assert words.format(f"{1000 / number(*PORTAL):.2g}") in page(folder)


def test_the_front_page_has_the_visitors_of_the_lab() -> None:
    few, many = (
        number("capacity", "At the knee", topology, "visitors carried") for topology in ("direct", "default")
    )
    alone = f"UpStage alone carries {few:.0f} visitors at once; "
    assert f"{alone}with nginx and Varnish in front it carries at least {many:.0f} " in page("")


def test_pages_count_the_lessons() -> None:
    count = len(list(REPO.glob("lessons/[0-9][0-9]-*/")))
    shown = re.findall(r"% +\d+/(\d+) ", (REPO / "docs" / "teaching-class.md").read_text())
    assert set(shown) == {str(count)}
    for name in ("README.md", "docs/course.md"):
        assert NUMBER_WORDS[count] in (REPO / name).read_text()


def test_the_front_page_counts_the_faults() -> None:
    count = len(list(REPO.glob("faults/*.toml")))
    assert f"{NUMBER_WORDS[count]} faults" in page("")
