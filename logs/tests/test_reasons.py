"""The tree of `make trace` shows each rule that the deployed VCL logs, and how each copy comes and goes."""

import re
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from logs.spans import in_varnish, lines
from logs.varnishlog import requests
from tests.support.origin import Request, response
from tests.support.wait import wait_until
from varnish.tests.python.varnish_server import VARNISH, VarnishServer

DEPLOYED = [file for file in VARNISH.glob("*.vcl") if file.name != "app.vcl"]
DEPLOYED.append(VARNISH.parent / "starter" / "varnish" / "purge.vcl")


@pytest.fixture
def server() -> Iterator[VarnishServer]:
    """Yield a running Varnish."""
    with VarnishServer() as running:
        running.start()
        yield running


def sends(
    body: str, status: str = "200 OK", cache_control: str = "s-maxage=1", **fields: str
) -> Callable[[Request], bytes]:
    """Return a backend that stays healthy, and sends this response to every other request."""
    data = response(body, status=status, cache_control=cache_control, **fields)
    return lambda request: response("well") if request.target == "/health" else data


def test_every_rule_and_every_way_of_a_copy_is_told(server: VarnishServer) -> None:
    backend, told = server.backend, list[str]()

    def ask(path: str, host: str = "localhost", method: str = "GET", last: str = "", **headers: Any) -> str:
        request_id = uuid.uuid4().hex
        server.request(path, host, method, x_request_id=request_id, **headers)
        query = f'ReqHeader:X-Request-Id eq "{request_id}"'

        def tree() -> str:
            log = server.run("varnishlog", "-d", "-g", "request", "-n", server.workdir, "-q", query).stdout
            return "\n".join(line for seen in requests(log.splitlines()) for line in lines(in_varnish(seen)))

        told.append(wait_until(lambda: text if last in (text := tree()) else ""))
        return told[-1]

    backend.respond = sends("page")
    miss = ask("/media/a.svg")
    assert miss.index("no usable copy") < miss.index("varnish fetch")
    assert re.search(r"answered 200 after \d+\.\d ms, Cache-Control: s-maxage=1\n", miss)
    assert "kept for 43200 s, and for another 86400 s in case the backend fails" in miss
    assert "a copy that stays fresh for 43200 s" in ask("/media/a.svg")
    backend.respond = sends("page", cache_control="max-age=9, must-revalidate")
    assert "kept for 9 s, and no longer: it must be revalidated" in ask("/strict")

    backend.respond = sends("private")
    for path, method, headers, why in (
        ("/admin/", "GET", {}, "this path is never cached"),
        ("/page", "GET", {"cookie": "a=b"}, "a cookie"),
        ("/page", "GET", {"authorization": "Basic YTpi"}, "a password"),
        ("/page", "POST", {}, "the method POST"),
    ):
        passed = ask(path, method=method, **headers)
        assert f"    {why}\n" in passed
        assert "not stored: it is a pass" in passed
        assert "kept" not in passed
    assert ask("/brew", method="BREW").endswith("    an unknown method")
    for path, host, method in (("/", "localhost", "PURGE"), ("/" + "a" * 4096, "localhost", "GET")):
        ask(path, host, method)
    ask("/", "a*b")
    ask("/again", "classic.localhost", cache_control="no-cache")
    ask("/media/a.svg", if_match='"x"')
    for number, fields in enumerate(({"set_cookie": "a=b"}, {"vary": "*"}, {})):
        backend.respond = sends("x", cache_control="max-age=9" if fields else "private, max-age=9", **fields)
        ask(f"/not-stored-{number}")
    backend.respond = sends("x", cache_control="")
    ask("/not-stored")

    again = ask("/not-stored")
    assert "    the last response could not be stored\n" in again
    assert "not stored; for 120 s requests for this do not wait for each other (hit-for-miss)" in again
    backend.respond = sends("nothing", "404 Not Found", "no-store")
    assert "not stored; each who waits for it asks the backend" in ask("/missing")

    backend.respond = sends("old")
    server.request("/renewed")
    server.request("/stale")
    time.sleep(1.2)
    assert re.search(r"expired \d s ago; fetched in the background", ask("/renewed", last="kept for"))
    backend.respond = sends("broken", "500 Internal Server Error")
    assert re.search(r"expired \d s ago; the backend fails", ask("/stale", last="answered 500"))
    assert "varnish fetch again (failed)" in ask("/failed")

    everything = "\n".join(told)
    rules = re.findall(r'std\.log\("rule: ([^"]+)"', "".join(file.read_text() for file in DEPLOYED))
    assert len(rules) > 10
    assert [rule for rule in rules if rule not in everything] == []
