"""The report: the exhibits that a lab.toml declares, as tables, in results.md and as a picture.

None of these figures was measured anywhere.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from labs.bench import words
from labs.bench.experiment import load
from labs.bench.report import plots, tables, write
from labs.bench.report.exhibits import Exhibit
from labs.bench.report.limits import Use, use
from labs.bench.report.reading import Lab, read
from labs.bench.report.tables import Table
from labs.bench.results import Results
from tests.stack import REPO

TOML = """
title = "A lab (SAMPLE)"

[[exhibits]]
title = "Side by side"
series = ["topology"]
at = { clients = 25 }

[[exhibits]]
title = "Over clients"
series = ["topology"]
over = "clients"

[[exhibits]]
kind = "steps"
title = "Step by step"
series = ["topology"]
at = { clients = [25] }

[[exhibits]]
kind = "limits"
title = "How near"
series = ["topology"]
at = { clients = 25 }
"""
PUBLISHED = """
[[tables]]
keys = ["file", "topology", "clients"]
figures = ["requests_per_second", "cpu_percent.nginx"]
rows = [["small", "slow", 25, 200, "<1"], ["small", "fast", 25, 500, ""]]
"""
CPU = {"requests_per_second": 1000.0, "cpu_percent.nginx": 100.0, "system_cpu_percent": 90.0}
MACHINE = {"cpu": "SAMPLE", "cores": 2, "memory_bytes": 8 * 2**30, "kernel": "6.1", "engine": "20.10.24"}


def plain(text: str) -> str:
    """A text with a letter for the multiplication sign, which looks like one."""
    return text.replace(words.TIMES, "x")


def cell(key: Mapping[str, Any], median: Mapping[str, float], problem: str | None = None) -> dict[str, Any]:
    """A cell of three samples, 4 % of the median apart; or a rejected one."""
    samples = [{name: value * factor for name, value in median.items()} for factor in (0.96, 1, 1.04)]
    spread = {name: [value * 0.96, value * 1.04] for name, value in median.items()}
    return {"key": key, "samples": samples, "median": median, "spread": spread, "problem": problem}


def run(cells: list[dict[str, Any]], **others: Any) -> dict[str, Any]:
    """A results file."""
    return {
        **{"lab": "sample", "title": "", "mode": "full", "primary": "requests_per_second", "baseline": {}},
        **{"machine": MACHINE, "versions": {"nginx": "1.26.3"}, "configuration": {}},
        **{"started": "2026-11-21T10:20:00Z", "finished": "2026-11-21T10:29:00Z"},
        "noise": {"repeated": [], "calibration_spread_percent": 4.1, "notes": []},
        **{"cells": cells, **others},
    }


def lab(folder: Path, results: dict[str, Any], toml: str = "title = 'x'\n", published: str = "") -> Lab:
    """A lab as the report reads it, from files in a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "sample.json").write_text(json.dumps(results))
    (folder / "lab.toml").write_text(toml)
    (folder / "published.toml").write_text(published)
    found = Results.read(folder / "sample.json")
    assert found
    return read(found, folder)


def results(*clients: int) -> dict[str, Any]:
    """Two topologies, two files: fast is three times as fast as slow; one cell is rejected."""
    used = {"cpu_percent.nginx": 60.0, "generator_cpu_percent": 50.0, "system_cpu_percent": 80.0}
    cells = [
        cell(
            {"file": file, "topology": topology, "clients": number},
            {"requests_per_second": speed * number, "p99_milliseconds": 4.5, **used},
        )
        for file in ("small", "big")
        for number in clients
        for topology, speed in (("slow", 10.0), ("fast", 30.0))
    ]
    cells.append(cell({"file": "big", "topology": "lost", "clients": 25}, {}, "3 <b> failed"))
    return run(cells, baseline={"topology": "slow"})


def exhibits(folder: Path, *clients: int) -> dict[str, list[Table]]:
    found = lab(folder, results(*clients), TOML, PUBLISHED)
    return {wanted.title: Exhibit(found, wanted).tables() for wanted in found.exhibits}


def rows(shown: list[Table]) -> list[list[str]]:
    return [[plain(text) for text in row] for table in shown for row in table.rows]


