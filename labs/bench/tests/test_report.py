"""What the report says about results; the results are samples made by hand."""

import dataclasses
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

import bench_samples
from bench.report import charts, tables, words, write
from bench.report.chapters import chapter
from bench.report.goals import Goal, goals
from bench.report.profile import Profile, profile
from bench.report.reading import Key, Lab, read


def lab(folder: Path, results: dict[str, Any]) -> Lab:
    """A lab as the report reads it."""
    found = read(*bench_samples.write(folder, results))
    assert len(found) == 1
    return found[0]


def goal(labs: list[Lab], what: str) -> Goal:
    """The one goal whose text begins so."""
    found = [goal for goal in goals(labs) if goal.measure.startswith(what)]
    assert len(found) == 1, found
    return found[0]


def plain(text: str) -> str:
    """A text with a letter for the sign of multiplication, which looks like one."""
    return text.replace(words.TIMES, "x")


def cell(results: dict[str, Any], **key: Any) -> dict[str, Any]:
    """The cell of a sample with exactly this key."""
    return next(cell for cell in results["cells"] if cell["key"] == key)


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
def test_numbers_have_three_figures(value: float, text: str) -> None:
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requests_per_second", "requests/s"),
        ("milliseconds", "ms"),
        ("p99_milliseconds", "p99, ms"),
        ("deviation_milliseconds", "deviation, ms"),
        ("cpu_percent.backend", "CPU of backend, %"),
        ("system_cpu_percent", "system CPU, %"),
        ("bytes_per_connection", "bytes per connection"),
    ],
)
def test_metrics_have_names_with_units(name: str, text: str) -> None:
    assert words.metric(name) == text


def test_a_key_is_said_in_words() -> None:
    key: Key = {"file": "small", "clients": 1, "keepalive": False, "rush": 60, "rate": 30000}
    assert words.key(key) == "small · 1 client · no keep-alive · 60 % rush · 30,000/s"
    assert words.key(key, ["file", "rate", "rush"]) == "1 client · no keep-alive"


def test_labs_come_in_the_order_of_the_page(tmp_path: Path) -> None:
    labs = read(*bench_samples.everything(tmp_path))
    assert [lab.name for lab in labs] == [
        "upstage",
        "opendata",
        "bakeoff",
        "static",
        "ladder",
        "show",
        "broken",
    ]


def test_a_file_that_holds_no_run_is_said_to_be_so_and_costs_nobody_else(tmp_path: Path) -> None:
    results, labs = bench_samples.everything(tmp_path)
    (labs / "static" / "published.toml").write_text("cell = 3")
    found = {lab.name: lab for lab in read(results, labs)}
    assert found["broken"].problem == "broken.json holds no results of a run."
    assert "labs/static cannot be read" in found["static"].problem
    assert found["upstage"].cells


def test_published_factors_are_computed_among_the_published_figures(tmp_path: Path) -> None:
    upstage = lab(tmp_path, bench_samples.upstage())
    factors = [upstage.published_factor(entry) for entry in upstage.published]
    assert factors == [None, pytest.approx(2.577, abs=0.001), None, pytest.approx(1.836, abs=0.001)]


@pytest.mark.parametrize(
    ("what", "measured", "verdict"),
    [
        ("default ÷ direct, small file · no keep-alive", "13.7x", "met"),
        ("default ÷ direct, small file · keep-alive", "28.8x", "met"),
        ("default ÷ direct, big file · no keep-alive", "13.7x", "met"),
        ("default ÷ the faster of static and varnish, big file · keep-alive", "0.98x (of static)", "met"),
        ("CPU of the backend", "0.40 %", "met"),
        ("p99 of the chat", "1.30x (direct: 9.00x)", "met"),
        ("opendata page", "131x", "met"),
        (
            "10,000 connections",
            "0 errors; bytes per connection: 1,260 (nginx of the article), 610 (nginx of today); "
            "refused: nginx as shipped",
            "met",
        ),
        ("classic ÷ direct", "1.86 to 3.91", "stated"),
    ],
)
def test_goals_are_computed_from_the_cells(tmp_path: Path, what: str, measured: str, verdict: str) -> None:
    found = goal(read(*bench_samples.everything(tmp_path)), what)
    assert (plain(found.measured), found.verdict) == (measured, verdict)


