"""The report: the labs it reads; headlines, plots, tables, notes, on the page and in results.md."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench import words
from bench.experiment import load
from bench.report import plots, tables, write
from bench.report.chapters import Exhibit, chapter
from bench.report.headlines import figures
from bench.report.limits import Use, use
from bench.report.reading import LIMITS, read
from bench.tests import samples
from stack import REPO

TOML = """
title = "A lab (SAMPLE)"
meanings = { fast = "with a cache" }

[[headlines]]
text = "fast over slow"
cell = { file = "big", topology = "fast", clients = 25 }
over = { topology = "slow" }

[[headlines]]
text = "how long"
cell = { file = "big", topology = "fast", clients = 25 }
metric = "p99_milliseconds"

[[headlines]]
text = "not measured"
cell = { file = "big", topology = "lost", clients = 25 }

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

[limits]
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


def plain(text: str) -> str:
    """A text with a letter for the multiplication sign, which looks like one."""
    return text.replace(words.TIMES, "x")


def test_a_ladder_says_what_comes_without_the_application() -> None:
    uses = {
        name: Use("", 1.0, 1.0, 1.0, {"nginx": cpu})
        for name, cpu in {"a": 90.0, "b": 40.0, "c": 30.0}.items()
    }
    table = tables.saved({"small": uses, "big": dict(list(uses.items())[:2])}, ["c"])
    assert table.rows == [
        ["small", "90", "50", "10", "30", "83 %"],
        ["big", "90", "50", "0", "40", "100 %"],
    ]


def results(*clients: int) -> dict[str, Any]:
    """Two topologies, two files: fast is three times as fast as slow; one cell is rejected."""
    cells = [
        samples.cell(
            {"file": file, "topology": topology, "clients": number},
            {
                "requests_per_second": speed * number,
                "p99_milliseconds": 4.5,
                "cpu_percent.nginx": 60.0,
                "generator_cpu_percent": 50.0,
                "system_cpu_percent": 80.0,
            },
        )
        for file in ("small", "big")
        for number in clients
        for topology, speed in (("slow", 10.0), ("fast", 30.0))
    ]
    cells.append(samples.rejected({"file": "big", "topology": "lost", "clients": 25}, "3 <b> failed"))
    return samples.run(cells, baseline={"topology": "slow"})


def exhibits(folder: Path, *clients: int) -> dict[str, Exhibit]:
    shown = chapter(samples.lab(folder, results(*clients), TOML, PUBLISHED)).exhibits
    return {exhibit.title: exhibit for exhibit in shown}


def rows(exhibit: Exhibit) -> list[list[str]]:
    return [[plain(text) for text in row] for table in exhibit.tables for row in table.rows]


def test_headlines_are_ratios_or_figures_and_need_their_cells(tmp_path: Path) -> None:
    lab = samples.lab(tmp_path, results(25), TOML)
    assert [(it.text, plain(it.value), it.unit) for it in figures([lab])] == [
        ("fast over slow", "3.00x", ""),
        ("how long", "4.50", "ms"),
    ]


