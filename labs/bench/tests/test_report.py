"""The report of all labs: which it reads, and what the page says about those that are missing."""

from pathlib import Path

import pytest
from markupsafe import Markup

from bench.report import charts, write
from bench.report.plot import Plot
from bench.report.reading import read
from bench.tests import samples


def test_labs_come_in_the_order_that_they_declare(tmp_path: Path) -> None:
    names = [lab.name for lab in read(*samples.everything(tmp_path))]
    assert names == [
        *("upstage", "opendata", "bakeoff", "static", "ladder", "chat-under-load", "fan-out"),
        *("rivals", "tls", "distance", "stores", "ring"),
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


def test_the_page_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Drawing is slow, and the text is all that counts here.
    monkeypatch.setattr(charts, "draw", lambda caption, label, height, paint: Plot(caption, Markup()))
    found, labs = samples.everything(tmp_path)
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


def test_a_page_without_any_results(tmp_path: Path) -> None:
    assert "Nothing has been measured yet" in write(tmp_path / "results", tmp_path / "labs").read_text()


def test_the_page_says_when_labs_do_not_compare(tmp_path: Path) -> None:
    samples.write(tmp_path, samples.real("upstage"))
    other = samples.real("ladder", machine=samples.MACHINE | {"cores": 64})
    text = write(*samples.write(tmp_path, other)).read_text()
    assert "These are different machines" in text
    assert "64 cores" in text
