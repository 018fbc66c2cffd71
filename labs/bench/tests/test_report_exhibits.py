"""The headlines and exhibits that a lab.toml declares: their plots, their tables and results.md."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench import words
from bench.experiment import load
from bench.report import tables, write
from bench.report.chapters import Exhibit, chapter
from bench.report.headlines import figures, limits
from bench.report.tables import Step
from bench.tests import samples
from stack import REPO

TOML = """
title = "A lab (SAMPLE)"
meanings = { fast = "with a cache" }

[[headlines]]
text = "fast over slow"
cell = { file = "big", way = "fast", clients = 25 }
over = { way = "slow" }

[[headlines]]
text = "how long"
cell = { file = "big", way = "fast", clients = 25 }
metric = "p99_milliseconds"

[[headlines]]
text = "not measured"
cell = { file = "big", way = "lost", clients = 25 }

[[exhibits]]
kind = "bars"
title = "Side by side"
series = ["way"]
at = { clients = 25 }

[[exhibits]]
kind = "lines"
title = "Over clients"
series = ["way"]
over = "clients"

[[exhibits]]
kind = "steps"
title = "Step by step"
series = ["way"]
at = { clients = [25] }

[[exhibits]]
kind = "limits"
title = "Limits"
series = ["way"]
at = { clients = 25 }
"""
PUBLISHED = """
[[cell]]
key = { file = "small", way = "slow", clients = 25 }
requests_per_second = 200
"cpu_percent.nginx" = "<1"

