"""nginx's report of a request: a line of the log, and its member of Server-Timing."""

import re
import time

import pytest

from nginx.tests.nginx_server import SITES, NginxServer
from tests.support.origin import Request, response
from tests.support.wait import wait_until


def test_classic_has_a_log_of_its_own(server: NginxServer) -> None:
    shown = {"user_agent": "Lynx", "referer": "http://example.org/", "x_forwarded_for": "192.0.2.66"}
    server.request("/counted", "classic.localhost", "GET", None, b"", "", **shown)
    (line,) = wait_until(lambda: server.log_lines("/counted"))
    assert re.fullmatch(
        r'classic\.localhost 127\.0\.0\.1 - - \[[^]]+\] "GET /counted HTTP/1\.1" 200 16 '
        r'"http://example\.org/" "Lynx" answered=varnish:refused id=[0-9a-f]{32}',
        line,
    )


def test_a_line_of_the_log_is_one_line(server: NginxServer) -> None:
    server.request("/marked", user_agent="a\x1b[31m\x07", referer='"')
    server.request("/marked-%0aforged")
    assert len(wait_until(lambda: [x for x in [server.log_lines("/marked")] if len(x) == 2])[0]) == 2
    assert not server.log_lines("^forged")
    assert "\x1b" not in server.log.read_text()


@pytest.mark.parametrize("host", SITES)
def test_server_timing_has_a_member_of_each_server(server: NginxServer, host: str) -> None:
    server.respond_all(lambda _: response("x", server_timing='varnish;desc="hit"'))
    timing = server.request("/timed", host).headers["server-timing"]
    desc = "miss" if host == "localhost" else "pass"
    assert re.fullmatch(rf'varnish;desc="hit", nginx;desc="{desc}";dur=\d+', timing)
    own = server.request("/.nginx/nothing-such", host, port=server.load)
    assert "nginx;desc=" in own.headers["server-timing"]


def test_the_milliseconds_of_server_timing_are_true(server: NginxServer) -> None:
    def slow(request: Request) -> bytes:
        time.sleep(float(request.target[1:]))
        return response("x")

    server.backend.respond = slow
    for seconds in (0.05, 1.1):
        began = time.monotonic()
        timing = server.request(f"/{seconds}", "nginx.localhost").headers["server-timing"]
        most = (time.monotonic() - began) * 1000
        assert seconds * 1000 - 20 <= int(timing.split("dur=")[1]) <= most + 20
