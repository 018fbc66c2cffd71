"""labs/opendata: the application alone, and Varnish in front of it on the engine."""

import importlib.util
import re
from types import ModuleType
from typing import Any

import pytest

from bench.lab_stack import LabStack
from bench.tests.running_lab import NETWORK, ask, check_cells, needs_engine
from stack import REPO
from support.wait import wait_until

LAB = "opendata"


@needs_engine
@pytest.mark.slow
class TestServers:
    def test_every_cell_can_be_measured(self, lab: LabStack) -> None:
        check_cells(lab, LAB)

    def seen(self, lab: LabStack, what: str) -> list[str]:
        """The lines of Apache's log with this text; they may follow the response after a moment."""

        def lines() -> list[str]:
            log = lab.containers["opendata-apache"].logs().decode()
            return [line for line in log.splitlines() if what in line]

        wait_until(lines)
        return lines()

    def test_varnish_drops_the_cookie_of_the_page(self, lab: LabStack) -> None:
        direct = ask(lab, "opendata-apache", "/")
        cached = ask(lab, "opendata-varnish", "/")
        assert direct.length == cached.length == 9_231
        assert direct.sha256 == cached.sha256
        assert direct.headers["set-cookie"].startswith("searches=0;")
        assert "set-cookie" not in cached.headers

    def test_a_cookie_does_not_reach_the_application(self, lab: LabStack) -> None:
        """Three requests, one without a cookie: one reaches Apache."""
        for headers in ({}, {"Cookie": "searches=4"}, {"Cookie": "other=me"}):
            assert ask(lab, "opendata-varnish", "/?three-requests", **headers).status == 200
        assert ask(lab, "opendata-varnish", "/?afterwards").status == 200
        self.seen(lab, "afterwards")  # so all earlier lines are there
        assert len(self.seen(lab, "three-requests")) == 1

    def test_the_search_receives_its_cookie(self, lab: LabStack) -> None:
        for count in (4, 5):
            received = ask(lab, "opendata-varnish", "/search?q=CMS+event", Cookie=f"searches={count}")
            assert f"Your search number {count + 1} found " in received.text
            assert received.headers["set-cookie"].startswith(f"searches={count + 1};")

    def test_the_log_has_the_clients_address(self, lab: LabStack) -> None:
        """The generator's, through Varnish as well, and not the one that the generator claims."""
        generator = lab.containers["generator"]
        generator.reload()  # it got its addresses when it started
        generator_addresses = {
            network["IPAddress"] for network in generator.attrs["NetworkSettings"]["Networks"].values()
        }
        varnish = f"{NETWORK}.2"
        for server, path in (("opendata-varnish", "/?through-varnish"), ("opendata-apache", "/?directly")):
            ask(lab, server, path, X_Forwarded_For="192.0.2.66")
            [line] = self.seen(lab, path)
            client, connection = line.split()[0], line.split()[-1]
            assert client in generator_addresses, line
            assert connection == (varnish if server == "opendata-varnish" else client), line


class TestPortal:
    """The application alone, without an engine."""

    @staticmethod
    def portal(monkeypatch: pytest.MonkeyPatch, records: int) -> ModuleType:
        monkeypatch.setenv("OPENDATA_RECORDS", str(records))
        spec = importlib.util.spec_from_file_location("portal", REPO / "labs/opendata/app/portal.py")
        assert spec
        assert spec.loader
        portal = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(portal)
        return portal

    @staticmethod
    def get(
        portal: ModuleType, path: str, query: str = "", cookie: str = ""
    ) -> tuple[str, dict[str, str], str]:
        """Status, headers and body of one request."""
        said: list[Any] = []
        environ = {"PATH_INFO": path, "QUERY_STRING": query, "HTTP_COOKIE": cookie}
        body = b"".join(portal.application(environ, lambda *what: said.extend(what)))
        return said[0], dict(said[1]), body.decode()

    @pytest.mark.parametrize("records", [1, 2_000, 50_000])
    def test_the_page_is_as_long_as_the_articles_whatever_the_setting(
        self, monkeypatch: pytest.MonkeyPatch, records: int
    ) -> None:
        status, headers, body = self.get(self.portal(monkeypatch, records), "/")
        assert status == "200 OK"
        assert len(body) == int(headers["Content-Length"]) == 9_231
        assert f"<p>{records} records." in body
        assert body.rstrip().endswith("</table>")

    def test_the_sums_of_the_page_add_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        _, _, body = self.get(self.portal(monkeypatch, 2_000), "/")
        collections = re.findall(r"<tr><td>[A-Za-z]+<td>[\w ]+<td>(\d+)<td>\d+\n", body)
        assert len(collections) == 16
        assert sum(map(int, collections)) == 2_000

    def test_the_search_counts_in_its_cookie(self, monkeypatch: pytest.MonkeyPatch) -> None:
        portal = self.portal(monkeypatch, 2_000)
        _, headers, body = self.get(portal, "/search", "q=CMS+simulation", "searches=4")
        assert "Your search number 5 found " in body
        found = re.findall(r"<tr><td>(.*?)<td>", body)
        assert len(found) == 20
        assert all(title.startswith("CMS simulation") for title in found)
        assert headers["Set-Cookie"] == "searches=5; Path=/; HttpOnly"
        assert "found 0 records" in self.get(portal, "/search", "q=<b>", "searches=<b>")[2]

    def test_other_paths_are_not_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.get(self.portal(monkeypatch, 1), "/index.html")[0] == "404 Not Found"
