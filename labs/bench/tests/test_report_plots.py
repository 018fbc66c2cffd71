"""The plots of the report: each mark is where its figure says."""

import re
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from bench.report import charts
from bench.report.tables import Step

SVG = "{http://www.w3.org/2000/svg}"


def painted(svg: Markup, tone: str) -> list[tuple[float, float]]:
    """Left and right end of each area of a colour, from the top."""
    found = []
    for path in ElementTree.fromstring(str(svg)).iter(f"{SVG}path"):
        if f"fill: var(--plot-{tone})" in path.get("style", ""):
            points = [tuple(map(float, each)) for each in re.findall(r"([\d.]+) ([\d.]+)", path.get("d", ""))]
            across = [point[0] for point in points]
            found.append((min(across), max(across)))
    return found


def test_bars_are_as_long_as_their_values() -> None:
    bars = [
        charts.Bar("a", "red", 300.0),
        charts.Bar("b", "blue", 1200.0),
        charts.Bar("$c$ <b>", "green", None, rejected="no & never <b> and $x_1$"),
    ]
    svg = charts.bars("Sample", bars, "milliseconds").svg
    [(start, end)], [(other_start, other_end)] = painted(svg, "red"), painted(svg, "blue")
    assert start == other_start
    assert (other_end - other_start) / (end - start) == pytest.approx(4, rel=1e-3)
    assert painted(svg, "green") == []
    texts = [text.text for text in ElementTree.fromstring(str(svg)).iter(f"{SVG}text")]
    assert "$c$ <b>" in texts
    assert "rejected" in texts
    assert "no &amp; never &lt;b&gt; and $x_1$" in svg


def test_stacks_are_as_long_as_their_parts() -> None:
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


@pytest.mark.parametrize(("middle", "strokes"), [(30.0, 1), (None, 2)])
def test_a_line_has_a_gap_at_a_rejected_cell(middle: float | None, strokes: int) -> None:
    points = [charts.Point(x, y) for x, y in ((1, 10.0), (2, 20.0), (3, middle), (4, 40.0), (5, 50.0))]
    plot = charts.lines("Sample", {"a": charts.Line("red", points)}, "milliseconds", "rate")
    [path] = [
        path.get("d", "")
        for path in ElementTree.fromstring(str(plot.svg)).iter(f"{SVG}path")
        if "stroke: var(--plot-red)" in path.get("style", "") and "fill: none" in path.get("style", "")
    ]
    assert path.count("M") == strokes
    assert ("rejected at 3" in plot.svg) == (middle is None)


def test_a_step_starts_where_the_one_before_ended() -> None:
    steps = [
        Step("first", 100.0, (99, 101)),
        Step("rejected", None),
        Step("gain", 200.0, (199, 201)),
        Step("loss", 150.0, (149, 151)),
        Step("last", 250.0, (249, 251)),
    ]
    svg = charts.steps("Sample", steps, "requests_per_second").svg
    ground, gains, [loss] = painted(svg, "plum"), painted(svg, "green"), painted(svg, "red")
    width = ground[0][1] - ground[0][0]
    assert gains[0] == pytest.approx((ground[0][1], ground[0][0] + 2 * width), abs=0.01)
    assert loss == pytest.approx((ground[0][0] + 1.5 * width, gains[0][1]), abs=0.01)
    assert gains[1] == pytest.approx((loss[0], ground[0][0] + 2.5 * width), abs=0.01)
    assert ground[1] == pytest.approx((ground[0][0], loss[0]), abs=0.01)