def test_a_goal_is_not_met_below_its_mark(tmp_path: Path) -> None:
    results = bench_samples.upstage()
    default = cell(results, file="small", keepalive=True, clients=25, way="default")
    default["median"] |= {"requests_per_second": 650 * 11.99, "cpu_percent.backend": 1.0}
    labs = [lab(tmp_path, results)]
    assert goal(labs, "default ÷ direct, small file · keep-alive").verdict == "not met"
    assert (
        goal(labs, "default ÷ the faster of static and varnish, small file · keep-alive").verdict == "not met"
    )
    assert goal(labs, "CPU of the backend").verdict == "not met"
    default["median"]["requests_per_second"] = 650 * 12
    assert goal([lab(tmp_path / "2", results)], "default ÷ direct, small file · keep-alive").verdict == "met"


def test_a_goal_without_its_figure_says_why(tmp_path: Path) -> None:
    results = bench_samples.upstage()
    for place, each in enumerate(results["cells"]):
        if each["key"]["way"] == "default":
            results["cells"][place] = bench_samples.refused(each["key"], "3 requests failed")
    labs = [lab(tmp_path, results)]
    for what in ("default ÷ direct, small file · keep-alive", "CPU of the backend"):
        found = goal(labs, what)
        assert found.verdict == "not measured"
        assert "3 requests failed" in found.measured
    assert goal(labs, "opendata") == goal([], "opendata")
    assert {goal.verdict for goal in goals([])} == {"not measured"}


def test_a_goal_that_was_missed_says_what_this_machine_allows(tmp_path: Path) -> None:
    results = bench_samples.upstage()
    default = cell(results, file="small", keepalive=True, clients=25, way="default")
    # 60 + 0.4 + 57 of the services; with the rest 160 of 200 per cent: 2,000/s would be 2,500/s.
    default["median"] |= {"requests_per_second": 2000.0, "system_cpu_percent": 80.0}
    labs = [lab(tmp_path, results)]
    found = goal(labs, "default ÷ direct, small file · keep-alive")
    assert (plain(found.measured), plain(found.limit)) == ("3.08x", "3.85x, both cores full")
    found = goal(labs, "default ÷ the faster of static and varnish, small file · keep-alive")
    assert (plain(found.measured), plain(found.limit)) == ("0.10x (of static)", "0.13x, both cores full")
    assert goal(labs, "default ÷ direct, big file · keep-alive").limit == ""
    assert "limit here: 3.85" in write(*bench_samples.write(tmp_path / "page", results)).read_text()


def test_a_verdict_of_a_noisy_or_unfinished_run_says_so(tmp_path: Path) -> None:
    what = "default ÷ direct, small file · keep-alive"
    results = bench_samples.upstage()
    assert goal([lab(tmp_path / "calm", results)], what).doubt == ""
    direct = cell(results, file="small", keepalive=True, clients=25, way="direct")
    # 26 of 100 apart.
    direct["samples"] = [{"requests_per_second": value} for value in (90.0, 100.0, 116.0)]
    noisy = [lab(tmp_path / "noisy", results)]
    assert (goal(noisy, what).verdict, goal(noisy, what).doubt) == ("met", "may be noise")
    assert goal(noisy, "default ÷ direct, big file · keep-alive").doubt == ""
    assert goal(noisy, "classic ÷ direct").doubt == "may be noise"
    half = [lab(tmp_path / "half", results | {"finished": None})]
    assert goal(half, what).doubt == "half measured, may be noise"
    assert "may be noise</small>" in write(*bench_samples.write(tmp_path / "page", results)).read_text()


def measured(folder: Path, figures: dict[str, float]) -> Profile | None:
    """The profile of a cell with these figures, on two cores."""
    results = bench_samples.run(
        "upstage", "U", [bench_samples.cell({"way": "x"}, figures)], primary="requests_per_second"
    )
    found = lab(folder, results)
    return profile(found, found.cells[0])


