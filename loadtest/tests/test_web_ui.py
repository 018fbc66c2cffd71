"""The fields, tabs and login that we add to Locust's web UI; Locust runs in this process."""

import json
import re
from pathlib import Path
from urllib.parse import urljoin

import gevent
import pytest
from gevent.event import Event

from loadtest.tests.fake_site import METRICS, FakeSite
from loadtest.tests.locust_library import WebUI, template_arguments, until
from locustfile import SHAPES
from tests.support.origin import response
from verdict import baseline
from verdict.judge import FAILED, NOT_IN_RUN, NOT_MEASURED, OK
from web_ui import tabs


def test_the_form_offers_classes_shapes_and_fields(
    site: FakeSite, ui: WebUI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADTEST_PASSWORD", "open sesame")
    monkeypatch.setenv("LOADTEST_MIN_HITS", "0.7")
    shown = ui.arguments()
    assert shown["host"] == site.url
    weights = {name: (user["weight"], user["fixed_count"]) for name, user in shown["users"].items()}
    several = {"Audience": 10, "WebAudience": 5, "FlashClient": 2, "Reader": 2, "SlowReader": 1}
    several |= {"Pages": 1, "Arrivals": 1, "Crawler": 1}
    assert weights == {"Player": (1, 1), **{name: (weight, 0) for name, weight in several.items()}}
    assert shown["available_shape_classes"] == ["Default", *sorted(shape.__name__ for shape in SHAPES)]
    fields = shown["extra_options"]
    assert fields["topology"]["choices"][0] == "upstage.localhost"
    # The stage is `load`, so that a run leaves no trace on the demo stage.
    offered = {"topology": "upstage.localhost", "stage": "load", "min_hits": 0.7}
    offered |= {"crawl": 0.0, "crawl_addresses": 1000, "robots": "ignore"}
    assert {name: fields[name]["default_value"] for name in offered} == offered
    assert fields["password"]["is_secret"] is True
    assert "open sesame" not in str(shown)
    assert (shown["num_users"], shown["spawn_rate"]) == (20, 4)
    # Locust's page would disable the number of users for a shape that does not read it.
    assert shown["shape_use_common_options"] is True


@pytest.mark.parametrize("state", ["ready", "spawning", "running", "cleanup", "stopping", "stopped"])
def test_the_page_polls_until_the_run_is_over(ui: WebUI, state: str) -> None:
    assert ui.environment.web_ui
    tabs.add(ui.environment.web_ui, "Tab", [], lambda: [{"name": "row"}])
    ui.runner.state = state
    stats = ui.stats()
    # At these two states the page would stop polling, and never show the end of the run.
    assert stats["state"] == ("running" if state in ("cleanup", "stopping") else state)
    tables = ["tab", "compare", "baseline", "verdict", "caches"]
    assert [table["key"] for table in stats["extended_stats"]] == tables
    assert ui.table("tab") == [{"name": "row"}]


def test_the_page_polls_until_the_last_figures_are_there(ui: WebUI) -> None:
    assert ui.environment.web_ui
    tabs.add(ui.environment.web_ui, "Late", [], list, lambda: False)
    assert ui.stats()["state"] == "running"


def test_the_tab_caches_fills_and_can_be_downloaded(site: FakeSite, ui: WebUI) -> None:
    site.instead["/.nginx/backend"] = response(METRICS)
    shown = ui.arguments()
    assert {"title": "Caches", "key": "caches"} in shown["extended_tabs"]
    (columns,) = (table["structure"] for table in shown["extended_tables"] if table["key"] == "caches")
    assert ui.caches()["(all)"]["answers"] == 0
    assert ui.caches()["(backend now)"]["backend"] == "no figures: no run yet"

    assert ui.start()["success"] is True
    until(lambda: ui.caches().get("/media/*.svg", {}).get("answers", 0) >= 4)
    row = ui.caches()["/media/*.svg"]
    assert {column["key"] for column in columns} == set(row)
    assert "hit" in row["varnish"]
    until(lambda: ui.caches()["(backend now)"]["backend"] == "0 requests/s, CPU 0%, 3 clients")
    # Requests that only the backend reports have a row, too.
    websockets = b'upstage_http_request_seconds_count{path="websocket"} 7\n'
    site.instead["/.nginx/backend"] = response(METRICS + websockets)
    until(lambda: ui.caches().get("/ws", {}).get("backend") == "websocket\u00a07")
    (download,) = (file for file in shown["extended_csv_files"] if "caches" in file["href"])
    file = ui.get(download["href"].removeprefix("."))
    assert "attachment" in file.headers["Content-Disposition"]
    assert "\n/media/*.svg,varnish," in file.get_data(as_text=True)


def test_the_tab_verdict_uses_the_numbers_of_the_form(site: FakeSite, ui: WebUI) -> None:
    assert {"title": "Verdict", "key": "verdict"} in ui.arguments()["extended_tabs"]
    # Before a run there are no measurements; that is not a failure.
    assert ui.verdict()["the run"][0] == NOT_MEASURED

    ui.start(max_media_ms="9000")
    until(lambda: ui.verdict()["p95 of GET /media/*"] == (OK, "at most 9000 ms", ""))
    assert ui.verdict()["p95 of * heard"] == (NOT_IN_RUN, "at most 500 ms", "")
    ui.stop()
    # The next run is judged by its own form.
    del site.pages["/media/castle.svg"]
    ui.start(max_errors="0.999", min_hits="0.95")
    until(lambda: ui.verdict()["hits of /media/*"][:2] == (FAILED, "at least 95%"))
    assert ui.verdict()["errors of *"][:2] == (OK, "at most 99.90%")
    assert ui.verdict()["the run"][0] == FAILED


def test_the_tab_baseline_compares_the_run_so_far(
    site: FakeSite, ui: WebUI, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(baseline, "RUNS", tmp_path)
    row = {"method": "GET", "name": "/media/*.svg", "num_requests": 99, "num_failures": 0}
    kept = {"rows": [row | {"median_response_time": 9000, "response_time_percentile_0.95": 9000}]}
    (tmp_path / "before").mkdir()
    for name in ("options", *range(1, baseline.ROUNDS + 1)):
        (tmp_path / "before" / f"{name}.json").write_text(json.dumps(kept))
    assert "No baseline is chosen" in ui.table("baseline")[0]["row"]
    for name, said in (("after", "no run 'after'.*the kept ones: before"), ("../x", "letters, digits")):
        assert re.search(said, ui.start(baseline=name)["message"])
    assert ui.start(baseline="before")["success"] is True
    assert "No row has 20 samples" in ui.table("baseline")[0]["row"]
    until(lambda: len(ui.table("baseline")) > 1)
    verdicts = {each["measure"]: each["verdict"] for each in ui.table("baseline")}
    assert verdicts == {"p50, ms": "better", "p95, ms": "better", "failed, %": "within the spread"}


def test_below_a_path_everything_that_the_page_names_is_there(
    site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIND_ADDR", "127.0.0.1")
    ui = WebUI(site, "--web-base-path=/load/")
    moved = ui.get("/load", sec_fetch_site="cross-site")  # a link of another site
    assert (moved.status_code, moved.headers["Location"].removeprefix("http://localhost")) == (308, "/load/")
    page = ui.get("/load/").get_data(as_text=True)
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    named += [file["href"] for file in template_arguments(page)["extended_csv_files"]]
    assert len(named) > 5
    named += ["./compare/picture", "./metrics", "./stats/requests", "./stats/report", "/metrics"]
    for address in named:
        assert ui.get(urljoin("/load/", address)).status_code == 200, address


@pytest.fixture
def with_login(site: FakeSite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> WebUI:
    """Return the web UI on a machine that others can reach; its password is in the file `password`."""
    monkeypatch.setenv("BIND_ADDR", "0.0.0.0")
    monkeypatch.setenv("LOCUST_WEB_PASSWORD_FILE", str(tmp_path / "password"))
    monkeypatch.setattr("web_ui.login.PAUSE", 0)
    return WebUI(site)


def test_every_page_but_the_login_requires_it(with_login: WebUI) -> None:
    shown = ("/", "/stats/report", "/stats/requests", "/caches/csv", "/page.js")
    responses = {path: with_login.get(path) for path in shown}
    for path in ("/swarm", "/stop", "/stats/reset", "/user"):
        responses[path] = with_login.post(path, {"user_count": "1", "spawn_rate": "1"})
    assert {path: each.status_code for path, each in responses.items()} == dict.fromkeys(responses, 302)
    assert all(each.headers["Location"].startswith("/login") for each in responses.values())


def test_passwords_are_tried_one_at_a_time(with_login: WebUI, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def pause(_: float) -> None:
        tried.append("begins")
        gevent.sleep(0)
        tried.append("ends")

    monkeypatch.setattr("web_ui.login.sleep", pause)
    form = {"username": "locust", "password": "wrong"}
    gevent.joinall(
        [gevent.spawn(with_login.client.post, "/login", data=form) for _ in range(5)], raise_error=True
    )
    assert tried == ["begins", "ends"] * 5


def test_the_newest_password_waits_least(
    with_login: WebUI, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """When the operator comes, thirty wrong ones wait, but only the one being checked comes first."""
    go = Event()
    monkeypatch.setattr("web_ui.login.sleep", lambda _: go.wait())
    wrong, right = (
        {"username": "locust", "password": password}
        for password in ("wrong", (tmp_path / "password").read_text())
    )
    guesses = [gevent.spawn(with_login.client.post, "/login", data=wrong) for _ in range(30)]
    gevent.sleep(0.1)
    operator = gevent.spawn(with_login.client.post, "/login", data=right)
    gevent.sleep(0.1)
    assert not operator.ready()
    finished: list[object] = []
    for each in (*guesses, operator):
        each.link(finished.append)
    go.set()
    gevent.joinall([*guesses, operator], raise_error=True)
    assert finished.index(operator) <= 1
    assert operator.value
    assert operator.value.headers["Location"] == "/"


def test_the_login_requires_name_and_password(with_login: WebUI, tmp_path: Path) -> None:
    right = (tmp_path / "password").read_text()
    for name, password in (("locust", "wrong"), ("other", right), ("", "")):
        form = {"username": name, "password": password}
        assert with_login.post("/login", form).headers["Location"] == "/login"
        assert "Wrong name or password" in with_login.get("/login").get_data(as_text=True)
    redirect = with_login.post("/login", {"username": "locust", "password": right})
    assert redirect.headers["Location"] == "/"
    assert "SameSite=Strict" in redirect.headers["Set-Cookie"]
    assert with_login.stats()["state"] == "ready"
