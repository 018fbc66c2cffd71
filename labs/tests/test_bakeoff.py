"""labs/bakeoff: the same site on five servers, and a production machine; they run on the engine."""

import re
from collections import Counter
from hashlib import sha256

import pytest

from labs.bench.drivers import production, wrk
from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack
from labs.tests.running_lab import Received, ask, check_cells, needs_engine
from tests.stack import REPO

LAB = "bakeoff"
SITE = REPO / "labs" / LAB / "www" / "site"
FRAME = 21_000  # bytes of a frame that movie.php makes
SERVERS = ("prefork", "worker", "lighttpd", "nginx", "varnish")


@needs_engine
@pytest.mark.slow
class TestServers:
    def test_every_cell_can_be_measured(self, lab: LabStack) -> None:
        check_cells(lab, LAB)

    @pytest.mark.parametrize(
        ("server", "port"),
        [
            *((server, 8080) for server in (*SERVERS, "production-apache", "production-nginx")),
            ("production-front", 8000),
        ],
    )
    def test_each_server_has_the_page_and_its_elements(self, lab: LabStack, server: str, port: int) -> None:
        """A browser would request what the lab requests in turn."""
        [settings] = [
            cell.settings
            for cell in load(REPO / "labs" / LAB, "full").cells
            if cell.key.get("file") == "site" and cell.key["server"] == "nginx"
        ]
        page = ask(lab, f"bakeoff-{server}", settings["path"], port=port, Host="www.example.com")
        elements = re.findall(r'src="(.*?)"', page.text)
        assert elements == [f"{settings['element']}{number}" for number in range(1, settings["elements"] + 1)]
        for element in (elements[0], elements[-1]):
            received = ask(lab, f"bakeoff-{server}", element, port=port, Host="www.example.com")
            assert received.headers["content-type"] == "image/svg+xml"
            assert received.sha256 == sha256((SITE / "thumbnail.svg").read_bytes()).hexdigest()

    def test_a_page_and_its_elements_are_requested_in_turn(self, lab: LabStack) -> None:
        """Varnish logs them: each as often as the others."""
        found = wrk.measure(
            lab,
            {
                "url": "http://bakeoff-varnish:8080",
                "host": "www.example.com",
                "path": "/index.php?turn",
                "element": "/thumbnail.svg?turn",
                "elements": 3,
                "clients": 2,
                "keepalive": True,
                "seconds": 1,
            },
        )
        assert found["pages_per_second"] == pytest.approx(found["requests_per_second"] / 4)
        log = lab.run(
            "bakeoff-varnish", "varnishncsa", "-n", "/run/varnish", "-d", "-F", "%U%q", "-q", "ReqURL ~ turn"
        )
        counts = Counter(log.split())
        assert counts.keys() == {"/index.php?turn", *(f"/thumbnail.svg?turn{number}" for number in (1, 2, 3))}
        assert max(counts.values()) - min(counts.values()) <= 4, counts

    @pytest.mark.parametrize("server", ["prefork", "nginx"])
    def test_a_host_name_has_no_opcode_cache(self, lab: LabStack, server: str) -> None:
        """phpinfo() says so."""
        for host, state in (("www", "Up and Running"), ("no-opcache", "Disabled")):
            page = lab.run(
                *("generator", "curl", "-s", "-H", f"Host: {host}.example.com"),
                f"http://bakeoff-{server}:8080/phpinfo.php",
            )
            assert re.search(r"Opcode Caching </td><td class=\"v\">(.*?) </td>", page)[1] == state  # type: ignore[index]

    def test_clients_of_apache_take_processes_and_so_the_memory_that_films_need(self, lab: LabStack) -> None:
        found = {
            # Half of the requests are for films: a few would be too few to compare.
            cell.key["machine"]: production.measure(
                lab, {**cell.settings, "connections": 350, "rounds": 1, "film_in": 2}
            )
            for cell in load(REPO / "labs" / LAB, "quick").cells
            if cell.driver == "production"
        }
        apache, nginx, front = (
            found[name] for name in ("Apache", "nginx and PHP-FPM", "nginx in front of Apache")
        )
        assert apache["tasks"] > 350 > 4 * max(nginx["tasks"], front["tasks"])
        for other in (nginx, front):
            assert apache["page_cache_bytes"] < other["page_cache_bytes"] <= 512 * 1024**2
            assert apache["disk_percent"] > other["disk_percent"]

    @pytest.mark.parametrize("server", SERVERS)
    def test_each_server_knows_its_names(self, lab: LabStack, server: str) -> None:
        def name(host: str, path: str = "/small.html") -> Received:
            return ask(lab, f"bakeoff-{server}", path, Host=host)

        for host in ("www.example.com", "example.com", "example.com:8080"):
            assert "The Tempest" in name(host).text
        for host in ("other.example.com", "notexample.com", f"bakeoff-{server}:8080"):
            assert name(host).status == 404
            assert "No such site" in name(host, "/").text
        assert name("video.example.com").status == 404
        assert name("video.example.com", "/movie.flv").status == 200
        assert name("www.example.com", "/movie.flv").status == 404

    @pytest.mark.parametrize("server", SERVERS)
    def test_each_server_rewrites_urls(self, lab: LabStack, server: str) -> None:
        for path, number in (("/external/42", 42), ("/external/7/", 7), ("/external.php?vid=3", 3)):
            received = ask(lab, f"bakeoff-{server}", path, Host="www.example.com")
            assert received.text.startswith(f"video {number}, ")
        assert ask(lab, f"bakeoff-{server}", "/external/x", Host="www.example.com").status == 404

    @pytest.mark.parametrize(
        ("server", "host", "way"),
        [
            ("prefork", "www", "mod_php"),
            ("varnish", "www", "mod_php"),
            *((server, "www", "socket") for server in ("worker", "lighttpd", "nginx")),
            *((server, "tcp", "tcp") for server in ("worker", "lighttpd", "nginx")),
        ],
    )
    def test_each_host_name_reaches_php_its_own_way(
        self, lab: LabStack, server: str, host: str, way: str
    ) -> None:
        received = ask(lab, f"bakeoff-{server}", "/external.php?vid=1", Host=f"{host}.example.com")
        assert received.text == f"video 1, PHP by {way}\n"

    @pytest.mark.parametrize("server", ["lighttpd", "nginx"])
    def test_seeking_sends_a_header_and_the_rest_of_the_film(self, lab: LabStack, server: str) -> None:
        start = 13 + 500 * FRAME
        host = "video.example.com"
        sought = ask(lab, f"bakeoff-{server}", f"/movie.flv?start={start}", Host=host)
        rest = ask(lab, "bakeoff-prefork", "/movie.flv", Host=host, Range=f"bytes={start}-")
        assert sought.status == 200
        assert sought.headers["content-type"] == "video/x-flv"
        assert sought.text.startswith("FLV\x01")
        assert sought.text[9:13] == "\0\0\0\0"  # no frame before this one
        assert sought.text[13 : 13 + FRAME] == rest.text[:FRAME]
        assert sought.length == 13 + rest.length
        # Beyond the end, or not a number: the whole film.
        for start_value in ("21000000", "x", "-1", "0"):
            whole = ask(lab, f"bakeoff-{server}", f"/movie.flv?start={start_value}", Host=host)
            assert whole.length == 21_000_000, start_value
