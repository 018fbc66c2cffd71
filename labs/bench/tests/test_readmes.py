"""Pages say what was measured: the figures in a lab's README.md are those of its results.md, rounded."""

import re
import shutil
from pathlib import Path

import pytest

from labs.bench.report import pages
from tests.stack import REPO

NUMBER_WORDS = {18: "eighteen", 20: "twenty", 21: "twenty-one", 22: "twenty-two", 27: "twenty-seven"}
LABS = sorted(path.parent for path in REPO.glob("labs/*/figures.toml"))
PORTAL = ("requests/s", "home · no keep-alive · 5 clients", "direct")


def page(folder: str) -> str:
    return " ".join((REPO / folder / "README.md").read_text().split())


def number(lab: str, *place: str) -> float:
    heading, row, column = place
    return pages.number(REPO / "labs" / lab / "results.md", heading, row, column)


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_the_figures_are_those_of_the_results(lab: Path) -> None:
    text = (lab / "README.md").read_text()
    there = [(figure, text[slice(*figure.digits)]) for figure in pages.figures(lab)]
    outdated = [figure.words for figure, digits in there if pages.shown(figure.value, digits) != digits]
    assert (there != [], outdated) == (True, [])


def test_new_figures_are_written_into_the_page_and_its_words(tmp_path: Path) -> None:
    """Also those that are among the words of another one."""
    lab = tmp_path / "hit"
    shutil.copytree(REPO / "labs" / "hit", lab)
    results = (lab / "results.md").read_text()
    (lab / "results.md").write_text(re.sub(r"(?<=[| ])(\d)(?=[\d,.]* \|)", r"1\1", results))
    before = [figure.value for figure in pages.figures(REPO / "labs" / "hit")]
    assert pages.update(lab) == len(before)
    text = (lab / "README.md").read_text()
    for figure, old in zip(pages.figures(lab), before, strict=True):
        assert figure.value >= old + 10
        assert float(text[slice(*figure.digits)].replace(",", "")) == pytest.approx(figure.value, rel=0.05)
    assert pages.update(lab) == 0


@pytest.mark.parametrize(
    ("value", "before", "shown"),
    [
        (36_400, "36,000", "36,000"),
        (41_200, "36,000", "41,000"),
        (0.0437, "1.5", "0.044"),
        (8.61, "9", "9"),
        (123.4, "9.8", "120"),
        (0, "7", "0"),
    ],
)
def test_a_figure_has_as_many_digits_as_before(value: float, before: str, shown: str) -> None:
    assert pages.shown(value, before) == shown


@pytest.mark.parametrize(
    ("folder", "words"), [("labs/opendata", "{} ms of real work"), ("labs", "in the article, {} here")]
)
def test_the_time_of_a_page_is_that_of_the_results(folder: str, words: str) -> None:
    assert words.format(f"{1000 / number('opendata', *PORTAL):.2g}") in page(folder)


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