[[cell]]
key = { file = "small", way = "fast", clients = 25 }
requests_per_second = 500
"""


def plain(text: str) -> str:
    """A text with a letter for the multiplication sign, which looks like one."""
    return text.replace(words.TIMES, "x")


def results(*clients: int) -> dict[str, Any]:
    """Two ways, two files: fast is three times as fast as slow; one cell is rejected."""
    cells = [
        samples.cell(
            {"file": file, "way": way, "clients": number},
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
        for way, speed in (("slow", 10.0), ("fast", 30.0))
    ]
    cells.append(samples.rejected({"file": "big", "way": "lost", "clients": 25}, "3 requests failed"))
    return samples.run(cells, baseline={"way": "slow"})


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
    assert limits([lab]).rows == [
        ["A lab (SAMPLE)", "big · fast · 25 clients", "750 requests/s", "938", "80 %", "all 2 cores"],
        ["A lab (SAMPLE)", "big · slow · 25 clients", "250 requests/s", "312", "80 %", "all 2 cores"],
    ]


def test_bars_show_the_cells_at_one_place_with_their_factors(tmp_path: Path) -> None:
    shown = exhibits(tmp_path, 1, 25)["Side by side"]
    assert [plot.caption for plot in shown.plots] == ["small", "big"]
    assert rows(shown) == [
        ["small · 25 clients", "250", "750 (3.00x)", words.NOTHING],
        ["big · 25 clients", "250", "750 (3.00x)", "rejected"],
    ]
    assert "lost 3 requests failed" in shown.plots[1].svg
    assert "slow 250, published 200" in shown.plots[0].svg
    assert [(mark.name, mark.meaning) for mark in shown.legend] == [
        *(("slow", ""), ("fast", "with a cache"), ("lost", "")),
        ("published in the article", ""),
    ]


def test_lines_need_more_than_one_place(tmp_path: Path) -> None:
    [small, _] = exhibits(tmp_path / "many", 1, 25)["Over clients"].plots
    assert "slow 10 at 1, 250 at 25" in small.svg
    assert "Over clients" not in exhibits(tmp_path / "one", 25)


def test_steps_compare_each_with_the_one_before(tmp_path: Path) -> None:
    assert rows(exhibits(tmp_path, 25)["Step by step"])[2:] == [
        ["slow", "250", "240 to 260", words.NOTHING, words.NOTHING],
        ["fast", "750", "720 to 780", "+200 %", "3.00x"],
        ["lost", "rejected", words.NOTHING, words.NOTHING, words.NOTHING],
    ]
    before = Step("before", 100, (95, 105))
    assert tables.direction(before, Step("gain", 112, (106, 118))) == 1
    assert tables.direction(before, Step("noise", 112, (104, 118))) == 0
    assert tables.direction(before, Step("loss", 90, (86, 94))) == -1
    assert tables.gain(before, Step("loss", 90)) == f"{words.MINUS}10 %"


def test_limits_show_the_cpu_of_a_request_and_what_is_full(tmp_path: Path) -> None:
    shown = exhibits(tmp_path, 25)["Limits"]
    # At 250/s a per cent of a core is 40 µs a request: 60 of nginx, 100 of the rest of two cores at 80 %.
    assert rows(shown)[0] == ["slow", "2,400", "4,000", "6,400", "250", "312", "80 %", "all 2 cores"]
    assert [len(table.rows) for table in shown.tables] == [2, 2], "the rejected one has none"


def test_the_article_stands_beside_what_was_measured(tmp_path: Path) -> None:
    table = tables.published(samples.lab(tmp_path, results(25), TOML, PUBLISHED))
    assert table
    assert table.head[1:] == [
        *("requests/s: article", "here", "CPU of nginx, %: article", "here", "factor: article", "here"),
    ]
    assert [plain(text) for text in table.rows[0][1:3]] == ["200", "250"]
    assert [plain(text) for text in table.rows[1][-2:]] == ["2.50x", "3.00x"]


@pytest.mark.slow  # a minute of drawing; the tests above have each kind of exhibit
@pytest.mark.parametrize("name", [path.parent.name for path in sorted((REPO / "labs").glob("*/lab.toml"))])
def test_every_declared_exhibit_and_headline_of_our_labs_has_figures(tmp_path: Path, name: str) -> None:
    toml = (REPO / "labs" / name / "lab.toml").read_text()
    found = samples.lab(tmp_path, samples.real(name), toml)
    assert not found.problem
    assert found.headlines
    quick = [cell.key for cell in load(REPO / "labs" / name, "quick").cells]
    for headline in found.headlines:
        assert headline.cell in quick
        assert {**headline.cell, **headline.over} in quick
    shown = chapter(found).exhibits
    assert [each.title for each in shown] == [each.title for each in found.exhibits]
    assert shown[-1].title == "How near this machine's limit"
    for exhibit in shown:
        for table in exhibit.tables:
            assert table.rows, table.caption
            assert {len(row) for row in table.rows} == {len(table.head)}, table.caption
        for plot in exhibit.plots:
            label = ElementTree.fromstring(str(plot.svg)).get("aria-label") or ""
            assert len(re.findall(r"\d", label)) >= 2, label


def test_a_series_has_one_colour_in_all_exhibits_of_a_lab(tmp_path: Path) -> None:
    shown = exhibits(tmp_path, 1, 25)
    worn = [
        {mark.name: mark.tone for mark in shown[title].legend} for title in ("Side by side", "Over clients")
    ]
    assert worn[0] == worn[1]
    assert len(set(worn[0].values())) == 4


def test_results_md_has_the_conditions_and_every_table_once(tmp_path: Path) -> None:
    found, labs = samples.write(tmp_path, results(25) | {"finished": None}, TOML, PUBLISHED)
    write(found, labs)
    text = plain((found / "sample.md").read_text())
    assert text.startswith("# Results: A lab (SAMPLE)\n\nWritten by `make lab LAB=sample PUBLISH=1`")
    assert (
        "\nMeasured 21 November 2026, 10:20 UTC, full mode, 3 repetitions, on SAMPLE, not a real machine, "
        in text
    )
    assert text.count("\n## requests/s (times slow)\n") == 1
    assert "| big · 25 clients | 250 | 750 (3.00x) | rejected |\n" in text
    assert "\n## The article beside this machine\n" in text
    assert r"| small · slow · 25 clients | 200 | 250 | \<1 | 60 |" in text
    assert "| big · lost · 25 clients | 3 requests failed |\n" in text
    assert text.endswith("\n- Half measured, still to come: repetitions.\n")
    page = (found / "report.html").read_text()
    assert write(found, labs).read_text() == page, "the same results make the same page"


def test_a_lab_that_declares_no_exhibit_still_shows_its_figures(tmp_path: Path) -> None:
    cells = [samples.cell({"listeners": 100}, {"joins_per_second": 321.0})]
    found, labs = samples.write(tmp_path, samples.run(cells, primary="joins_per_second"))
    assert "321" in write(found, labs).read_text()
    assert "| listeners 100 | 321 |" in (found / "sample.md").read_text()
