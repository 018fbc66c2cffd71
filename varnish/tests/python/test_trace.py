"""`make trace` (bin/lib/trace.awk) has a sentence for every step, and the right one, in this varnishlog."""

import re
import subprocess
import time
import uuid
from collections.abc import Callable
from typing import Any

from support.http import connect, message
from support.origin import Request, response
from support.wait import wait_until
from varnish_server import VARNISH, VarnishServer

AWK = VARNISH.parent / "bin" / "lib" / "trace.awk"


def explained(server: VarnishServer, request_id: str, last: str = "") -> str:
    """What `make trace` says about a request, up to a sentence, with single spaces between the columns."""

    def lines() -> str:
        query = f'ReqHeader:X-Request-Id eq "{request_id}"'
        found = server.run("varnishlog", "-d", "-g", "request", "-n", server.workdir, "-q", query).stdout
        told = subprocess.run(["awk", "-f", AWK], input=found, capture_output=True, text=True, check=True)
        return "\n".join(" ".join(line.split()) for line in told.stdout.splitlines())

    return wait_until(lambda: text if last in (text := lines()) and text != "was not asked" else "")


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
    assert "miss -> fetch no copy" in miss
    assert miss.endswith("deliver -> deliver sent\ndone after " + miss.rpartition(" after ")[2])
    assert "kept for 43200 s, and for another 86400 s in case the backend fails" in miss
    assert "a copy that stays fresh for 43200 s\nhit -> deliver found" in ask("/media/a.svg")
    assert "handed over to another VCL" in ask("/c", "classic.localhost")
    backend.answer = answer("page", cache_control="max-age=9, must-revalidate")
    assert "kept for 9 s, and no longer: it must be revalidated" in ask("/strict")

    backend.answer = answer("private")
    for path, headers in (("/admin/", {}), ("/page", {"cookie": "a=b"})):
        passed = ask(path, **headers)
        assert "recv -> pass never cached" in passed
        assert "not stored: it is a pass" in passed
        assert "kept" not in passed
        assert "looked up" not in passed
    with connect(("127.0.0.1", server.port)) as browser:
        browser.sendall(message("/ws", upgrade="websocket", connection="upgrade", x_request_id="ws"))
        assert browser.recv(100)
    told.append(explained(server, "ws"))
    assert told[-1].splitlines()[-1] == "pipe -> pipe connected to the backend"
    assert ask("/brew", method="BREW").startswith(
        "recv -> synth answered by Varnish itself\nsynth -> deliver"
    )

    backend.answer = answer("nothing", "404 Not Found", "no-store")
    server.request("/missing")
    missing = ask("/missing")
    assert "the last response could not be stored, so requests do not wait for each other" in missing
    assert "not stored; for 120 s requests for this do not wait for each other (hit-for-miss)" in missing
    assert "kept for" not in missing

    backend.answer = answer("old")
    server.request("/stale")
    backend.answer = answer("broken", "500 Internal Server Error")
    time.sleep(1.2)
    stale = ask("/stale", last="abandon")
    assert "s ago: served immediately, while one request fetches" in stale
    assert stale.endswith(
        "backend_response -> error its response is an error\nbackend_error -> abandon the old copy stays"
    )
    failed = ask("/failed")
    for line in ("backend_error -> retry", "backend_error -> deliver given up", "deliver -> restart"):
        assert line in failed
    assert "miss -> synth no copy, and the backend has failed\nsynth -> deliver Varnish's own page" in failed
    backend.answer = but_to_the_probe(b"no HTTP\r\n\r\n")
    assert "deliver -> synth the fetch has failed, and a pass has no copy" in ask("/admin/failed")

    everything = "\n".join(told)
    sentences = re.findall(r'why\["(\w+) (\w+)"\] = "(.*)"', AWK.read_text())
    assert len(sentences) > 15
    assert [each for each in sentences if f"{each[0].lower()} -> {each[1]} {each[2]}" not in everything] == []
    steps = re.findall(r"^([a-z_]+ -> \w+) ?$", everything, re.M)
    assert steps == [], "steps without a sentence"
