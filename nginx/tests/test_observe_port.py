"""With OBSERVE_LOG: the port of Prometheus and of the last traces, for requests from this machine alone."""

import pytest

from nginx.tests.nginx_server import NginxServer
from tests.support.origin import response
from tests.support.wait import wait_until

SETTINGS = {"CLIENT_REQUESTS": "50", "OBSERVE_LOG": "unix:/nowhere/observe.sock"}


def test_the_last_traces_come_from_the_exporter(server: NginxServer) -> None:
    assert server.request("/traces", port=server.observe).text == "exporter"
    assert server.request("/traces/x", port=server.observe).text == "prometheus"
    assert server.request("/traces", method="POST", port=server.observe).status == 405
    for origin in ("cross-site", "same-site"):
        got = server.request("/traces", port=server.observe, sec_fetch_site=origin, sec_fetch_mode="navigate")
        assert got.status == 403
    assert server.exporter.targets == ["/traces"]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(
            (host, 200)
            for host in ("localhost:9090", "LOCALHOST", "a.localhost", "127.0.0.1:9090", "[::1]:9090")
        ),
        *(
            (host, 421)
            for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.7")
        ),
    ],
)
def test_only_names_of_this_machine_reach_prometheus(server: NginxServer, host: str, status: int) -> None:
    got = server.request("/api/v1/query?query=up", host, port=server.observe)
    assert got.status == status
    assert server.prometheus.targets == (["/api/v1/query?query=up"] if status == 200 else [])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", "/user/", 200),
        ("POST", "/api/v1/query", 200),
        ("POST", "/api/v1/query_range", 200),
        ("POST", "/api/v1/admin/tsdb/delete_series", 405),
        ("POST", "/api/v1/write", 405),
        ("POST", "/-/quit", 405),
        ("PUT", "/-/reload", 405),
        ("DELETE", "/api/v1/query", 405),
        ("OPTIONS", "/api/v1/query", 405),
    ],
)
def test_only_questions_reach_prometheus(server: NginxServer, method: str, path: str, status: int) -> None:
    server.prometheus.respond = lambda request: response("" if request.method == "HEAD" else "x")
    assert server.request(path, method=method, port=server.observe).status == status
    assert len(server.prometheus.requests) == (status == 200)


@pytest.mark.parametrize(
    ("origin", "mode", "path", "status"),
    [
        ("cross-site", "no-cors", "/api/v1/query?query=up", 403),  # a picture's address
        ("cross-site", "navigate", "/api/v1/query?query=up", 403),  # a frame
        ("same-site", "cors", "/api/v1/query?query=up", 403),  # another port of localhost
        ("cross-site", "navigate", "/federate?match[]=up", 403),
        ("cross-site", "navigate", "/user/", 200),  # a link
        ("same-origin", "cors", "/api/v1/query?query=up", 200),
        ("none", "navigate", "/api/v1/query?query=up", 200),  # typed
    ],
)
def test_pages_of_other_sites_may_only_lead_here(
    server: NginxServer, origin: str, mode: str, path: str, status: int
) -> None:
    got = server.request(path, port=server.observe, sec_fetch_site=origin, sec_fetch_mode=mode)
    assert got.status == status
    assert len(server.prometheus.requests) == (status == 200)


def test_the_page_may_use_its_own_scripts_and_styles_alone(server: NginxServer) -> None:
    got = server.request("/", port=server.observe)
    assert (got.status, got.headers["location"]) == (302, "/user/")
    for path, allowed in (
        ("/user/", "default-src 'self';"),
        ("/graph", "script-src 'self' 'unsafe-inline';"),
    ):
        policy = server.request(path, port=server.observe).headers["content-security-policy"]
        assert allowed in policy
        assert policy.endswith("; frame-ancestors 'none'")
    script = server.request("/user/x.js", port=server.observe)
    assert "unsafe" not in script.headers["content-security-policy"]


@pytest.mark.parametrize("host", ["localhost", "a.localhost", "[::1]"])
def test_a_lesson_is_on_the_port_of_the_stack(server: NginxServer, host: str) -> None:
    got = server.request("/lessons/01-first-hit", f"{host}:9090", port=server.observe)
    assert (got.status, got.headers["location"]) == (302, f"http://{host}:8080/lessons/01-first-hit")
    assert server.prometheus.targets == []


def test_prometheus_may_come_and_go(server: NginxServer) -> None:
    server.prometheus.close()
    try:
        got = server.request("/user/", port=server.observe)
    finally:
        server.prometheus.listen()
    assert (got.status, got.text) == (503, "Prometheus does not answer.\n")
    assert server.request("/user/", port=server.observe).status == 200


def test_nginx_starts_before_there_is_a_prometheus() -> None:
    with NginxServer(**SETTINGS, OBSERVE_ADDRESS="prometheus.invalid:9090") as without:
        without.start()
        assert without.request("/user/", port=without.observe).status == 503


def test_a_client_over_its_limit_still_sees_the_page_that_shows_it(server: NginxServer) -> None:
    def limited() -> bool:
        return server.request("/stages/demo", source="127.0.0.77").status == 429

    wait_until(limited, within=30, every=0)
    assert server.request("/user/", source="127.0.0.77", port=server.observe).status == 200
