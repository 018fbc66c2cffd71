"""Each page says which path it took, by the Host name that caches store it under, and where the other paths
are."""

import re
from html.parser import HTMLParser

import pytest

from running_backend import Backend, ask

NAMES = ("browser", "nginx", "varnish", "upstage")
STATIONS = {"default": NAMES, "classic": NAMES, "nginx": ("browser", "nginx", "upstage")}
STATIONS["static"] = STATIONS["nginx"]


def said(page: str) -> str:
    """The text of a page, with single spaces."""
    parts: list[str] = []
    parser = HTMLParser()
    parser.handle_data = parts.append  # type: ignore[method-assign]
    parser.feed(page)
    return " ".join(" ".join(parts).split())


@pytest.mark.parametrize(
    ("host", "topology"),
    [
        ("localhost", "default"),
        ("localhost:8443", "default"),
        ("upstage.localhost", "default"),
        ("127.0.0.1", "default"),
        ("[::1]:8080", "default"),
        ("second.localhost", "default"),
        ("classic.localhost.example.org", "default"),
        ("classic", "default"),
        ("direct.localhost", "default"),  # that path has its own listener: test_listening.py
        ("stage.example.org", "default"),
        ("no name", "default"),
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


def places(page: str) -> list[str]:
    """The list of paths, a line each, links as [text](address)."""
    section = page.partition('class="sites"')[2].partition("</ul>")[0]
    section = re.sub(r'<a href="([^"]*)">([^<]*)</a>', r"[\2](\1)", section)
    return [said(item) for item in section.split("<li")[1:]]


def test_the_front_page_lists_every_site_and_how_to_open_the_absent_ones(workshop: Backend) -> None:
    """The host names work on this machine only. (A published direct port: test_listening.py.)"""
    here = places(ask(workshop, "/", Host="nginx.localhost").text)
    assert [line.partition("> ")[2] or line for line in here] == [
        "Today's setup nginx → Varnish → UpStage [localhost:8080](http://localhost:8080/)",
        "The setup of 2011 nginx → Varnish → UpStage [classic.localhost:8080](http://classic.localhost:8080/)",
        "nginx, no cache nginx → UpStage you are here",
        "Files from nginx nginx → UpStage [static.localhost:8080](http://static.localhost:8080/)",
        "UpStage alone UpStage, as installed in 2011 make up EXTRAS=direct",
        'More theatres beside this one make up THEATRES="second third"',
        "A full house Locust, the load test [localhost:8089](http://localhost:8089/)",
    ]
    away = "\n".join(places(ask(workshop, "/", Host="192.0.2.7").text))
    assert "localhost:8080" not in away
    assert "[192.0.2.7:8089](http://192.0.2.7:8089/)" in away
