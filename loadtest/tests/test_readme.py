"""The tables of user classes and load shapes name what locustfile.py has."""

import re
from pathlib import Path

import pytest

from locust_library import CLASSES, LOADTEST
from locustfile import SHAPES

OWN = LOADTEST / "README.md"


@pytest.mark.parametrize("readme", [OWN, LOADTEST.parent / "README.md"], ids=["loadtest", "root"])
def test_the_table_of_classes_has_their_weights(readme: Path) -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\d+|one\b[^|]*?) \|", readme.read_text(), re.MULTILINE))
    weights = {name: "one" if user.fixed_count == 1 else str(user.weight) for name, user in CLASSES.items()}
    assert {name: "one" if weight.startswith("one") else weight for name, weight in rows.items()} == weights


def test_the_table_of_shapes_has_all_shapes() -> None:
    section = OWN.read_text().partition("## Load shapes")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [shape.__name__ for shape in SHAPES]