def test_a_profile_is_what_a_request_costs_each_service(tmp_path: Path) -> None:
    # At 1,000/s a per cent of a core is 10 microseconds a request. Two cores at 90 % are 180; 140 are theirs.
    figures = {"requests_per_second": 1000.0, "cpu_percent.nginx": 100.0, "cpu_percent.varnish": 40.0}
    found = measured(tmp_path, {**figures, "system_cpu_percent": 90.0})
    assert found
    assert found.services == {"nginx": pytest.approx(1000), "varnish": pytest.approx(400)}
    assert found.rest == pytest.approx(400)
    assert found.total == pytest.approx(1800)
    assert found.measured == 1000
    assert found.limit == pytest.approx(2 / 1800e-6)
    assert found.why == "both cores"


@pytest.mark.parametrize(
    ("figures", "limit", "why"),
    [
        # The service is more than ab itself, which is what has one thread.
        (
            {"cpu_percent.generator": 90, "generator_cpu_percent": 80, "system_cpu_percent": 50},
            1250,
            "generator",
        ),
        ({"cpu_percent.backend": 80, "generator_cpu_percent": 50, "system_cpu_percent": 60}, 1250, "UpStage"),
        # 50 of UpStage, 50 of the generator, 100 of others: everything is busy.
        (
            {"cpu_percent.backend": 50, "generator_cpu_percent": 50, "system_cpu_percent": 100},
            1000,
            "both cores",
        ),
        # The services say 160, the machine 150: the services are believed.
        ({"cpu_percent.nginx": 160, "system_cpu_percent": 75}, 1250, "both cores"),
        # What was measured was possible, whatever the clocks say.
        (
            {"cpu_percent.nginx": 50, "generator_cpu_percent": 101, "system_cpu_percent": 80},
            1000,
            "generator",
        ),
    ],
)
def test_the_limit_is_where_the_first_core_is_full(
    tmp_path: Path, figures: dict[str, float], limit: float, why: str
) -> None:
    found = measured(tmp_path, {"requests_per_second": 1000, **figures})
    assert found
    assert found.limit == pytest.approx(limit)
    assert why in found.why
    assert found.rest >= 0


def test_more_cores_have_more_to_give(tmp_path: Path) -> None:
    figures = {"requests_per_second": 1000.0, "cpu_percent.nginx": 100.0, "system_cpu_percent": 40.0}
    results = bench_samples.run(
        "upstage", "U", [bench_samples.cell({"way": "x"}, figures)], primary="requests_per_second",
        machine=bench_samples.MACHINE | {"cores": 4},
    )  # fmt: skip
    four = lab(tmp_path, results)
    found = profile(four, four.cells[0])
    assert found
    assert (found.rest, found.why) == (600, "all 4 cores")
    assert found.limit == pytest.approx(2500)


@pytest.mark.parametrize("missing", ["requests_per_second", "cpu_percent.nginx", "system_cpu_percent"])
def test_without_its_figures_there_is_no_profile(tmp_path: Path, missing: str) -> None:
    figures = {"requests_per_second": 1000.0, "cpu_percent.nginx": 50.0, "system_cpu_percent": 80.0}
    assert measured(tmp_path / "all", figures)
    assert measured(tmp_path / "less", {k: v for k, v in figures.items() if k != missing}) is None


def test_the_profile_of_upstage_shows_the_most_clients(tmp_path: Path) -> None:
    exhibits = {
        exhibit.title: exhibit for exhibit in chapter(lab(tmp_path, bench_samples.upstage())).exhibits
    }
    shown = exhibits["Where the time goes"]
    captions = [
        f"{file} · {alive} · 25 clients"
        for file in ("small", "big")
        for alive in ("no keep-alive", "keep-alive")
    ]
    assert [plot.caption for plot in shown.plots] == captions
    assert [table.caption for table in shown.tables] == [
        f"CPU for a request, µs: {each}" for each in captions
    ]
    # At 650/s a per cent is 15.4 microseconds. 82 of UpStage, 60 of nginx, 57 of the generator: over 182.
    assert shown.tables[0].rows[0] == [
        "direct", "1,262", "923", "877", "0", "3,062", "650", "653", "both cores",
    ]  # fmt: skip
    assert shown.in_readme
    # The one that was refused has no bar.
    assert [len(table.rows) for table in shown.tables] == [6, 6, 6, 5]


