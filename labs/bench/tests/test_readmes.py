"""Pages say what was measured: the figures in a lab's README.md are those of its results.md, rounded.

When `make lab` has rewritten results.md, this fails where a page needs another figure.
"""

import re
from collections.abc import Callable, Sequence

import pytest

from stack import REPO

NUMBER_WORDS = {14: "fourteen", 15: "fifteen", 16: "sixteen"}


def number(lab: str, heading: str, row: str, column: str) -> float:
    """A figure in results.md, from the one table below this heading that has the row and the column."""
    found = []
    for section in results(lab).split("\n## ")[1:]:
        title, *lines = section.splitlines()
        table = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
        if title.partition(" (times")[0] == heading and column in table[0]:
            found += [cells[table[0].index(column)] for cells in table if cells[0] == row]
    [text] = found
    return float(text.split()[0].replace(",", ""))


def held(server: str) -> str:
    """What labs/static says of a server that did not hold 10,000 connections."""
    [reason] = re.findall(rf"^\| {server} · 10,000 connections \| (.*) \|$", results("static"), re.M)
    return str(reason)


def results(lab: str) -> str:
    return (REPO / "labs" / lab / "results.md").read_text()


def significant(value: float, digits: int) -> str:
    """As pages write a rounded figure."""
    return f"{float(f'{value:.{digits}g}'):,.9g}"


def compressed(encoding: str) -> str:
    return significant(number("static", "requests/s", "nginx of the article", encoding), 3)


def process_with_php() -> str:
    """Megabytes of one process: what 100 held connections add to Apache, without nginx in front of it."""
    memory, tasks = (
        number("bakeoff", heading, "100 connections", "Apache alone")
        - number("bakeoff", heading, "100 connections", "nginx in front")
        for heading in ("memory bytes", "tasks")
    )
    return significant(memory / tasks, 1)


def portal_page() -> str:
    """Milliseconds of a page."""
    rate = number("opendata", "requests/s", "home · no keep-alive · 5 clients", "direct")
    return significant(1000 / rate, 2)


def saved_by_caches() -> str:
    """How many times less CPU the backend uses for a request when a crowd loads the stage over fast links."""
    factors = []
    for clients in (50, 100, 200):
        direct, default = (
            number(
                "distance",
                "server CPU microseconds per request",
                f"{clients} clients · 20 ms round trip",
                f"{way} · 100 Mbit/s link",
            )
            for way in ("direct", "default")
        )
        factors.append(direct / default)
    return f"{min(factors):.0f} to {max(factors):.0f}"


# Page, its words with {} for the figure, the figure.
FIGURES: Sequence[tuple[str, str, Callable[[], str]]] = [
    ("labs/static", '"{}" is not an accident', lambda: held("Apache prefork")),
    ("labs/static", "nginx holds {} of 10,000", lambda: f"{int(held('nginx as shipped').split()[0]):,}"),
    (
        "labs/static",
        "process costs {} kB here",
        lambda: significant(number("static", "bytes per connection", "10 connections", "Apache prefork"), 3),
    ),
    ("labs/static", "and {} MB with PHP inside", process_with_php),
    ("labs/static", "sends `page.html.gz` {} times a second", lambda: compressed("ready-made")),
    ("labs/static", "and {} times when it compresses", lambda: compressed("on the fly")),
    ("labs/static", "Uncompressed it sends the page {} times", lambda: compressed("not compressed")),
    ("labs/bakeoff", "a process is {} MB here", process_with_php),
    ("labs/opendata", "{} ms of real work", portal_page),
    ("labs", "14 ms to compute in the article, {} here", portal_page),
    ("labs/distance", "a factor of {}.", saved_by_caches),
]


@pytest.mark.parametrize(("page", "words", "figure"), FIGURES, ids=[words for _, words, _ in FIGURES])
def test_a_figure_is_that_of_the_results(page: str, words: str, figure: Callable[[], str]) -> None:
    text = " ".join((REPO / page / "README.md").read_text().split())
    assert words.format(figure()) in text


def test_pages_count_the_lessons() -> None:
    count = len(list(REPO.glob("lessons/[0-9][0-9]-*/")))
    shown = re.findall(r"% +\d+/(\d+) ", (REPO / "docs" / "teaching-class.md").read_text())
    assert set(shown) == {str(count)}
    for page in ("README.md", "docs/course.md"):
        assert NUMBER_WORDS[count] in (REPO / page).read_text()
