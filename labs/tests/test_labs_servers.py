"""The servers of the labs opendata and bakeoff: opened as the runner does it, asked from its generator."""

import importlib.util
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from types import ModuleType
from typing import Any

import pytest

from bench import house as bench_house
from bench.experiment import load
from bench.house import House
from stack import REPO
from support.wait import wait_until

needs_engine = pytest.mark.skipif(os.environ.get("ENGINE") != "yes", reason="no engine can run here")
SITE = REPO / "labs" / "bakeoff" / "www" / "site"
FRAME = 21_000  # bytes, as movie.php makes them
SERVERS = ("prefork", "worker", "lighttpd", "nginx", "varnish")
NETWORK = "198.19.14"  # a run of the bench beside the tests has the lab's own

# A film is too long to be handed over; its beginning and its hash are not.
ASK = """
import hashlib, http.client, json, sys
server, path, headers = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
line = http.client.HTTPConnection(server, 8080, timeout=60)
line.request("GET", path, headers=headers)
answer = line.getresponse()
body = answer.read()
print(json.dumps({
    "status": answer.status,
    "headers": {name.lower(): value for name, value in answer.getheaders()},
    "length": len(body),
    "sha256": hashlib.sha256(body).hexdigest(),
    "text": body[:100_000].decode("latin-1"),
}))
"""


@dataclass(frozen=True)
class Answer:
    """What a server of the lab said. `text` is the beginning of the body, one character for each byte."""

    status: int
    headers: Mapping[str, str]
    length: int
    sha256: str
    text: str


def ask(lab: House, server: str, path: str, **headers: str) -> Answer:
    """One GET from the generator, over a connection of its own. `_` in a header's name stands for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(**json.loads(lab.run("generator", "python3", "-c", ASK, server, path, json.dumps(named))))


def opened(name: str) -> Iterator[House]:
    """A lab's house, prepared as for a run, under a name that no run of the bench uses."""
    experiment = load(REPO / "labs" / name, "full")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench_house, "PROJECT", f"proscenium-test-{name}")
        patch.setenv("OPENDATA_NETWORK", NETWORK)
        with House(REPO / "labs" / name, experiment.services) as lab:
            if experiment.prepare:
                lab.run(experiment.prepare_in, *experiment.prepare)
            yield lab


@pytest.fixture(scope="module")
def bakeoff() -> Iterator[House]:
    yield from opened("bakeoff")


@pytest.fixture(scope="module")
def opendata() -> Iterator[House]:
    yield from opened("opendata")


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> House:
    house: House = request.getfixturevalue(request.param)
    return house


@needs_engine
@pytest.mark.parametrize("lab", ["bakeoff", "opendata"], indirect=True)
class TestBoth:
    def test_every_cell_can_be_measured(self, lab: House, request: pytest.FixtureRequest) -> None:
        """What lab.toml sends its tool to is there, and as long as it says."""
        name = request.node.callspec.params["lab"]
        asked = 0
        for cell in load(REPO / "labs" / name, "full").cells:
            settings: Mapping[str, Any] = cell.settings
            server = re.fullmatch(r"http://([\w-]+):8080", settings["url"])
            assert server, settings
            headers = dict(line.split(": ", 1) for line in settings.get("headers", []))
            if "host" in settings:
                headers["Host"] = settings["host"]
            answer = ask(lab, server[1], settings["path"], **headers)
            assert answer.status == 200, cell
            assert answer.length == settings.get("bytes", answer.length), cell
            # HTTP/1.0, which ab speaks, keeps no connection without it.
            assert int(answer.headers["content-length"]) == answer.length, cell
            asked += 1
        assert asked > 10

    def test_hardened(self, lab: House, request: pytest.FixtureRequest) -> None:
        name = request.node.callspec.params["lab"]
        own = [container for service, container in lab.containers.items() if service.startswith(name)]
        assert len(own) >= 2
        for container in own:
            host = container.attrs["HostConfig"]
            assert host["ReadonlyRootfs"], container
            assert host["CapDrop"] == ["ALL"], container
            assert not host["CapAdd"], container
            assert host["SecurityOpt"] == ["no-new-privileges:true"], container
            assert 0 < host["PidsLimit"] <= 512, container
            assert 0 < host["Memory"] <= 1 << 30, container
            assert host["Init"], container
            assert not host["PortBindings"], container
            assert container.attrs["Config"]["User"] not in ("", "0", "root"), container


