"""`make trace`: the requests that it accepts, and its output from the three logs."""

import json
from collections.abc import Callable, Iterator
from unittest.mock import create_autospec

import pytest

from logs import trace
from proscenium.running import NotRunning, Running
from tests.support.origin import Origin, response

ID = "6a05b1a18a71752b342d7240ec65bac5"
LOGS = {
    "nginx": '1.2.3.4 "GET /a?b HTTP/1.1" HOST 200 9 0.3s answered=ANSWERED cache="CACHE" '
    f"visitor=anonymous at=1.5 id={ID}\nan error without an id\n",
    "backend": f'{{"path": "/page", "request_id": "{ID}"}}\n{{"path": "/", "request_id": "{ID[:-1]}"}}\n',
    "second": "",
    "third": "",
}


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("/media/fox.svg?a=b", ("localhost", 8080, "/media/fox.svg?a=b")),
        ("http://classic.localhost:8080/", ("classic.localhost", 8080, "/")),
        ("http://direct.localhost/a", ("direct.localhost", 8081, "/a")),
        ("http://localhost:8081/a", ("localhost", 8081, "/a")),
    ],
)
def test_a_path_or_a_url_of_the_stack(url: str, found: tuple[str, int, str]) -> None:
    assert trace.parse(url, 8080, 8081) == found