def test_the_ladder_has_a_profile_of_each_step(tmp_path: Path) -> None:
    steps, shown = chapter(lab(tmp_path, bench_samples.ladder())).exhibits
    assert shown.title == "Where the time goes"
    assert [row[0] for row in shown.tables[0].rows] == [
        row[0] for row in steps.tables[0].rows if row[1] != tables.REFUSED
    ]


def test_a_stack_is_as_long_as_its_parts() -> None:
    stacks = [
        charts.Stack("a", {"x": (100, "red"), "y": (50, "blue")}, 50),
        charts.Stack("b", {"x": (200, "red")}, 0),
    ]
    svg = charts.stacks("Sample", stacks, "µs").svg
    first, second = painted(svg, "red")
    [(start, end)] = painted(svg, "blue")
    assert first[0] == second[0]
    assert second[1] - second[0] == pytest.approx(2 * (first[1] - first[0]), rel=1e-3)
    assert start == pytest.approx(first[1], abs=0.01)
    assert end - start == pytest.approx((first[1] - first[0]) / 2, rel=1e-3)
    assert "a 200, of which x 100, y 50, everything else 50; b 200" in svg


def test_the_cost_is_shown_after_a_full_run(tmp_path: Path) -> None:
    results = bench_samples.static()
    *_, shown = chapter(lab(tmp_path / "full", results)).exhibits
    assert shown.title == "What a user costs"
    assert shown.in_readme
    [table] = shown.tables
    # The first could hold no connection that was tried.
    assert table.rows == [
        ["nginx as shipped", *[words.NOTHING] * 6],
        ["nginx of the article", "10,000", "1,260", "50,000", "its rate", "1", "0.0010"],
        ["nginx of today", "at least 12,000", "610", "60,000", "its rate", "1", "0.0010"],
        ["Apache event", "4,000", "21,500", "20,000", "its rate", "1", "0.0010"],
    ]
    for name, less in (("quick", results | {"mode": "quick"}), ("half", results | {"finished": None})):
        titles = [exhibit.title for exhibit in chapter(lab(tmp_path / name, less)).exhibits]
        assert titles == ["Under a rising rate", "With a full house"]
    found = lab(tmp_path / "alone", results)
    assert len(chapter(dataclasses.replace(found, assumptions={})).exhibits) == 2


def test_a_sweep_shows_its_errors(tmp_path: Path) -> None:
    sweep, *_ = chapter(lab(tmp_path, bench_samples.static())).exhibits
    [plot] = [plot for plot in sweep.plots if plot.caption.startswith("Errors")]
    # 6,000/s for five seconds of which 3,920/s are answered.
    assert "Apache event 0 at 1,000, 0 at 2,000, 400 at 4,000, 10,400 at 6,000" in plot.svg
    assert [table.caption for table in sweep.tables][-1] == "errors"


def test_connections_that_no_nginx_could_hold_miss_the_goal(tmp_path: Path) -> None:
    results = bench_samples.static()
    results["cells"] = [cell for cell in results["cells"] if cell["problem"]]
    found = goal([lab(tmp_path, results)], "10,000 connections")
    assert found.verdict == "not met"
    assert "9232 of 10000 connections refused" in found.measured


def test_a_step_within_the_spread_may_be_noise() -> None:
    before = charts.Step("before", 100, (95, 105))
    assert charts.direction(before, charts.Step("gain", 112, (106, 118))) == 1
    assert charts.direction(before, charts.Step("noise", 112, (104, 118))) == 0
    assert charts.direction(before, charts.Step("loss", 90, (86, 94))) == -1
    assert charts.gain(before, charts.Step("loss", 90)) == f"{words.MINUS}10 %"


def painted(svg: Markup, tone: str) -> list[tuple[float, float]]:
    """Left and right end of each area of a tone, from the top."""
    found = []
    for path in ElementTree.fromstring(str(svg)).iter("{http://www.w3.org/2000/svg}path"):
        if f"fill: var(--plot-{tone})" in path.get("style", ""):
            points = [
                tuple(map(float, point)) for point in re.findall(r"([\d.]+) ([\d.]+)", path.get("d", ""))
            ]
            across = [point[0] for point in points]
            found.append((min(across), max(across)))
    return found


