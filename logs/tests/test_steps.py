"""`make trace` has a sentence for every step that the deployed VCL takes, and the right one."""

import re
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from logs.steps import SENTENCES, steps
from logs.varnishlog import requests
from tests.support.http import connect, message
from tests.support.origin import Request, response
from tests.support.wait import wait_until
from varnish.tests.python.varnish_server import VARNISH, VarnishServer

DEPLOYED = [file for file in VARNISH.glob("*.vcl") if file.name != "site.vcl"]


@pytest.fixture
def server() -> Iterator[VarnishServer]:
    """A running Varnish."""
    with VarnishServer() as running:
        running.start()
        yield running


def explained(server: VarnishServer, request_id: str, last: str = "") -> str:
    """Return what `make trace` says about a request, up to a sentence."""

    def lines() -> str:
        query = f'ReqHeader:X-Request-Id eq "{request_id}"'
        log = server.run("varnishlog", "-d", "-g", "request", "-n", server.workdir, "-q", query).stdout
        return "\n".join(
            " ".join(line).strip() for seen in requests(log.splitlines()) for line in steps(seen)
        )

    return wait_until(lambda: text if last in (text := lines()) else "")


def answer(
    body: str, status: str = "200 OK", cache_control: str = "s-maxage=1"
) -> Callable[[Request], bytes]:
    return but_to_the_probe(response(body, status=status, cache_control=cache_control))


def but_to_the_probe(data: bytes) -> Callable[[Request], bytes]:
    """The backend stays healthy, whatever else it answers."""
    return lambda request: response("well") if request.target == "/health" else data


def test_every_step_has_its_sentence(server: VarnishServer) -> None:
    backend, told = server.backend, list[str]()

    def ask(path: str, host: str = "localhost", method: str = "GET", last: str = "", **headers: Any) -> str:
        request_id = uuid.uuid4().hex
        server.request(path, host, method, x_request_id=request_id, **headers)
        told.append(explained(server, request_id, last))
        return told[-1]

    backend.answer = answer("page")
    miss = ask("/media/a.svg")
    assert (
        "hash -> lookup looked up by host and URL\nmiss -> fetch no usable copy\nbackend_fetch -> fetch"
        in miss
    )
    assert "over a new connection to upstage\n" in miss
    assert miss.endswith("deliver -> deliver sent\ndone after " + miss.rpartition(" after ")[2])
    assert "kept for 43200 s, and for another 86400 s in case the backend fails" in miss
    assert re.search(
        r"answered 200 after \d+\.\d ms, Cache-Control: s-maxage=1\nbackend_response -> deliver", miss
    )
    assert "hit -> deliver a copy that stays fresh for 43200 s\ndeliver" in ask("/media/a.svg")
    assert "handed over to another VCL" in ask("/c", "classic.localhost")
    backend.answer = answer("page", cache_control="max-age=9, must-revalidate")
    assert "kept for 9 s, and no longer: it must be revalidated" in ask("/strict")

    backend.answer = answer("private")
    for path, method, headers, why in (
        ("/admin/", "GET", {}, "this path is never cached"),
        ("/page", "GET", {"cookie": "a=b"}, "a cookie"),
        ("/page", "GET", {"authorization": "Basic YTpi"}, "a password"),
        ("/page", "POST", {}, "the method POST"),
    ):
        passed = ask(path, method=method, **headers)
        assert f"rule {why}\nrecv -> pass not looked up\npass -> fetch" in passed
        assert "over a connection that was open to upstage\n" in passed
        assert "not stored: it is a pass" in passed
        assert "kept" not in passed
        assert "hash -> lookup" not in passed
    with connect(("127.0.0.1", server.port)) as browser:
        browser.sendall(message("/ws", upgrade="websocket", connection="upgrade", x_request_id="ws"))
        assert browser.recv(100)
    told.append(explained(server, "ws"))
    assert told[-1].splitlines()[-1] == "pipe -> pipe connected to the backend"
    brewed = "rule an unknown method\nrecv -> synth answered by Varnish itself\nsynth -> deliver"
    assert ask("/brew", method="BREW").startswith(brewed)
    for path, host, method in (("/", "localhost", "PURGE"), ("/" + "a" * 4096, "localhost", "GET")):
        ask(path, host, method)
    ask("/", "a*b")
    ask("/again", "classic.localhost", cache_control="no-cache")
    ask("/media/a.svg", if_match='"x"')
    for number, fields in enumerate(
        ({}, {"set_cookie": "a=b"}, {"vary": "*"}, {"cache_control": "private, max-age=9"})
    ):
        backend.answer = but_to_the_probe(response("x", **{"cache_control": "max-age=9", **fields}))
        ask(f"/not-stored-{number}")
    backend.answer = but_to_the_probe(response("x"))
    ask("/not-stored")

    backend.answer = answer("nothing", "404 Not Found", "no-store")
    server.request("/missing")
    missing = ask("/missing")
    assert "miss -> fetch the last response could not be stored\n" in missing
    assert "not stored; for 120 s requests for this do not wait for each other (hit-for-miss)" in missing
    assert "kept for" not in missing

    backend.answer = answer("old")
    server.request("/renewed")
    server.request("/stale")
    time.sleep(1.2)
    renewed = ask("/renewed", last="kept for")
    assert "; fetched in the background\ndeliver -> deliver sent\ndone after " in renewed
    assert "\nin the background a fetch for later requests\nbackend_fetch -> fetch" in renewed
    backend.answer = answer("broken", "500 Internal Server Error")
    stale = ask("/stale", last="abandon")
    assert re.search(r"hit -> deliver a copy that expired \d s ago; the backend fails\ndeliver", stale)
    assert stale.endswith(
        "backend_response -> error its response is an error\nbackend_error -> abandon the old copy stays"
    )
    failed = ask("/failed")
    for line in ("backend_error -> retry", "backend_error -> deliver given up"):
        assert line in failed
    assert (
        "deliver -> synth the fetch has failed, and there is no copy\nsynth -> deliver Varnish's own page"
        in failed
    )
    backend.answer = but_to_the_probe(b"no HTTP\r\n\r\n")
    garbled = ask("/admin/failed")
    assert re.search(r"^failed: .+\n", garbled, re.M)
    assert "deliver -> synth the fetch has failed, and there is no copy" in garbled

    everything = "\n".join(told)
    rules = re.findall(r'std\.log\("rule: ([^"]+)"', "".join(file.read_text() for file in DEPLOYED))
    assert len(rules) > 10
    assert [rule for rule in rules if f"rule {rule}" not in everything] == []
    # For a copy that expired ten seconds ago.
    late = {
        "backend_fetch -> abandon",
        "deliver -> restart",
        "hit -> restart",
        "miss -> restart",
        "miss -> synth",
    }
    assert {step for step in SENTENCES if f"{step} " not in everything} == late
    assert re.findall(r"^[a-z_]+ -> \w+$", everything, re.M) == [], "steps without a sentence"