@needs_engine
class TestBakeoff:
    @pytest.mark.parametrize("server", SERVERS)
    def test_the_file_is_the_file(self, bakeoff: House, server: str) -> None:
        answer = ask(bakeoff, f"bakeoff-{server}", "/small.html", Host="www.example.com")
        assert answer.sha256 == sha256((SITE / "small.html").read_bytes()).hexdigest()
        assert answer.headers["content-type"] == "text/html"

    @pytest.mark.parametrize("server", SERVERS)
    def test_names(self, bakeoff: House, server: str) -> None:
        def name(host: str, path: str = "/small.html") -> Answer:
            return ask(bakeoff, f"bakeoff-{server}", path, Host=host)

        for host in ("www.example.com", "example.com", "example.com:8080"):
            assert "The Tempest" in name(host).text
        for host in ("nobody.example.com", "notexample.com", f"bakeoff-{server}:8080"):
            assert name(host).status == 404
            assert "Nobody of that name" in name(host, "/").text
        assert name("video.example.com").status == 404
        assert name("video.example.com", "/movie.flv").status == 200
        assert name("www.example.com", "/movie.flv").status == 404

    @pytest.mark.parametrize("server", SERVERS)
    def test_rewriting(self, bakeoff: House, server: str) -> None:
        for path, number in (("/external/42", 42), ("/external/7/", 7), ("/external.php?vid=3", 3)):
            answer = ask(bakeoff, f"bakeoff-{server}", path, Host="www.example.com")
            assert answer.text.startswith(f"video {number}, ")
        assert ask(bakeoff, f"bakeoff-{server}", "/external/x", Host="www.example.com").status == 404

    @pytest.mark.parametrize(
        ("server", "host", "way"),
        [
            ("prefork", "www", "mod_php"),
            ("varnish", "www", "mod_php"),
            *((server, "www", "socket") for server in ("worker", "lighttpd", "nginx")),
            *((server, "tcp", "tcp") for server in ("worker", "lighttpd", "nginx")),
        ],
    )
    def test_the_way_to_php(self, bakeoff: House, server: str, host: str, way: str) -> None:
        """Each name leads to PHP by the way that it promises."""
        answer = ask(bakeoff, f"bakeoff-{server}", "/external.php?vid=1", Host=f"{host}.example.com")
        assert answer.text == f"video 1, PHP by {way}\n"

    @pytest.mark.parametrize("server", SERVERS)
    def test_a_range_of_the_film(self, bakeoff: House, server: str) -> None:
        answer = ask(
            bakeoff, f"bakeoff-{server}", "/movie.flv", Host="video.example.com", Range=f"bytes={13 + FRAME}-"
        )
        assert answer.status == 206
        assert answer.length == 999 * FRAME - 13
        assert answer.text.startswith("\x09")  # a frame begins here

    @pytest.mark.parametrize("server", ["lighttpd", "nginx"])
    def test_seeking(self, bakeoff: House, server: str) -> None:
        """A header, then exactly what is in the film from there on."""
        start = 13 + 500 * FRAME
        host = "video.example.com"
        sought = ask(bakeoff, f"bakeoff-{server}", f"/movie.flv?start={start}", Host=host)
        rest = ask(bakeoff, "bakeoff-prefork", "/movie.flv", Host=host, Range=f"bytes={start}-")
        assert sought.status == 200
        assert sought.headers["content-type"] == "video/x-flv"
        assert sought.text.startswith("FLV\x01")
        assert sought.text[9:13] == "\0\0\0\0"  # no frame before this one
        assert sought.text[13 : 13 + FRAME] == rest.text[:FRAME]
        assert sought.length == 13 + rest.length
        # Too far, or not a number: the whole film.
        for nonsense in ("21000000", "x", "-1", "0"):
            whole = ask(bakeoff, f"bakeoff-{server}", f"/movie.flv?start={nonsense}", Host=host)
            assert whole.length == 21_000_000, nonsense

    @pytest.mark.parametrize("server", ["prefork", "worker", "varnish"])
    def test_apache_does_not_seek(self, bakeoff: House, server: str) -> None:
        answer = ask(bakeoff, f"bakeoff-{server}", "/movie.flv?start=10500013", Host="video.example.com")
        assert answer.length == 21_000_000

    def test_what_varnish_keeps(self, bakeoff: House) -> None:
        """X-Varnish has two numbers for a hit. A PHP page is kept as well, unless somebody has a cookie."""

        def numbers(path: str, **headers: str) -> int:
            answer = ask(bakeoff, "bakeoff-varnish", path, Host="www.example.com", **headers)
            return len(answer.headers["x-varnish"].split())

        for path in ("/small.html?1", "/phpinfo.php?1"):
            assert numbers(path) == 1
            assert numbers(path) == 2
            assert numbers(path, Cookie="somebody=me") == 1