def test_bars_are_as_long_as_their_values() -> None:
    bars = [charts.Bar("a", "red", 300.0), charts.Bar("b", "blue", 1200.0), charts.Bar("c", "green", None)]
    plot = charts.bars(
        "Sample", [*bars[:2], dataclasses.replace(bars[2], refused="no answer")], "milliseconds"
    )
    [(start, end)], [(other_start, other_end)] = painted(plot.svg, "red"), painted(plot.svg, "blue")
    assert start == other_start
    assert (other_end - other_start) / (end - start) == pytest.approx(4, rel=1e-3)
    assert painted(plot.svg, "green") == []
    assert "refused: no answer" in plot.svg


def test_a_reason_may_hold_anything(tmp_path: Path) -> None:
    results = bench_samples.opendata()
    key = results["cells"][0]["key"] | {"page": "$a$ & <b>"}
    results["cells"].append(bench_samples.refused(key, "\x1b[31mno & never <b>\nand $x_1$\x00"))
    [*_, plot] = chapter(lab(tmp_path, results)).exhibits[0].plots
    texts = [
        text.text for text in ElementTree.fromstring(str(plot.svg)).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert plot.caption.startswith("$a$ & <b>")
    assert "refused: [31mno & never <b> and $…" in texts


def test_a_line_has_a_gap_where_a_cell_was_refused() -> None:
    def strokes(middle: float | None) -> int:
        points = [charts.Point(x, y) for x, y in ((1, 10.0), (2, 20.0), (3, middle), (4, 40.0), (5, 50.0))]
        plot = charts.lines("Sample", {"a": points}, {"a": "red"}, "milliseconds", charts.Lines("rate"), {})
        [path] = [
            path.get("d", "")
            for path in ElementTree.fromstring(str(plot.svg)).iter("{http://www.w3.org/2000/svg}path")
            if "stroke: var(--plot-red)" in path.get("style", "") and "fill: none" in path.get("style", "")
        ]
        assert ("refused at 3" in plot.svg) == (middle is None)
        return path.count("M")

    assert strokes(30) == 1
    assert strokes(None) == 2


def test_a_waterfall_goes_on_where_it_was_and_steps_over_what_was_refused() -> None:
    steps = [
        charts.Step("first", 100.0, (99, 101)),
        charts.Step("refused", None),
        charts.Step("gain", 200.0, (199, 201)),
        charts.Step("loss", 150.0, (149, 151)),
        charts.Step("last", 250.0, (249, 251)),
    ]
    svg = charts.waterfall("Sample", steps, "requests_per_second").svg
    ground, gains, [loss] = painted(svg, "plum"), painted(svg, "green"), painted(svg, "red")
    width = ground[0][1] - ground[0][0]
    assert gains[0] == pytest.approx((ground[0][1], ground[0][0] + 2 * width), abs=0.01)
    assert loss == pytest.approx((ground[0][0] + 1.5 * width, gains[0][1]), abs=0.01)
    assert gains[1] == pytest.approx((loss[0], ground[0][0] + 2.5 * width), abs=0.01)
    assert ground[1] == pytest.approx((ground[0][0], loss[0]), abs=0.01)


def test_a_server_wears_one_colour_in_all_exhibits(tmp_path: Path) -> None:
    results = bench_samples.static()
    held = [cell for cell in results["cells"] if "connections" in cell["key"]]
    results["cells"] = results["cells"][: -len(held)] + held[::-1]
    exhibits = chapter(lab(tmp_path, results)).exhibits
    assert len(exhibits) == 3
    worn = {(mark.name, mark.tone) for exhibit in exhibits for mark in exhibit.legend}
    assert len(worn) == 4
    assert len({tone for _, tone in worn}) == 4


def test_every_plot_says_its_figures_in_words_and_has_a_table_behind_it(tmp_path: Path) -> None:
    for each in map(chapter, read(*bench_samples.everything(tmp_path))):
        for exhibit in each.exhibits:
            assert all(table.rows for table in exhibit.tables)
            assert exhibit.tables
            for plot in exhibit.plots:
                label = ElementTree.fromstring(str(plot.svg)).get("aria-label") or ""
                assert len(re.findall(r"\d", label)) >= 2, label


def test_every_table_has_a_text_for_every_column(tmp_path: Path) -> None:
    for each in map(chapter, read(*bench_samples.everything(tmp_path))):
        shown = [table for exhibit in each.exhibits for table in exhibit.tables]
        for table in [*shown, *filter(None, (each.published, each.everything))]:
            assert {len(row) for row in table.rows} == {len(table.head)}, table.caption


def test_the_article_stands_beside_what_was_measured(tmp_path: Path) -> None:
    table = tables.published(lab(tmp_path, bench_samples.upstage()))
    assert table
    assert table.head[1:] == [
        "requests/s: article", "here", "CPU of backend, %: article", "here", "factor: article", "here",
    ]  # fmt: skip
    assert [*map(plain, table.rows[1][1:])] == ["1,619", "1,210", "<1", "0.70", "2.58x", "1.86x"]


def test_readme_is_changed_between_the_markers_only_and_once(tmp_path: Path) -> None:
    results, labs = bench_samples.everything(tmp_path)
    write(results, labs)
    readme = labs / "upstage" / "README.md"
    text = readme.read_text()
    assert text.startswith(
        "# A lab\n\nBefore.\n\n<!-- results -->\nMeasured 21 November 2026, 10:29 UTC, full mode"
    )
    assert text.endswith("\n<!-- /results -->\n\nAfter.\n")
    assert "old figures" not in text
    assert "| small · keep-alive · 25 clients | 650 | 2,541 (3.91x) | 18,690 (28.8x) |" in plain(text)
    assert r"\<script\>alert('no')\</script\>" in text
    write(results, labs)
    assert readme.read_text() == text
    assert "- Half measured, still to come: 1 of 8 cells.\n" in (labs / "show" / "README.md").read_text()


def test_readme_without_markers_or_without_results_is_left_alone(tmp_path: Path) -> None:
    results, labs = bench_samples.everything(tmp_path)
    (labs / "show" / "README.md").write_text("# No markers\n")
    (labs / "bakeoff" / "README.md").write_text(bench_samples.README)
    write(results, labs)
    assert (labs / "show" / "README.md").read_text() == "# No markers\n"
    assert (labs / "bakeoff" / "README.md").read_text() == bench_samples.README


def test_page_tells_what_is_missing(tmp_path: Path) -> None:
    results, labs = bench_samples.everything(tmp_path)
    page = write(results, labs)
    assert page == results / "report.html"
    text = page.read_text()
    assert "Not measured yet: <code>make lab LAB=bakeoff</code>" in text
    assert "Half measured, still to come: 1 of 8 cells." in text
    assert "broken.json holds no results of a run." in text
    assert "37 of 2000 requests failed &lt;script&gt;" in text
    assert "<script" not in text
    assert "Figures in <b>quick</b> mode" in text


def test_page_of_nothing(tmp_path: Path) -> None:
    text = write(tmp_path / "results", tmp_path / "labs").read_text()
    assert "Nothing has been measured yet" in text
    assert "0 met, 0 not met" in text


def test_page_says_when_labs_do_not_compare(tmp_path: Path) -> None:
    other = bench_samples.opendata() | {"machine": bench_samples.MACHINE | {"cores": 64}}
    text = write(*bench_samples.write(tmp_path, bench_samples.upstage(), other)).read_text()
    assert "These are different machines" in text
    assert "64 cores" in text


def test_same_results_make_the_same_page(tmp_path: Path) -> None:
    results, labs = bench_samples.everything(tmp_path)
    assert write(results, labs).read_bytes() == write(results, labs).read_bytes()


def test_an_unknown_lab_without_baseline_still_has_its_figures(tmp_path: Path) -> None:
    cells = [bench_samples.cell({"members": 100}, {"joins_per_second": 321.0})]
    results, labs = bench_samples.write(
        tmp_path, bench_samples.run("stage", "The stage", cells, primary="joins_per_second")
    )
    assert "321" in write(results, labs).read_text()
    assert "| members 100 | 321 |" in (labs / "stage" / "README.md").read_text()
