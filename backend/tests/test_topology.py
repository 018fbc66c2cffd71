"""Each page names the path that it took, by the Host name under which caches store it, and links to the
other paths."""

import re

import pytest

from backend.tests.running_backend import Backend, ask

NAMES = ("browser", "nginx", "varnish", "upstage")
STATIONS = {"default": NAMES, "classic": NAMES, "nginx": ("browser", "nginx", "upstage")}
STATIONS["static"] = STATIONS["nginx"]


@pytest.mark.parametrize(
    ("host", "topology"),
    [
        *((host, "default") for host in ("localhost", "upstage.localhost", "127.0.0.1", "[::1]:8080")),
        *((host, "default") for host in ("second.localhost", "stage.example.org", "no name")),
        ("classic.localhost.example.org", "default"),
        ("direct.localhost", "default"),  # that path has its own listener: test_listening.py
        ("classic.localhost", "classic"),
        ("CLASSIC.localhost:8080", "classic"),
        ("nginx.localhost", "nginx"),
        ("static.localhost", "static"),
    ],
)
def test_the_host_name_decides_which_way_a_page_came(workshop: Backend, host: str, topology: str) -> None:
    for path in ("/", "/stages/", "/stages/demo", "/stages/demo/log", "/signup", "/admin/", "/nowhere"):
        page = ask(workshop, path, Host=host).text
        assert re.findall(r'data-topology="(\w+)"', page) == [topology], path
        assert set(re.findall(r'data-station="(\w+)"', page)) == set(STATIONS[topology]), path


def test_the_front_page_names_every_site_and_how_to_open_the_absent_ones(workshop: Backend) -> None:
    """The host names work on this machine only. (A published direct port: test_listening.py.)"""
    page = ask(workshop, "/", Host="nginx.localhost").text
    here = page.partition('class="sites"')[2].partition("</ul>")[0]
    links = [f"http://{name}" for name in ("localhost", "classic.localhost", "static.localhost")]
    assert re.findall('href="([^"]*)"', here) == [*(f"{link}:8080/" for link in links), f"{links[0]}:8089/"]
    assert here.count("you are here") == 1
    for command in ("make up EXTRAS=direct", "make up THEATRES="):
        assert command in here
    away = ask(workshop, "/", Host="192.0.2.7").text
    assert "localhost:8080" not in away.partition('class="sites"')[2]
    assert 'href="http://192.0.2.7:8089/"' in away
