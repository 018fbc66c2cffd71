"""Pages say what was measured: the figures in a lab's README.md are those of its results.md, rounded.

When `make lab` has rewritten results.md, this fails where a page needs another figure.
"""

import re

import pytest

from stack import REPO

NUMBER_WORDS = {14: "fourteen", 15: "fifteen", 16: "sixteen", 17: "seventeen"}
RATE, MEMORY = "requests/s", "bytes per connection"
OF_NGINX = "nginx of the article"

# Page, its words with {} for the figure; then lab, table, row and column of it, and its digits.
FIGURES = [
    ("labs/static", "costs {} kB here", "static", MEMORY, "10 connections", "Apache prefork", 3),
    ("labs/static", "sends `page.html.gz` {} times a second", "static", RATE, OF_NGINX, "ready-made", 3),
    ("labs/static", "and {} times when it compresses", "static", RATE, OF_NGINX, "on the fly", 3),
    ("labs/static", "it sends the page {} times", "static", RATE, OF_NGINX, "not compressed", 3),
]
PORTAL = ("opendata", RATE, "home · no keep-alive · 5 clients", "direct")


def number(lab: str, heading: str, row: str, column: str) -> float:
    """A figure in results.md, from the one table below this heading that has the row and the column."""
    found = []
    for section in (REPO / "labs" / lab / "results.md").read_text().split("\n## ")[1:]:
        title, *lines = section.splitlines()
        table = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
        if title.partition(" (times")[0] == heading and column in table[0]:
            found += [cells[table[0].index(column)] for cells in table if cells[0] == row]
    [text] = found
    return float(text.split()[0].replace(",", ""))


def page(folder: str) -> str:
    return " ".join((REPO / folder / "README.md").read_text().split())


@pytest.mark.parametrize(("folder", "words", "lab", "table", "row", "column", "digits"), FIGURES)
def test_a_figure_is_that_of_the_results(
    folder: str, words: str, lab: str, table: str, row: str, column: str, digits: int
) -> None:
    value = float(f"{number(lab, table, row, column):.{digits}g}")
    assert words.format(f"{value:,.9g}") in page(folder)


@pytest.mark.parametrize(
    ("folder", "words"), [("labs/opendata", "{} ms of real work"), ("labs", "in the article, {} here")]
)
def test_the_time_of_a_page_is_that_of_the_results(folder: str, words: str) -> None:
    assert words.format(f"{1000 / number(*PORTAL):.2g}") in page(folder)


def test_pages_count_the_lessons() -> None:
    count = len(list(REPO.glob("lessons/[0-9][0-9]-*/")))
    shown = re.findall(r"% +\d+/(\d+) ", (REPO / "docs" / "teaching-class.md").read_text())
    assert set(shown) == {str(count)}
    for name in ("README.md", "docs/course.md"):
        assert NUMBER_WORDS[count] in (REPO / name).read_text()
