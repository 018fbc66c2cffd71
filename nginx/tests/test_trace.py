"""A request's id, a trace-id of the W3C: from whom nginx accepts one, and to whom it passes it on."""

import re
from collections.abc import Iterator

import pytest

from nginx.tests.nginx_server import SITES, NginxServer
from tests.support.http import Response
from tests.support.wait import wait_until

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GIVEN = f"00-{TRACE}-{SPAN}-01"
NAMED = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])")
NONE = [  # values that the standard calls invalid
    "",
    TRACE,
    f"00-{TRACE}-{SPAN}",
    f"ff-{TRACE}-{SPAN}-01",
    f"00-{TRACE}-{SPAN}-01-more",
    f"01-{TRACE}-{SPAN}-01.more",
    f"00-{'0' * 32}-{SPAN}-01",
    f"00-{TRACE}-{'0' * 16}-01",
    f"00-{TRACE.upper()}-{SPAN}-01",
    f"00-{TRACE[:-1]}g-{SPAN}-01",
    f"{GIVEN}, {GIVEN}",
]


class Traced(NginxServer):
    def ask(self, traceparent: str, host: str, port: int | None = None) -> tuple[Response, dict[str, str]]:
        """Send a request with a trace; return the response, and the headers that an upstream got."""
        for origin in self.origins:
            origin.forget()
        response = self.request(
            "/x", host, "GET", port, b"", "", traceparent=traceparent, tracestate="a=b", user_agent="Locust"
        )
        [request] = [each for origin in self.origins for each in origin.requests]
        return response, request.headers


@pytest.fixture(scope="module")
def nginx() -> Iterator[Traced]:
    with Traced(TRACE_SHARE="0.01", APP="http://127.0.0.1:5000") as server:
        server.start()
        yield server


@pytest.mark.parametrize("host", [*SITES, "app.localhost"])
def test_a_client_of_the_load_port_may_bring_a_trace(nginx: Traced, host: str) -> None:
    response, headers = nginx.ask(GIVEN, host, nginx.load)
    named = NAMED.fullmatch(headers["traceparent"])
    assert named
    assert (named[1], named[3]) == (TRACE, "01")
    assert named[2] not in (SPAN, TRACE[-16:]), "nginx has a span of its own"
    assert headers["tracestate"] == "a=b"
    assert response.headers["x-request-id"] == headers["x-request-id"] == TRACE
    assert wait_until(lambda: nginx.log_lines(f"id={TRACE}"))


@pytest.mark.parametrize("host", [*SITES, "app.localhost"])
def test_elsewhere_it_is_a_claim(nginx: Traced, host: str) -> None:
    response, headers = nginx.ask(GIVEN, host)
    named = NAMED.fullmatch(headers["traceparent"])
    assert named
    assert named[1] == headers["x-request-id"] == response.headers["x-request-id"] != TRACE
    assert headers.get("tracestate", "") == ""


@pytest.mark.parametrize("given", NONE, ids=range(len(NONE)))
def test_what_is_no_trace_begins_a_new_one(nginx: Traced, given: str) -> None:
    _, headers = nginx.ask(given, "localhost", nginx.load)
    named = NAMED.fullmatch(headers["traceparent"])
    assert named
    assert named[1] == headers["x-request-id"] != TRACE
    assert headers.get("tracestate", "") == ""


@pytest.mark.parametrize(("flags", "sent"), [("00", "00"), ("01", "01"), ("02", "00"), ("ff", "01")])
def test_the_client_says_whether_its_trace_is_kept(nginx: Traced, flags: str, sent: str) -> None:
    for version in ("00", "0a"):
        _, headers = nginx.ask(f"{version}-{TRACE}-{SPAN}-{flags}", "localhost", nginx.load)
        assert headers["traceparent"][-3:] == f"-{sent}"


def test_a_later_version_may_say_more(nginx: Traced) -> None:
    _, headers = nginx.ask(f"01-{TRACE}-{SPAN}-01-more", "localhost", nginx.load)
    assert TRACE in headers["traceparent"]


def test_nginx_draws_the_share() -> None:
    with Traced(TRACE_SHARE="100") as server:
        server.start()
        _, headers = server.ask("", "localhost")
        assert headers["traceparent"].endswith("-01")
