"""What the report makes of results; the results are samples."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from bench import words
from bench.experiment import load
from bench.report import charts, tables, write
from bench.report.chapters import Exhibit, chapter
from bench.report.headlines import figures, limits
from bench.report.limits import Use, use
from bench.report.plot import Plot
from bench.report.reading import Key, read
from bench.report.tables import Step
from bench.tests import samples
from stack import REPO

SVG = "{http://www.w3.org/2000/svg}"


def plain(text: str) -> str:
    """A text with a letter for the multiplication sign, which looks like one."""
    return text.replace(words.TIMES, "x")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9029.4, "9,029"),
        (650, "650"),
        (91.83, "91.8"),
        (1.5, "1.50"),
        (0.412, "0.41"),
        (0.0123, "0.012"),
        (0, "0"),
    ],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("name", "text", "with_unit"),
    [
        ("requests_per_second", "requests/s", "12.0 requests/s"),
        ("milliseconds", "ms", "12.0 ms"),
        ("p99_milliseconds", "p99, ms", "p99 12.0 ms"),
        ("cpu_percent.backend", "CPU of backend, %", "CPU of backend 12.0 %"),
        ("bytes_per_connection", "bytes per connection", "12.0 bytes per connection"),
    ],
)
def test_metrics_have_names_with_units(name: str, text: str, with_unit: str) -> None:
    assert words.metric(name) == text
    assert words.with_unit(name, 12.04) == with_unit


def test_a_key_is_said_in_words() -> None:
    key: Key = {"file": "small", "clients": 1, "keepalive": False, "load": 60, "rate": 30000}
    assert words.key(key) == "small · 1 client · no keep-alive · 60 % load · 30,000/s"
    assert words.key(key, ["file", "rate", "load"]) == "1 client · no keep-alive"


# --- What is read


def test_labs_come_in_the_order_that_they_declare(tmp_path: Path) -> None:
    names = [lab.name for lab in read(*samples.everything(tmp_path))]
    assert names == [
        *("upstage", "opendata", "bakeoff", "static", "ladder", "chat-under-load", "fan-out"),
        "broken",
    ]


def test_an_unreadable_file_is_named_and_hides_no_other_lab(tmp_path: Path) -> None:
    results, labs = samples.everything(tmp_path)
    (labs / "static" / "published.toml").write_text("cell = 3")
    (labs / "ladder" / "lab.toml").write_text("[[exhibits]]\nkind = 'lines'\ntitle = 'x'\nseries = ['step']")
    found = {lab.name: lab for lab in read(results, labs)}
    assert found["broken"].problem == "broken.json holds no results of a run."
    assert "labs/static cannot be read" in found["static"].problem
    assert "lines alone have `over`" in found["ladder"].problem
    assert found["upstage"].cells


# --- How near the limit

CPU = {"requests_per_second": 1000.0, "cpu_percent.nginx": 100.0, "system_cpu_percent": 90.0}


def used(folder: Path, figures: dict[str, float], cores: int = 2) -> Use | None:
    """The use of a cell with these figures."""
    results = samples.run([samples.cell({"way": "x"}, figures)], machine=samples.MACHINE | {"cores": cores})
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


def test_the_cpu_of_a_request_is_that_of_each_service_and_of_everything_else(tmp_path: Path) -> None:
    # At 1,000/s a per cent of a core is 10 µs a request. Four cores at 40 % are 160 %; 100 of them are
    # nginx's.
    found = used(tmp_path, CPU | {"system_cpu_percent": 40, "generator_cpu_percent": 10}, cores=4)
    assert found
    assert dict(found.services or {}) == pytest.approx({"nginx": 1000})
    assert [found.rest, found.total, found.limit] == pytest.approx([600, 1600, 2500])
    assert found.full == "all 4 cores"


@pytest.mark.parametrize("missing", ["cpu_percent.nginx", "system_cpu_percent", "generator_cpu_percent"])
def test_a_resource_that_was_not_measured_gives_no_limit(tmp_path: Path, missing: str) -> None:
    figures = {**CPU, "generator_cpu_percent": 10}
    assert used(tmp_path / "all", figures)
    del figures[missing]
    assert used(tmp_path / "less", figures) is None


# --- Headlines and exhibits, declared in a lab.toml

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


# --- results.md and the page


def test_results_md_has_the_conditions_and_every_table_once(tmp_path: Path) -> None:
    found, labs = samples.write(tmp_path, results(25) | {"finished": None}, TOML, PUBLISHED)
    write(found, labs)
    text = plain((labs / "sample" / "results.md").read_text())
    assert text.startswith("# Results: A lab (SAMPLE)\n\nWritten by `make lab LAB=sample`")
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
    assert "| listeners 100 | 321 |" in (labs / "sample" / "results.md").read_text()


def test_the_page_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Drawing is slow, and the text is all that counts here.
    monkeypatch.setattr(charts, "draw", lambda caption, label, height, paint: Plot(caption, Markup()))
    found, labs = samples.everything(tmp_path)
    (labs / "bakeoff" / "results.md").write_text("of another day")
    page = write(found, labs)
    assert page == found / "report.html"
    text = page.read_text()
    for part in (
        "Not measured yet: <code>make lab LAB=bakeoff</code>",
        "Half measured, still to come: 1 of 8 cells.",
        "broken.json holds no results of a run.",
        "37 of 2000 requests failed &lt;script&gt;",
        "Figures in <b>quick</b> mode",
    ):
        assert part in text
    assert "<script" not in text
    assert (labs / "bakeoff" / "results.md").read_text() == "of another day", "no results, no change"


def test_a_page_without_any_results(tmp_path: Path) -> None:
    assert "Nothing has been measured yet" in write(tmp_path / "results", tmp_path / "labs").read_text()


def test_the_page_says_when_labs_do_not_compare(tmp_path: Path) -> None:
    samples.write(tmp_path, samples.real("upstage"))
    other = samples.real("ladder", machine=samples.MACHINE | {"cores": 64})
    text = write(*samples.write(tmp_path, other)).read_text()
    assert "These are different machines" in text
    assert "64 cores" in text
