"""The shape Compare against a fake site: every topology is measured separately."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from comparison.compare import Compare
from comparison.measurement import Measurement
from comparison.recorder import recorder
from comparison.shape import Series
from loadtest.tests.fake_site import STAGE_PAGE, FakeSite
from loadtest.tests.locust_library import WebUI, create, until
from locustfile import Arrivals, Crawler, Reader
from results.report import conclude
from tests.support.origin import Origin, Request, response
from users.arrivals import DIFFERENCE


class Sites(FakeSite):
    """The fake site as three topologies: `classic` is slow, `nginx` has no cache."""

    def _respond(self, request: Request) -> bytes:
        host = request.headers["host"]
        self.latency = 0.5 if host == "classic.localhost" else 0.0
        self.miss = self.hit = "nginx; fwd=bypass" if host == "nginx.localhost" else "varnish; hit; ttl=9"
        return super()._respond(request)


@pytest.fixture
def ui(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebUI]:
    """Yield the web UI, for short measurements."""
    monkeypatch.setenv("BIND_ADDR", "127.0.0.1")
    site, direct = Sites(), Origin("backend of 2011")  # no proxy in front, and so no Cache-Status
    page = {"/stages/demo": STAGE_PAGE}
    direct.respond = lambda request: response(page.get(request.target, request.target))
    ui = WebUI(site, f"--direct-port={direct.port}")
    yield ui
    ui.runner.quit()
    site.close()
    direct.close()


def compare(ui: WebUI, topologies: str, **form: Any) -> None:
    fields = {"shape_class": "Compare", "seconds": "1", "spawn_rate": "100", "warm_up": "0.2", **form}
    assert ui.start(topologies=topologies, **fields)["success"] is True


def measured() -> dict[str, Measurement]:
    return {one.name: one for one in recorder.measurements}


@pytest.mark.long
def test_topologies_are_measured_one_by_one(ui: WebUI, monkeypatch: pytest.MonkeyPatch) -> None:
    users: list[int] = []  # at the start of each measurement, and after they have left
    wait = Series._wait

    def watched(series: Series, wanted: int, within: float) -> None:
        wait(series, wanted, within)
        assert series.runner
        users.append(series.runner.user_count)

    monkeypatch.setattr(Series, "_wait", watched)
    # `classic` needs half a second for a response.
    compare(ui, "classic,nginx,default,direct", seconds="2", warm_up="1")
    until(ui.is_over, within=60)
    # The users leave after each topology and come again for the next one.
    assert users == [4, 0, 4, 0, 4, 0, 4]
    assert list(measured()) == ["classic", "nginx", "default", "direct"]
    figures: dict[str, dict[str, Any]] = {name: one.figures() for name, one in measured().items()}
    # The slow samples of `classic` are in its own row, and in no other.
    slow, *others = (figure["p50_ms"] for figure in figures.values())
    assert slow >= 500
    assert slow > max(others)
    # Misses are counted and fail nothing; a topology without Cache-Status has no cache.
    assert [figure["failures"] for figure in figures.values()] == [0, 0, 0, 0]
    assert figures["nginx"]["hit_ratio"] == figures["direct"]["hit_ratio"] == 0
    assert figures["default"]["hit_ratio"] > 0.9
    assert {(tier, outcome) for _, tier, outcome in measured()["direct"].run.caches} == {
        ("client", "none"),
        ("backend", "none"),
        ("status", "200"),
    }
    assert all(one.warm_up > 0 for one in recorder.measurements)
    assert recorder.answered
    # Locust's own tables keep the last topology.
    assert ui.stats()["stats"][-1]["num_requests"] > 0
    # The next run is judged again, on the topology of the form.
    assert (ui.options.topology, ui.options.misses) == ("upstage.localhost", "fail")


def test_the_tab_shows_finished_measurements_and_the_one_under_way(ui: WebUI) -> None:
    assert {"title": "Compare", "key": "compare"} in ui.arguments()["extended_tabs"]
    assert ui.table("compare") == []
    compare(ui, "default,nginx")
    until(lambda: len(ui.table("compare")) == 1)
    assert ui.table("compare")[0]["verdict"].startswith("measuring")
    until(lambda: len(ui.table("compare")) == 2, within=60)
    first, second = ui.table("compare")
    assert (first["topology"], second["topology"]) == ("default", "nginx")
    assert not first["verdict"].startswith("measuring")
    assert "default" in ui.get("/compare/picture").get_json()["svg"]
    until(ui.is_over, within=60)
    assert len(ui.get("/compare/csv").get_data(as_text=True).splitlines()) == 3
    assert [one["topology"] for one in ui.get("/compare/json").get_json()] == ["default", "nginx"]
    assert ui.verdict().keys() >= {"default, 4 users", "nginx, 4 users"}
    report = ui.get("/stats/report").get_data(as_text=True)
    assert report.index("<svg") < report.index("Verdict and caches") < report.index('<div id="root">')
    # The next run starts with an empty table.
    assert ui.start()["success"] is True
    until(lambda: not ui.table("compare"))


def test_a_stopped_comparison_keeps_and_writes_what_it_has_measured(
    ui: WebUI, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compare(ui, "default,nginx,classic", seconds="9")
    until(lambda: bool(ui.table("compare")) and recorder.lasted >= 1)
    ui.stop()
    until(ui.is_over)
    (partial,) = recorder.measurements
    assert 1 <= partial.seconds < 9
    assert partial.run.rows
    assert [row["topology"] for row in ui.table("compare")] == ["default"]  # and nothing follows
    # Locust writes these files when it quits after such a run without the web UI.
    ui.options.headless = True
    monkeypatch.setenv("LOADTEST_REPORTS", str(tmp_path))
    conclude(ui.environment)
    assert ui.environment.process_exit_code == 1, "it was stopped"
    (measurement,) = json.loads((tmp_path / "report.json").read_text())["measurements"]
    assert measurement["topology"] == "default"
    assert [line["topology"] for line in csv.DictReader((tmp_path / "compare.csv").open())] == ["default"]
    assert "default" in (tmp_path / "compare.svg").read_text()
    assert "<h1>Compare</h1>" in (tmp_path / "report.html").read_text()


def test_a_topology_that_does_not_answer_is_reported_and_ends_nothing(ui: WebUI) -> None:
    ui.options.direct_port = 9
    compare(ui, "direct,default")
    until(ui.is_over, within=60)
    assert measured()["direct"].conclusion.verdict == "FAILED"
    assert measured()["default"].figures()["failures"] == 0
    assert not recorder.answered


def test_with_arrivals_each_topology_is_measured_by_both_models(ui: WebUI) -> None:
    compare(ui, "default,nginx", arrivals="10", user_classes=["Reader", "Arrivals"])
    until(ui.is_over, within=60)
    assert [(one.name, one.load) for one in recorder.measurements] == [
        ("default", "4 users"),
        ("default, arrivals", "10 visits/s"),
        ("nginx", "4 users"),
        ("nginx, arrivals", "10 visits/s"),
    ]
    for one in recorder.measurements:
        assert (one.figures()["visit_p99_ms"] is None) == (not one.arrivals)
        kinds = {row.kind for row in one.run.rows if row.samples}
        assert kinds == ({"GET", "arrival"} if one.arrivals else {"GET"})
    assert recorder.outcome == DIFFERENCE
    assert DIFFERENCE in ui.get("/compare/picture").get_json()["text"]
    report = ui.get("/stats/report").get_data(as_text=True)
    assert "<p>4 users, then 10 visits per second on the stage demo" in report
    assert ui.options.arrivals == 10


def test_visitors_who_wait_are_measured_only_if_there_are_any(site: FakeSite) -> None:
    for classes, models in (((Arrivals, Crawler), [2.0]), ((Arrivals, Crawler, Reader), [0.0, 2.0])):
        shape = Compare()
        environment = create(site, *classes, arguments=("--arrivals=2", "--crawl=3"))
        shape.runner = SimpleNamespace(environment=environment)  # type: ignore[assignment]
        assert shape.models() == models
