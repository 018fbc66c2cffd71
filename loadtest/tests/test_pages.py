"""Users of a foreign site: they walk its paths with its cookies; without paths they take no part."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import topologies
from caches import counters
from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import parse, run
from locustfile import Pages
from tests.support.origin import Origin, Request, response
from users import pages


def respond(request: Request) -> bytes:
    status = {"/gone": "404 Not Found", "/moved": "301 Moved"}.get(request.target, "200 OK")
    fields = {"location": "/elsewhere"} if request.target == "/moved" else {}
    return response("text", status, set_cookie="who=me", cache_status="varnish; hit", **fields)


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Origin]:
    """Yield a site that gives each visitor a cookie; `/gone` is a 404, `/moved` redirects."""
    monkeypatch.setenv("LOADTEST_APP", "*.example shop.example app.localhost")
    monkeypatch.setenv("LOADTEST_HTTP_PORT", "8080")
    monkeypatch.setattr(pages, "_rows", {})
    shop = Origin("shop")
    shop.respond = respond
    yield shop
    shop.close()


def test_they_walk_the_paths_of_the_file_as_visitors_do(site: FakeSite, shop: Origin, tmp_path: Path) -> None:
    file = tmp_path / "paths"
    file.write_text("/a?x=1\n/a?x=2\n/gone\n/moved\n")
    arguments = (f"--paths={file}", "--topology=alone.app", f"--app-port={shop.port}")
    rows = {"/a": 6, "/gone": 3, "/moved": 3}
    result = run(site, Pages, until_rows=rows, users=2, arguments=arguments)
    assert result.failed == {"/gone"}
    assert set(shop.targets) == {"/a?x=1", "/a?x=2", "/gone", "/moved"}
    statuses = {(row, outcome) for row, tier, outcome in counters.counts if tier == "status"}
    assert statuses == {("/a", "200"), ("/gone", "404"), ("/moved", "301")}
    assert {request.headers["host"] for request in shop.requests} == {"shop.example:8080"}
    cookies = [request.headers["cookie"].split("; ") for request in shop.requests]
    assert sum("who=me" not in sent for sent in cookies) == 2  # each user's first request
    analytics = {next(each for each in sent if each.startswith("_ga=GA1.1.")) for sent in cookies}
    assert len(analytics) == 2  # each user's own


def test_a_site_has_three_topologies(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "app.localhost" not in topologies.hosts()
    monkeypatch.setenv("LOADTEST_APP", " app.localhost")
    hosts = topologies.parse("alone.app,nginx.app,app")
    assert [topologies.name(host) for host in hosts] == ["alone.app", "nginx.app", "app"]
    assert {topologies.metrics_host(host) for host in hosts} == {None}
    assert parse().app_host == "app.localhost"
