"""lab.toml expands into cells: every combination once, the quick mode a part of the full one."""

from pathlib import Path
from typing import Any

import pytest

from labs.bench.experiment import MODES, expand, load
from labs.bench.report.reading import published

LABS = Path(__file__).parents[2]

WHOLE: dict[str, Any] = {
    "title": "A lab",
    "driver": "ab",
    "services": ["nginx", "generator"],
    "repetitions": {"quick": 3, "full": 5},
    "primary": "requests_per_second",
    "baseline": {"topology": "direct"},
    "settings": {"requests": {"quick": 100, "full": 5000}, "clients": 1},
    "cells": [{"topology": ["direct", "default"], "clients": [1, 10, 25], "quick": {"clients": [25]}}],
    "topologies": {
        "direct": {"url": "http://backend"},
        "default": {"url": "http://nginx", "host": "upstage"},
    },
}


def test_the_full_mode_has_every_combination_once_and_the_quick_mode_what_it_keeps() -> None:
    quick, full = (expand("x", WHOLE, mode) for mode in MODES)
    assert [dict(cell.key) for cell in quick.cells] == [
        {"topology": "direct", "clients": 25},
        {"topology": "default", "clients": 25},
    ]
    assert [(cell.key["topology"], cell.key["clients"]) for cell in full.cells] == [
        *(("direct", 1), ("direct", 10), ("direct", 25), ("default", 1), ("default", 10), ("default", 25)),
    ]
    wanted = {"requests": 100, "clients": 25, "url": "http://nginx", "host": "upstage"}
    assert quick.cells[1].settings == wanted
    assert full.cells[0].settings["requests"] == 5000
    assert (quick.repetitions, full.repetitions) == (3, 5)


@pytest.mark.parametrize(("mode", "usual", "own"), [("quick", 100, 7), ("full", 5000, 8)])
def test_a_block_can_have_its_own_tool_settings_and_primary_metric(mode: str, usual: int, own: int) -> None:
    other: dict[str, Any] = {"topology": ["default"], "driver": "open_connections", "primary": "milliseconds"}
    other["settings"] = {"requests": {"quick": 7, "full": 8}}
    cells = expand("x", WHOLE | {"cells": [{"topology": ["direct"]}, other]}, mode).cells
    assert [(cell.driver, cell.primary, cell.key, cell.settings["requests"]) for cell in cells] == [
        ("ab", "requests_per_second", {"topology": "direct"}, usual),
        ("open_connections", "milliseconds", {"topology": "default"}, own),
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"toool": "ab"}, "toool: unknown"),
        ({"title": None}, "title: missing"),
        ({"cells": [{"topology": ["direct"], "quick": {"topology": []}}]}, "none in the quick mode"),
        ({"cells": [{"topology": ["direct"], "setting": [1]}]}, "singular of settings"),
        ({"cells": [{"topology": "direct"}]}, "are lists"),
        ({"cells": [{"topology": ["direct", "elsewhere"]}]}, r"\[topologies.elsewhere\] is missing"),
        ({"cells": [{"topology": ["direct"]}, {"topology": ["direct"]}]}, "listed twice"),
        ({"cells": [{"topology": ["direct"], "quick": {"topology": ["default"]}}]}, "not part"),
        ({"baseline": {"topology": "elsewhere"}}, "baseline"),
        ({"prepare": ["true"]}, "need each other"),
        ({"services": ["nginx"]}, "generator"),
    ],
)
def test_a_mistake_in_a_lab_toml_is_named(changes: dict[str, Any], words: str) -> None:
    lab = {name: value for name, value in (WHOLE | changes).items() if value is not None}
    with pytest.raises(ValueError, match=words):
        expand("x", lab, "quick")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lab", [path.parent.name for path in sorted(LABS.glob("*/lab.toml"))])
def test_every_lab_expands_and_has_its_pages(lab: str, mode: str) -> None:
    experiment = load(LABS / lab, mode)
    assert all((LABS / "bench" / "drivers" / f"{cell.driver}.py").exists() for cell in experiment.cells)
    assert (LABS / lab / "README.md").exists()
    assert (LABS / lab / "results.md").exists()


@pytest.mark.parametrize(
    "lab", [path.parent for path in sorted(LABS.glob("*/published.toml"))], ids=lambda lab: lab.name
)
def test_each_published_figure_stands_beside_a_cell(lab: Path) -> None:
    """But for those that were measured from elsewhere, over a line that no lab has."""
    cells, entries = [cell.key for cell in load(lab, "full").cells], list(published(lab))
    assert entries
    for entry in entries:
        assert entry.key in cells or "from" in entry.key, entry