def test_each_kind_of_exhibit_has_its_tables(tmp_path: Path) -> None:
    shown = exhibits(tmp_path / "many", 1, 25)
    assert rows(shown["Side by side"]) == [
        ["small · 25 clients", "250", "750 (3.00x)", words.NOTHING],
        ["big · 25 clients", "250", "750 (3.00x)", "rejected"],
    ]
    assert len(rows(shown["Over clients"])) == 4
    assert rows(shown["Step by step"])[2:] == [
        ["slow", "250", "240 to 260", words.NOTHING, words.NOTHING],
        ["fast", "750", "720 to 780", "+200 %", "3.00x"],
        ["lost", "rejected", words.NOTHING, words.NOTHING, words.NOTHING],
    ]
    # At 250/s a per cent of a core is 40 µs a request: 60 of nginx, 100 of the rest of two cores at 80 %.
    limits = ["slow", "2,400", "4,000", "6,400", "250", "312", "80 %", "all 2 cores"]
    assert rows(shown["How near"])[0] == limits
    assert [len(table.rows) for table in shown["How near"]] == [2, 2], "the rejected one has none"
    # Memory does not grow with the rate, so the table shows neither the rate nor a limit.
    full = tables.limits("", "server", {"x": Use("memory of x", 0.5, 100.0, None, {"x": 1.0})})
    assert full.rows == [["x", "1", "0", "1", words.NOTHING, words.NOTHING, "50 %", "memory of x"]]
    assert exhibits(tmp_path / "one", 25)["Over clients"] == [], "there is one place only"
    assert tables.gain(100, 90) == f"{words.MINUS}10 %"


def test_a_ladder_says_what_comes_without_the_application() -> None:
    cpu = {"a": 90.0, "b": 40.0, "c": 30.0}
    uses = {name: Use("", 1.0, 1.0, 1.0, {"nginx": cpu[name]}) for name in cpu}
    assert tables.saved({"small": uses, "big": dict(list(uses.items())[:2])}, ["c"]).rows == [
        ["small", "90", "50", "10", "30", "83 %"],
        ["big", "90", "50", "0", "40", "100 %"],
    ]


def test_a_cell_is_compared_with_the_baseline_of_the_keys_that_it_has(tmp_path: Path) -> None:
    cells = [
        *(cell({"load": load}, {"requests_per_second": speed}) for load, speed in ((0, 10.0), (60, 20.0))),
        *(cell({"joins": joins}, {"requests_per_second": speed}) for joins, speed in ((0, 10.0), (9, 40.0))),
        cell({"stalled": 1}, {"requests_per_second": 1.0}),
    ]
    found = lab(tmp_path, run(cells, baseline={"load": 0, "joins": 0}))
    assert [found.factor(one) for one in found.cells] == [None, 2.0, None, 4.0, None]
    table = tables.across(found, found.cells[2:4], [], "requests_per_second")
    assert table.caption == "requests/s (times 0 joins)"


def test_the_article_stands_beside_what_was_measured(tmp_path: Path) -> None:
    table = tables.published(lab(tmp_path, results(25), TOML, PUBLISHED))
    assert table
    assert table.head[1:] == [
        *("requests/s: article", "here", "CPU of nginx, %: article", "here", "factor: article", "here"),
    ]
    assert [plain(text) for text in table.rows[0][1:3]] == ["200", "250"]
    assert table.rows[1][3] == words.NOTHING, "the article does not say"
    assert [plain(text) for text in table.rows[1][-2:]] == ["2.50x", "3.00x"]


def test_results_md_has_every_table_and_the_same_figures_make_the_same_picture(tmp_path: Path) -> None:
    found = lab(tmp_path, results(25) | {"finished": None}, TOML, PUBLISHED)
    write(found, tmp_path)
    text, picture = plain((tmp_path / "sample.md").read_text()), (tmp_path / "sample.svg").read_bytes()
    assert text.startswith("# Results: A lab (SAMPLE)\n\nWritten by `make lab LAB=sample PUBLISH=1`")
    assert (
        "\nMeasured 21 November 2026, 10:20 UTC, full mode, 3 repetitions, on SAMPLE, 2 cores, 8.0 GiB, "
        "Linux 6.1, Docker 20.10.24, calibration spread 4.10 %; nginx 1.26.3.\n" in text
    )
    assert text.count("\n## requests/s (times slow)\n") == 1
    assert "| big · 25 clients | 250 | 750 (3.00x) | rejected |\n" in text
    assert "\n## The article beside this machine\n" in text
    assert r"| small · slow · 25 clients | 200 | 250 | \<1 | 60 |" in text
    assert r"| big · lost · 25 clients | 3 \<b\> failed |" in text
    assert text.endswith("\n- Half measured, still to come: repetitions.\n")
    assert b"</svg>" in picture
    write(found, tmp_path)
    assert (tmp_path / "sample.svg").read_bytes() == picture


def test_a_lab_that_declares_no_exhibit_still_shows_its_figures(tmp_path: Path) -> None:
    cells = [cell({"listeners": 100}, {"joins_per_second": 321.0})]
    write(lab(tmp_path, run(cells, primary="joins_per_second")), tmp_path)
    assert "| listeners 100 | 321 |" in (tmp_path / "sample.md").read_text()


@pytest.mark.parametrize(
    ("toml", "mistake"),
    [
        ("", "title"),
        ("title = 'x'\n[[exhibits]]\nkind = 'pie'\nseries = ['step']", "kind is one of bars, steps, limits"),
        ("title = 'x'\n[[exhibits]]\nkinds = 'bars'\nseries = ['step']", "kinds"),
    ],
)
def test_a_mistake_in_an_exhibit_is_named(tmp_path: Path, toml: str, mistake: str) -> None:
    with pytest.raises(ValueError, match=f"cannot be reported: .*{mistake}"):
        lab(tmp_path, run([]), toml)