def test_each_kind_of_exhibit_has_its_plots_and_tables(tmp_path: Path) -> None:
    shown = exhibits(tmp_path / "many", 1, 25)
    assert [plot.caption for plot in shown["Side by side"].plots] == ["small", "big"]
    assert rows(shown["Side by side"]) == [
        ["small · 25 clients", "250", "750 (3.00x)", words.NOTHING],
        ["big · 25 clients", "250", "750 (3.00x)", "rejected"],
    ]
    marks = shown["Side by side"].legend
    assert [(mark.name, mark.meaning) for mark in marks] == [
        *(("slow", ""), ("fast", "with a cache"), ("lost", "")),
        ("published in the article", ""),
    ]
    assert len({mark.colour for mark in marks}) == 4
    assert [plot.caption for plot in shown["Over clients"].plots] == ["small", "big"]
    assert shown["Over clients"].legend == marks[:3], "a series has one colour in all exhibits"
    assert rows(shown["Step by step"])[2:] == [
        ["slow", "250", "240 to 260", words.NOTHING, words.NOTHING],
        ["fast", "750", "720 to 780", "+200 %", "3.00x"],
        ["lost", "rejected", words.NOTHING, words.NOTHING, words.NOTHING],
    ]
    # At 250/s a per cent of a core is 40 µs a request: 60 of nginx, 100 of the rest of two cores at 80 %.
    assert rows(shown[LIMITS])[0] == [
        "slow",
        "2,400",
        "4,000",
        "6,400",
        "250",
        "312",
        "80 %",
        "all 2 cores",
    ]
    assert [len(table.rows) for table in shown[LIMITS].tables] == [2, 2], "the rejected one has none"
    # Memory does not grow with the rate, so the table shows neither the rate nor a limit.
    full = tables.limits("", "server", {"x": Use("memory of x", 0.5, 100.0, None, {"x": 1.0})})
    assert full.rows == [["x", "1", "0", "1", words.NOTHING, words.NOTHING, "50 %", "memory of x"]]
    assert "Over clients" not in exhibits(tmp_path / "one", 25), "a line needs two places"
    assert tables.gain(100, 90) == f"{words.MINUS}10 %"


def test_the_article_stands_beside_what_was_measured(tmp_path: Path) -> None:
    table = tables.published(samples.lab(tmp_path, results(25), TOML, PUBLISHED))
    assert table
    assert table.head[1:] == [
        *("requests/s: article", "here", "CPU of nginx, %: article", "here", "factor: article", "here"),
    ]
    assert [plain(text) for text in table.rows[0][1:3]] == ["200", "250"]
    assert table.rows[1][3] == words.NOTHING, "the article does not say"
    assert [plain(text) for text in table.rows[1][-2:]] == ["2.50x", "3.00x"]


def test_the_page_and_results_md_have_every_table(tmp_path: Path) -> None:
    found, labs = samples.write(tmp_path, results(25) | {"finished": None}, TOML, PUBLISHED)
    page = write(found, labs).read_text()
    text = plain((found / "sample.md").read_text())
    assert text.startswith("# Results: A lab (SAMPLE)\n\nWritten by `make lab LAB=sample PUBLISH=1`")
    assert (
        "\nMeasured 21 November 2026, 10:20 UTC, full mode, 3 repetitions, on SAMPLE, not a real machine, "
        "2 cores, 8.0 GiB, Linux 6.1, Docker 20.10.24, calibration spread 4.10 %; nginx 1.26.3.\n" in text
    )
    assert text.count("\n## requests/s (times slow)\n") == 1
    assert "| big · 25 clients | 250 | 750 (3.00x) | rejected |\n" in text
    assert "\n## The article beside this machine\n" in text
    assert r"| small · slow · 25 clients | 200 | 250 | \<1 | 60 |" in text
    assert r"| big · lost · 25 clients | 3 \<b\> failed |" in text
    assert text.endswith("\n- Half measured, still to come: repetitions.\n")
    assert "3 &lt;b&gt; failed" in page
    assert page.count("data:image/svg+xml;base64,") == 4
    assert "</svg>" in (found / "sample.svg").read_text()
    assert write(found, labs).read_text() == page, "the same results make the same page"


def test_a_lab_that_declares_no_exhibit_still_shows_its_figures(tmp_path: Path) -> None:
    cells = [samples.cell({"listeners": 100}, {"joins_per_second": 321.0})]
    found, labs = samples.write(tmp_path, samples.run(cells, primary="joins_per_second"))
    assert "321" in write(found, labs).read_text()
    assert "| listeners 100 | 321 |" in (found / "sample.md").read_text()


