"""Users of a foreign site: they walk its paths with its cookies; without paths they take no part."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import topologies
from fake_site import FakeSite
from locust_library import parse, run
from locustfile import Pages, Reader
from support.origin import Origin, Request, response
from users import pages, taking_part


class Shop(Origin):
    """Gives each visitor a cookie; `/gone` is no longer there."""

    def __init__(self) -> None:
        super().__init__("shop")
        self.answer = self._answer

    def _answer(self, request: Request) -> bytes:
        status = "404 Not Found" if request.target == "/gone" else "200 OK"
        return response("text", status, set_cookie="who=me", cache_status="varnish; hit")


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.setenv("LOADTEST_SITE", "http://shop:8000")
    monkeypatch.setattr(pages, "_rows", {})
    shop = Shop()
    yield shop
    shop.close()


def test_they_walk_the_paths_of_the_file_with_the_sites_cookies(
    site: FakeSite, shop: Shop, tmp_path: Path
) -> None:
    file = tmp_path / "paths"
    file.write_text("/a?x=1\n/a?x=2\n/gone\n")
    arguments = (f"--paths={file}", "--topology=alone.site.localhost", f"--site-port={shop.port}")
    result = run(site, Pages, until_rows={"/a": 6, "/gone": 3}, users=2, arguments=arguments)
    assert result.failed == {"/gone"}
    assert set(shop.targets) == {"/a?x=1", "/a?x=2", "/gone"}
    assert {request.headers["host"] for request in shop.requests} == {"alone.site.localhost"}
    cookies = [request.headers.get("cookie") for request in shop.requests]
    assert cookies.count(None) == 2  # each user's first request
    assert set(cookies) == {None, "who=me"}


def test_without_paths_they_take_no_part() -> None:
    assert taking_part.lack(Pages, parse()) == "there are no --paths"
    assert taking_part.lack(Reader, parse()) is None
    assert taking_part.refusal([Pages, Reader], parse()) is None
    assert (
        taking_part.refusal([Pages], parse())
        == "No user can take part in this run. Pages: there are no --paths."
    )


def test_a_site_has_three_topologies(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "site.localhost" not in topologies.hosts()
    monkeypatch.setenv("LOADTEST_SITE", "http://shop:8000")
    hosts = topologies.parse("alone.site,nginx.site,site")
    assert hosts == ["alone.site.localhost", "nginx.site.localhost", "site.localhost"]
    assert [topologies.name(host) for host in hosts] == ["alone.site", "nginx.site", "site"]
    assert [topologies.base_url("http://nginx:8000", host, 8081, 18000) for host in hosts] == [
        "http://nginx:18000",
        *["http://nginx:8000"] * 2,
    ]
    assert {topologies.metrics_host(host) for host in hosts} == {None}
