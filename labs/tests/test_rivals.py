"""labs/rivals: every server in front of the same backend serves the same files, and caches what it can."""

import uuid
from typing import Any

import pytest

from labs.bench.drivers import crowd, outage
from labs.bench.drivers.crowd import requests_to_origin
from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack
from labs.tests.running_lab import ask_often, measure_briefly, needs_engine
from tests.stack import REPO
from tests.support.wait import wait_until

LAB = "rivals"
CELLS = load(REPO / "labs" / LAB, "full").cells
ADDRESSES = {
    str(cell.key["server"]): (str(cell.settings["url"]), str(cell.settings["tls"])) for cell in CELLS
}
CACHES = ("default", "nginx", "varnish", "haproxy", "squid", "apache")
SMALL, BIG, PAGE = "/media/bench/small.swf", "/media/bench/big.swf", "/stages/demo"

# The HTTP version, the status and the SHA-256 of the content; the encoding in a second line, if there is one.
CURL = """
curl -sk --compressed --connect-to "::$1" -D /tmp/head -o /tmp/body -w '%{http_version} %{http_code} ' "$2"
sha256sum </tmp/body && sed -n 's/^content-encoding: *//ip' /tmp/head
"""


def ask(lab: LabStack, server: str, path: str, times: int = 1) -> list[tuple[int, str]]:
    """GET requests over HTTP: the status and the SHA-256 of each response."""
    host, _, port = ADDRESSES[server][0].removeprefix("http://").partition(":")
    received = ask_often(lab, host, int(port), [(path, {"Host": "upstage.localhost"})] * times)
    return [(one.status, one.sha256) for one in received]


@needs_engine
@pytest.mark.slow
def test_every_driver_measures_the_servers(lab: LabStack) -> None:
    assert measure_briefly(lab, LAB).keys() == {"wrk", "h2load", "crowd", "outage"}


@needs_engine
@pytest.mark.slow
@pytest.mark.parametrize("server", ADDRESSES)
class TestServers:
    @pytest.mark.parametrize("path", [SMALL, BIG, PAGE])
    def test_it_serves_the_backends_content_over_http_and_tls(
        self, lab: LabStack, server: str, path: str
    ) -> None:
        [origin] = ask_often(lab, "backend", 8081, [(path, {"Host": "upstage.localhost"})])
        assert ask(lab, server, path) == [(200, origin.sha256)]
        url = f"https://upstage.localhost:8443{path}"
        first, *encoding = lab.run(
            "generator", "bash", "-c", CURL, "curl", ADDRESSES[server][1], url
        ).splitlines()
        version, status, content = first.split()[:3]
        assert (status, content) == ("200", origin.sha256)
        assert version == ("1.1" if server == "squid" else "2")
        assert encoding == (["gzip"] if path == PAGE and server != "squid" else [])

    def test_a_second_request_does_not_reach_the_origin_if_the_server_has_a_cache(
        self, lab: LabStack, server: str
    ) -> None:
        def fetched() -> float:
            before = requests_to_origin(lab)
            ask(lab, server, f"{PAGE}?{uuid.uuid4().hex}", times=4)
            return requests_to_origin(lab) - before

        # Again if its one second, which Squid counts from a whole one, has ended in between.
        wait_until(lambda: fetched() == (1 if server in CACHES else 4))


# The last one: the servers do not notice at once that the backend is back.
@needs_engine
@pytest.mark.slow
def test_a_crowd_and_an_outage_at_the_stacks_own_caches(lab: LabStack) -> None:
    def settings(**key: str) -> dict[str, Any]:
        return next(
            dict(cell.settings) for cell in CELLS if cell.key.items() >= {**key, "server": "default"}.items()
        )

    found = crowd.measure(lab, settings(crowd="none"))
    assert (found["requests_to_origin"], found["served"]) == (1, 200)
    down = outage.measure(lab, settings(backend="down"))
    assert [down[f"{name}_status"] for name in ("fresh", "expired", "missing")] == [200, 200, 503]
