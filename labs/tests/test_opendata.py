"""labs/opendata: the application alone, and Varnish in front of it on the engine."""

import importlib.util
import re
from hashlib import sha256
from io import BytesIO
from types import ModuleType
from typing import Any

import pytest

from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack
from labs.tests.running_lab import NETWORK, ask, check_cells, needs_engine
from tests.stack import REPO
from tests.support.wait import wait_until

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

    def test_varnish_as_installed_stores_nothing_that_sets_a_cookie(self, lab: LabStack) -> None:
        """The article's "old configuration": each response sets a cookie, so each request reaches Apache."""
        for _ in range(2):
            assert "set-cookie" in ask(lab, "opendata-default-vcl", "/?as-installed").headers
        assert ask(lab, "opendata-default-vcl", "/?afterwards-installed").status == 200
        self.seen(lab, "afterwards-installed")
        assert len(self.seen(lab, "/?as-installed")) == 2

    def test_the_search_is_cached_where_the_configuration_says_so(self, lab: LabStack) -> None:
        for searches in (4, 7):
            found = ask(lab, "opendata-cached-search", "/search?q=ATLAS", Cookie=f"searches={searches}")
            assert "Your search number 1 found " in found.text, "fetched without the cookie, and stored"
            assert "set-cookie" not in found.headers

    @pytest.mark.parametrize("server", ["default-vcl", "varnish", "cached-search"])
    def test_a_post_is_always_passed(self, lab: LabStack, server: str) -> None:
        """The URL is the same, the form is not: a stored response would be the wrong one."""
        newest, largest = (
            ask(lab, f"opendata-{server}", "/results/434d53", f"order={order}")
            for order in ("newest", "largest")
        )
        assert newest.status == largest.status == 200
        assert newest.sha256 != largest.sha256

    @pytest.mark.parametrize(("server", "requests"), [("default-vcl", 2), ("varnish", 1)])
    def test_a_file_is_revalidated(self, lab: LabStack, server: str, requests: int) -> None:
        """With the article's rules Varnish compares the ETag of its own copy."""
        path = f"/gen/portal.js?{server}"
        etag = ask(lab, f"opendata-{server}", path).headers["etag"]
        unchanged = ask(lab, f"opendata-{server}", path, If_None_Match=etag, Cookie="searches=1")
        assert (unchanged.status, unchanged.length) == (304, 0)
        assert ask(lab, f"opendata-{server}", path, If_None_Match='"other"').status == 200
        ask(lab, f"opendata-{server}", f"/?afterwards-{server}")
        self.seen(lab, f"afterwards-{server}")
        assert len(self.seen(lab, path)) == (1 if requests == 1 else 3)

    def test_the_log_has_the_clients_address(self, lab: LabStack) -> None:
        """The generator's, through Varnish as well, and not the one that the generator claims."""
        generator = lab.containers["generator"]
        generator.reload()  # it got its addresses when it started
        generator_addresses = {
            network["IPAddress"] for network in generator.attrs["NetworkSettings"]["Networks"].values()
        }
        for server, path in (("opendata-varnish", "/?through-varnish"), ("opendata-apache", "/?directly")):
            ask(lab, server, path, X_Forwarded_For="192.0.2.66")
            [line] = self.seen(lab, path)
            client, connection = line.split()[0], line.split()[-1]
            assert client in generator_addresses, line
            if server == "opendata-varnish":
                assert connection.startswith(f"{NETWORK}."), line
            else:
                assert connection == client, line


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
        portal: ModuleType,
        path: str,
        query: str = "",
        cookie: str = "",
        form: str | None = None,
        etag: str = "",
    ) -> tuple[str, dict[str, str], str]:
        """Status, headers and body of one request: a POST if there is a form."""
        said: list[Any] = []
        environ = {
            "REQUEST_METHOD": "GET" if form is None else "POST",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "HTTP_COOKIE": cookie,
            "HTTP_IF_NONE_MATCH": etag,
            "CONTENT_LENGTH": str(len(form or "")),
            "wsgi.input": BytesIO((form or "").encode()),
        }
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

    def test_the_results_are_those_of_the_key_in_the_order_of_the_form(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        portal = self.portal(monkeypatch, 2_000)
        for form, column in (("order=newest", 1), ("order=largest", 2), ("order=<script>", 1), ("", 1)):
            status, _, body = self.get(portal, f"/results/{b'LHCb'.hex()}", form=form)
            lines = re.findall(r"<tr><td>(.*?)<td>(\d+)<td>(\d+)\n", body)
            assert status == "200 OK"
            assert 300 < len(lines) <= 500
            assert all(title.startswith("LHCb") for title, _, _ in lines)
            values = [int(line[column]) for line in lines]
            assert values == sorted(values, reverse=True), form

    def test_pages_link_files_by_their_hash_and_a_browser_revalidates_them(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        portal = self.portal(monkeypatch, 1)
        for name, kind in (("portal.css", "text/css"), ("portal.js", "text/javascript")):
            content = (REPO / "labs/opendata/app/gen" / name).read_bytes()
            digits = sha256(content).hexdigest()[:8]
            assert f'"/gen/{name}?{digits}"' in self.get(portal, "/")[2]
            status, headers, body = self.get(portal, f"/gen/{name}", digits)
            assert (status, headers["Content-Type"], body.encode()) == ("200 OK", kind, content)
            status, headers, body = self.get(portal, f"/gen/{name}", digits, etag=headers["ETag"])
            assert (status, body, "Content-Length" in headers) == ("304 Not Modified", "", False)
            assert headers["ETag"] == f'"{digits}"'

    def test_the_lab_revalidates_the_file_as_it_is(self) -> None:
        content = (REPO / "labs/opendata/app/gen/portal.js").read_bytes()
        digits = sha256(content).hexdigest()[:8]
        cells = load(REPO / "labs" / LAB, "full").cells
        for cell in [cell for cell in cells if cell.key["page"] == "unchanged-file"]:
            assert cell.settings["path"] == f"/gen/portal.js?{digits}"
            assert f'If-None-Match: "{digits}"' in cell.settings["headers"]
