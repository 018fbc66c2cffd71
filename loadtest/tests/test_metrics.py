"""The metrics on Locust's page for Prometheus."""

from pathlib import Path

import pytest
from locust.env import Environment
from prometheus_client.parser import text_string_to_metric_families

from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import WebUI, until
from web_ui import metrics

CLASSROOM = "upstage.localhost:8089"  # the name under which extras/observe reaches Locust


def samples(ui: WebUI) -> dict[tuple[str, ...], float]:
    """Return the values by name and labels, as Prometheus reads them."""
    response = ui.get("/metrics", host=CLASSROOM)
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(response.get_data(as_text=True))
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def test_the_figures_of_a_run(ui: WebUI) -> None:
    assert samples(ui) == {("locust_users",): 0, ("locust_running",): 0}
    ui.start()
    row = ("GET", "/media/*.svg")
    until(lambda: samples(ui).get(("locust_requests_total", *row), 0) >= 4)
    until(lambda: ("locust_response_seconds", *row, "0.95") in samples(ui))
    found = samples(ui)
    assert (found["locust_users",], found["locust_running",]) == (4, 1)
    assert found["locust_failures_total", *row] == 0
    assert 0 < found["locust_response_seconds", *row, "0.95"] < 10
    ui.stop()
    until(lambda: samples(ui)["locust_running",] == 0)


def test_a_run_in_another_process_is_shown_while_it_goes_on(
    ui: WebUI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "LIVE", tmp_path / "live.txt")
    headless = Environment()
    headless.create_local_runner().stats.log_request("GET", "/theirs", 12, 1)
    metrics.publish(headless)
    until(lambda: ("locust_requests_total", "GET", "/theirs") in samples(ui))
    headless.events.quit.fire(exit_code=0)
    assert set(samples(ui)) == {("locust_users",), ("locust_running",)}


def test_any_name_is_a_label_and_their_number_is_bounded(ui: WebUI, monkeypatch: pytest.MonkeyPatch) -> None:
    stats = ui.runner.stats
    name = 'a"b\\c\n{d} 1'
    stats.log_request("GET", name, 12, 1)
    assert samples(ui)["locust_requests_total", "GET", name] == 1
    monkeypatch.setattr(metrics, "MAX_ROWS", 10)
    for number in range(50):
        stats.log_request("GET", f"/{number}", 12, 1)
    assert sum(name == "locust_requests_total" for name, *_ in samples(ui)) == 10


def test_prometheus_needs_no_login_and_opens_nothing_else(
    site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIND_ADDR", "0.0.0.0")
    monkeypatch.setenv("LOCUST_WEB_PASSWORD", "open sesame")
    ui = WebUI(site)
    assert ("locust_users",) in samples(ui)
    assert ui.get("/stats/requests", host=CLASSROOM).status_code == 302
    assert ui.get("/metrics/", host=CLASSROOM).status_code == 404
    for method in ("POST", "PUT", "DELETE"):
        assert ui.client.open("/metrics", method=method).status_code == 405
    assert ui.get("/metrics", host="evil.example").status_code == 421
    assert ui.get("/metrics", host=CLASSROOM, sec_fetch_site="cross-site").status_code == 403