@needs_engine
class TestOpendata:
    def seen(self, opendata: House, what: str) -> list[str]:
        """The lines of Apache's log with these characters; they come with the answer, or a moment later."""

        def lines() -> list[str]:
            log = opendata.containers["opendata-apache"].logs().decode()
            return [line for line in log.splitlines() if what in line]

        wait_until(lines)
        return lines()

    def test_the_page(self, opendata: House) -> None:
        direct = ask(opendata, "opendata-apache", "/")
        kept = ask(opendata, "opendata-varnish", "/")
        assert direct.length == kept.length == 9_231
        assert direct.sha256 == kept.sha256
        assert direct.headers["set-cookie"].startswith("searches=0;")
        assert "set-cookie" not in kept.headers

    def test_a_cookie_does_not_reach_the_application(self, opendata: House) -> None:
        """Three guests, one with a cookie: Apache works once."""
        for headers in ({}, {"Cookie": "searches=4"}, {"Cookie": "other=me"}):
            assert ask(opendata, "opendata-varnish", "/?three-guests", **headers).status == 200
        assert ask(opendata, "opendata-varnish", "/?after-them").status == 200
        self.seen(opendata, "after-them")  # all lines before it are there
        assert len(self.seen(opendata, "three-guests")) == 1

    def test_except_for_the_search(self, opendata: House) -> None:
        for count in (4, 5):
            answer = ask(opendata, "opendata-varnish", "/search?q=CMS+event", Cookie=f"searches={count}")
            assert f"Your search number {count + 1} found " in answer.text
            assert answer.headers["set-cookie"].startswith(f"searches={count + 1};")

    def test_the_log_has_the_clients_address(self, opendata: House) -> None:
        """The generator's, through Varnish too, and not what the generator says of itself."""
        generator = opendata.containers["generator"]
        generator.reload()  # its addresses came when it was started
        mine = {network["IPAddress"] for network in generator.attrs["NetworkSettings"]["Networks"].values()}
        varnish = f"{NETWORK}.2"
        for server, path in (("opendata-varnish", "/?through-varnish"), ("opendata-apache", "/?directly")):
            ask(opendata, server, path, X_Forwarded_For="192.0.2.66")
            [line] = self.seen(opendata, path)
            client, connection = line.split()[0], line.split()[-1]
            assert client in mine, line
            assert connection == (varnish if server == "opendata-varnish" else client), line


class TestPortal:
    """The application by itself; needs no engine."""

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
    def test_the_page_is_as_long_as_the_articles(self, monkeypatch: pytest.MonkeyPatch, records: int) -> None:
        """Whatever the knob says."""
        status, headers, body = self.get(self.portal(monkeypatch, records), "/")
        assert status == "200 OK"
        assert len(body) == int(headers["Content-Length"]) == 9_231
        assert f"<p>{records} records." in body
        assert body.rstrip().endswith("</table>")

    def test_the_sums_are_right(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The page has what the catalogue says: as many records in all collections as there are."""
        _, _, body = self.get(self.portal(monkeypatch, 2_000), "/")
        collections = re.findall(r"<tr><td>[A-Za-z]+<td>[\w ]+<td>(\d+)<td>\d+\n", body)
        assert len(collections) == 16
        assert sum(map(int, collections)) == 2_000

    def test_the_search(self, monkeypatch: pytest.MonkeyPatch) -> None:
        portal = self.portal(monkeypatch, 2_000)
        _, headers, body = self.get(portal, "/search", "q=CMS+simulation", "searches=4")
        assert "Your search number 5 found " in body
        found = re.findall(r"<tr><td>(.*?)<td>", body)
        assert len(found) == 20
        assert all(title.startswith("CMS simulation") for title in found)
        assert headers["Set-Cookie"] == "searches=5; Path=/; HttpOnly"
        assert "found 0 records" in self.get(portal, "/search", "q=<b>", "searches=<b>")[2]

    def test_nothing_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.get(self.portal(monkeypatch, 1), "/index.html")[0] == "404 Not Found"