@pytest.mark.parametrize("name", [path.parent.name for path in sorted((REPO / "labs").glob("*/lab.toml"))])
def test_every_declared_exhibit_of_our_labs_has_figures(tmp_path: Path, name: str) -> None:
    """Every cell has every metric that the lab declares, but for the third, which is rejected."""
    experiment, toml = load(REPO / "labs" / name, "full"), (REPO / "labs" / name / "lab.toml").read_text()
    metrics = {"requests_per_second", "cpu_percent.nginx", "generator_cpu_percent", "system_cpu_percent"}
    metrics |= {cell.primary for cell in experiment.cells}
    metrics |= {metric for wanted in lab(tmp_path, run([]), toml).exhibits for metric in wanted.metrics}
    cells = [cell(each.key, dict.fromkeys(metrics, 3.0)) for each in experiment.cells]
    if len(cells) > 3:
        cells[2] = cell(experiment.cells[2].key, {}, "37 of 2000 requests failed")
    baseline = dict(experiment.baseline)
    found = lab(tmp_path, run(cells, primary=experiment.primary, baseline=baseline), toml)
    for wanted in found.exhibits:
        shown = Exhibit(found, wanted).tables()
        assert shown, wanted
        for table in shown:
            assert table.caption, wanted
            assert table.rows, table.caption
            assert {len(row) for row in table.rows} == {len(table.head)}, table.caption


def test_bars_are_as_long_as_their_values() -> None:
    axes = Figure().add_subplot()
    measured = plots.Bar("a", "red", 300.0, (290, 310), "1.50x")
    plots.paint(axes, [measured, plots.Bar("$b$", "blue", None, published=400.0)], "milliseconds")
    assert [bar.get_width() for bar in axes.patches] == [300, 0]  # type: ignore[attr-defined]
    assert [text.get_text() for text in axes.texts] == ["300  1.50x", "rejected"]
    assert [np.ravel(line.get_xdata()).tolist() for line in axes.lines] == [[290, 310], [400]]
    assert axes.get_xlim()[1] > 400


def used(folder: Path, figures: dict[str, float]) -> Use | None:
    """The use of a cell with these figures, on two cores."""
    toml = "title = 'x'\none_core = { 'cpu_percent.backend' = 'the one core of UpStage' }"
    found = lab(folder, run([cell({"topology": "x"}, figures)]), toml)
    return use(found, found.cells[0])


@pytest.mark.parametrize(
    ("figures", "busy", "share", "limit", "full"),
    [
        # The thread of the generator, which is less than its service.
        ({"cpu_percent.generator": 90, "generator_cpu_percent": 80}, 50, 0.8, 1250, "generator"),
        # A program that the lab declares to have one thread.
        ({"cpu_percent.backend": 80, "generator_cpu_percent": 50}, 60, 0.8, 1250, "UpStage"),
        # 50 of UpStage, 50 of the generator, 100 of other programs: all cores.
        ({"cpu_percent.backend": 50, "generator_cpu_percent": 50}, 100, 1.0, 1000, "all 2 cores"),
        # The services say 160, the machine 150: the higher counts.
        ({"cpu_percent.nginx": 160, "generator_cpu_percent": 5}, 75, 0.8, 1250, "all 2 cores"),
        # A rate that was measured is possible, even if the clocks add up to more than everything.
        ({"cpu_percent.nginx": 50, "generator_cpu_percent": 101}, 80, 1.0, 1000, "generator"),
        # Memory does not grow with the rate: a share, but no limit.
        ({**CPU, "generator_cpu_percent": 5, "memory_percent.nginx": 95}, 90, 0.95, None, "memory of nginx"),
        # The memory of a service with nothing to do in this cell (4 of 104) counts for nothing.
        (
            {**CPU, "cpu_percent.backend": 4, "generator_cpu_percent": 5, "memory_percent.backend": 95},
            90,
            0.9,
            1000 / 0.9,
            "all 2 cores",
        ),
    ],
)
def test_the_limit_is_where_the_fullest_resource_is_full(
    tmp_path: Path, figures: dict[str, float], busy: float, share: float, limit: float | None, full: str
) -> None:
    found = used(tmp_path, {"requests_per_second": 1000, **figures, "system_cpu_percent": busy})
    assert found
    assert found.share == pytest.approx(share)
    assert found.limit == (limit and pytest.approx(limit))
    assert full in found.full


@pytest.mark.parametrize("missing", ["cpu_percent.nginx", "system_cpu_percent", "generator_cpu_percent"])
def test_a_resource_that_was_not_measured_gives_no_limit(tmp_path: Path, missing: str) -> None:
    figures = {**CPU, "generator_cpu_percent": 10}
    assert used(tmp_path / "all", figures)
    del figures[missing]
    assert used(tmp_path / "less", figures) is None