def test_labs_come_in_their_order_and_a_broken_one_hides_no_other(tmp_path: Path) -> None:
    samples.write(tmp_path / "b", samples.run([], "second"), "order = 2")
    found, labs = samples.write(tmp_path / "b", samples.run([], "first"), "order = 1\nheadlines = [{}]")
    for name, toml in (
        ("third", "order = 3\n[[exhibits]]\nkind = 'pie'\ntitle = 'x'\nseries = ['step']"),
        ("waiting", "title = 'Later'\norder = 4"),
    ):
        (labs / name).mkdir()
        (labs / name / "lab.toml").write_text(toml)
    (found / "last.json").write_text('{"lab": "last"')
    read_labs = {lab.name: lab.problem for lab in read(found, labs)}
    assert list(read_labs) == ["second", "waiting", "first", "last", "third"], "the unreadable ones last"
    assert "labs/first cannot be read" in read_labs["first"]
    assert "kind is one of plots, steps, limits" in read_labs["third"]
    assert read_labs["last"] == "last.json holds no results of a run."
    assert "Not measured yet: <code>make lab LAB=waiting</code>" in write(found, labs).read_text()
    assert "Nothing has been measured yet" in write(tmp_path / "none", tmp_path / "labs").read_text()


@pytest.mark.parametrize("name", [path.parent.name for path in sorted((REPO / "labs").glob("*/lab.toml"))])
def test_every_declared_exhibit_and_headline_of_our_labs_has_figures(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "_draw", lambda caption, *_: plots.Plot(caption, b""))  # drawing is slow
    toml = (REPO / "labs" / name / "lab.toml").read_text()
    found = samples.lab(tmp_path, samples.real(name), toml)
    assert not found.problem
    quick = [cell.key for cell in load(REPO / "labs" / name, "quick").cells]
    for headline in found.headlines:
        assert headline.cell in quick
        assert {**headline.cell, **headline.over} in quick
    shown = chapter(found).exhibits
    assert [each.title for each in shown] == [each.title for each in found.exhibits]
    for table in (table for exhibit in shown for table in exhibit.tables):
        assert table.rows, table.caption
        assert {len(row) for row in table.rows} == {len(table.head)}, table.caption


@pytest.fixture
def axes(monkeypatch: pytest.MonkeyPatch) -> Axes:
    """The background of the next plot."""
    axes = Figure().add_subplot()
    monkeypatch.setattr(plots, "_draw", lambda caption, height, paint: paint(axes))
    return axes


def test_bars_are_as_long_as_their_values(axes: Axes) -> None:
    plots.bars(
        "",
        [
            plots.Bar("a", "red", 300.0, (290, 310), "1.50x"),
            plots.Bar("$b$", "blue", None, published=400.0),
        ],
        "milliseconds",
    )
    assert [bar.get_width() for bar in axes.patches] == [300, 0]  # type: ignore[attr-defined]
    assert [text.get_text() for text in axes.texts] == ["300  1.50x", "rejected"]
    assert [np.ravel(line.get_xdata()).tolist() for line in axes.lines] == [[290, 310], [400]]
    assert axes.get_xlim()[1] > 400


@pytest.mark.parametrize(("highest", "scale"), [(50.0, "linear"), (5000.0, "log")])
def test_lines_have_a_gap_at_a_rejected_cell_and_a_logarithmic_axis_where_values_are_far_apart(
    axes: Axes, highest: float, scale: str
) -> None:
    y = [10.0, math.nan, highest]
    spreads = [[value, value] for value in y]
    plots.lines("", {"a": plots.Line("#c65a2b", [1, 2, 3], y, spreads)}, "milliseconds", "rate")
    [line] = axes.lines
    assert line.get_ydata() == pytest.approx(y, nan_ok=True)
    assert axes.get_yscale() == scale
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("rate", "ms")


def used(folder: Path, figures: dict[str, float], cores: int = 2) -> Use | None:
    """The use of a cell with these figures."""
    results = samples.run([samples.cell({"topology": "x"}, figures)], machine={"cores": cores})
    found = samples.lab(folder, results, "one_core = { 'cpu_percent.backend' = 'the one core of UpStage' }")
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