@pytest.mark.parametrize("url", ["", "nonsense", "http://localhost", "https://localhost/", "/a b", "/a\nX:"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(trace.Refused, match=r"Name the request: make trace URL=/media/fox\.svg, or URL="):
        trace.parse(url, 8080, 8081)


@pytest.fixture
def origin() -> Iterator[Origin]:
    """Yield the server that answers in place of nginx."""
    origin = Origin("nginx")
    yield origin
    origin.close()


@pytest.fixture
def traced(
    origin: Origin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Return traced(url, cache, answered, **settings), which returns the output for LOGS alone."""
    monkeypatch.setattr(trace, "FLUSHED", 0)

    def print_trace(url: str, cache: str = "", answered: str = "nginx:hit", **settings: str) -> str:
        host = "second.localhost" if url in ("", "http://second.localhost/") else "localhost"

        stack = create_autospec(Running)
        stack.varnish.return_value = ""
        if "varnish" in settings.get("AWAY", ""):
            stack.varnish.side_effect = NotRunning("varnish is not running.\nType: make up")

        def log(service: str) -> str:
            text = LOGS[service].replace("HOST", host).replace("ANSWERED", answered)
            return text.replace("CACHE", cache.replace("\r\ncache-status:", ","))

        stack.log.side_effect = log
        monkeypatch.setattr(trace, "running", lambda: stack)
        headers = {"x_request_id": ID, "server": "UpStage"} | ({"cache_status": cache} if cache else {})
        origin.respond = lambda _: response(b"x" * 300_000, **headers)
        ports = {"HTTP_PORT": str(origin.port), "WEB_PORT": "1"}  # a closed port
        places = {"BIND_ADDR": "127.0.0.1", "THEATRES": "second third", "BACKENDS": "backend"}
        for name, value in {**ports, **places, "URL": url, **settings}.items():
            monkeypatch.setenv(name, value)
        trace.main()
        return capsys.readouterr().out

    return print_trace


def test_the_request_its_tree_and_the_reasons(origin: Origin, traced: Callable[..., str]) -> None:
    cache = "varnish; hit\r\ncache-status: nginx; hit"
    assert traced("/page?ä", cache, HEADER="Cookie: who=me").splitlines() == [
        f"GET http://localhost:{origin.port}/page?ä",
        "  HTTP/1.1 200 OK",
        "  Cache-Status: varnish; hit, nginx; hit",
        "",
        f"{'when':<84} after     for",
        f"  {'nginx GET':<44} {'█' * 40}       0.0    300.0 ms",
        "      nginx has a copy of this second",
    ]
    [asked] = origin.requests
    assert asked.headers["cookie"] == "who=me"
    assert origin.sent  # the whole response was sent


@pytest.mark.parametrize(
    ("answered", "cache", "said"),
    [
        ("nginx:disk", "-", "    nginx reads the file"),
        ("nginx:disk", "varnish; hit, nginx; detail=disk", "varnish: its log no longer has the request"),
        ("backend:none", "nginx; fwd=bypass", "    no cache was asked"),
        ("varnish:hit", "varnish; hit, nginx; fwd=uri-miss", "varnish: its log no longer has the request"),
    ],
)
def test_why_varnish_has_no_record(answered: str, cache: str, said: str, traced: Callable[..., str]) -> None:
    assert traced("/media/a", cache, answered).endswith(f"{said}\n")


def test_without_varnish_the_others_still_tell(traced: Callable[..., str]) -> None:
    said = traced("/media/a", "nginx; detail=error", "nginx:error", AWAY="varnish")
    assert said.endswith("\n\nvarnish: varnish is not running.\n")


def test_what_another_machine_has_is_named(traced: Callable[..., str]) -> None:
    """With extras/edge, this is machine 2, whose requests go to machine 3's Varnish or to its own."""
    here = {"BACKENDS": "", "MACHINE": "192.0.2.2", "FIRST_MACHINE": "192.0.2.1"}
    varnish = f"varnish: that of 192.0.2.3 has answered. Type there: make trace ID={ID}\n"
    assert traced("/", "varnish-192.0.2.3; hit", "varnish:hit", **here).endswith(f"ms\n\n{varnish}")
    said = traced("/", "varnish-192.0.2.3; fwd=uri-miss", "backend:miss", **here)
    backend = f"backend: it runs on 192.0.2.1. Type there: make trace ID={ID}\n"
    assert said.endswith(f"ms\n\n{varnish}{backend}")
    said = traced("/", "varnish-192.0.2.2; hit", "varnish:hit", **here)
    assert said.endswith("ms\n\nvarnish: its log no longer has the request\n")


def test_what_came_to_another_machine_is_found_by_its_id(
    traced: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = {"time": "1970-01-01T00:00:01.450Z", "ms": 200.0, "request_id": ID, "parent": "7" * 16}
    page = {"method": "GET", "path": "/a", "status": 200, "bytes": 9, **ended}
    monkeypatch.setitem(LOGS, "nginx", "")
    monkeypatch.setitem(LOGS, "backend", json.dumps(page))
    _, _, span, _, note = traced("", ID=ID).splitlines()
    assert span.split() == ["backend", "page", "█" * 40, "0.0", "200.0", "ms"]
    assert note == "nginx: its log has no such request; it may have come to another machine"


def test_a_request_of_before(origin: Origin, traced: Callable[..., str]) -> None:
    said = traced("", ID=ID)
    assert said.startswith("GET http://second.localhost/a?b\n  200\n\nwhen ")
    assert origin.requests == []
    with pytest.raises(trace.Refused, match=r"no log here has the request 0{32}"):
        traced("", ID="0" * 32)
    with pytest.raises(trace.Refused, match=r"X-Request-Id of a response"):
        traced("", ID=f"{ID}'")


def test_the_backend_s_own_port(origin: Origin, traced: Callable[..., str]) -> None:
    with pytest.raises(trace.Refused, match=r", 1, which is closed\. Type: make up EXTRAS=direct"):
        traced("http://direct.localhost/")
    said = traced("http://direct.localhost/", WEB_PORT=str(origin.port))
    assert "\nnginx copied the bytes: it reads no HTTP on this port\n" in said


def test_the_times_of_all_on_one_scale(traced: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    ended = {"time": "1970-01-01T00:00:01.450Z", "ms": 200.0, "request_id": ID}
    line = {"method": "GET", "path": "/a", "status": 200, "bytes": 9, **ended}
    monkeypatch.setitem(LOGS, "backend", json.dumps(line))
    *_, head, _, _, page = traced("/a", answered="backend:none").splitlines()
    assert head.split() == ["when", "after", "for"]
    assert page.split() == ["backend", "page", "█" * 27, "50.0", "200.0", "ms"]
