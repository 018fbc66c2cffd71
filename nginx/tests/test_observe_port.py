"""With OBSERVE_LOG: the port of Prometheus and of the last traces, for questions of this machine alone."""

from collections.abc import Iterator

import pytest

from nginx.tests.nginx_server import NginxServer
from tests.support.origin import Origin, response
from tests.support.wait import wait_until


class Watched(NginxServer):
    """nginx with a Prometheus and an exporter."""

    def __init__(self) -> None:
        self.prometheus, self.exporter = Origin("prometheus"), Origin("exporter")
        addresses = {"OBSERVE_ADDRESS": self.prometheus.address, "TRACES_ADDRESS": self.exporter.address}
        super().__init__(CLIENT_REQUESTS="50", **addresses)
        self.origins += [self.prometheus, self.exporter]
        self.settings["OBSERVE_LOG"] = f"unix:{self.folder}/observe.sock"


@pytest.fixture(scope="module")
def nginx() -> Iterator[Watched]:
    with Watched() as server:
        server.start()
        yield server


@pytest.fixture(autouse=True)
def as_new(nginx: Watched) -> None:
    for origin in nginx.origins:
        origin.forget()


def test_the_last_traces_come_from_the_exporter(nginx: Watched) -> None:
    assert nginx.request("/traces", port=nginx.observe).text == "exporter"
    assert nginx.request("/traces/x", port=nginx.observe).text == "prometheus"
    assert nginx.request("/traces", method="POST", port=nginx.observe).status == 405
    for origin in ("cross-site", "same-site"):
        answer = nginx.request(
            "/traces", port=nginx.observe, sec_fetch_site=origin, sec_fetch_mode="navigate"
        )
        assert answer.status == 403
    assert nginx.exporter.targets == ["/traces"]


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
def test_only_names_of_this_machine_reach_prometheus(nginx: Watched, host: str, status: int) -> None:
    answer = nginx.request("/api/v1/query?query=up", host, port=nginx.observe)
    assert answer.status == status
    assert nginx.prometheus.targets == (["/api/v1/query?query=up"] if status == 200 else [])


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
def test_only_questions_reach_prometheus(nginx: Watched, method: str, path: str, status: int) -> None:
    nginx.prometheus.answer = lambda request: response("" if request.method == "HEAD" else "x")
    assert nginx.request(path, method=method, port=nginx.observe).status == status
    assert len(nginx.prometheus.requests) == (status == 200)


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
    nginx: Watched, origin: str, mode: str, path: str, status: int
) -> None:
    answer = nginx.request(path, port=nginx.observe, sec_fetch_site=origin, sec_fetch_mode=mode)
    assert answer.status == status
    assert len(nginx.prometheus.requests) == (status == 200)


def test_the_page_may_use_its_own_scripts_and_styles_alone(nginx: Watched) -> None:
    answer = nginx.request("/", port=nginx.observe)
    assert (answer.status, answer.headers["location"]) == (302, "/user/")
    for path, script in (("/user/", "default-src 'self';"), ("/graph", "script-src 'self' 'unsafe-inline';")):
        policy = nginx.request(path, port=nginx.observe).headers["content-security-policy"]
        assert script in policy
        assert policy.endswith("; frame-ancestors 'none'")
    assert "unsafe" not in nginx.request("/user/x.js", port=nginx.observe).headers["content-security-policy"]


@pytest.mark.parametrize("host", ["localhost", "a.localhost", "[::1]"])
def test_a_lesson_is_on_the_port_of_the_stack(nginx: Watched, host: str) -> None:
    answer = nginx.request("/lessons/01-first-hit", f"{host}:9090", port=nginx.observe)
    assert (answer.status, answer.headers["location"]) == (302, f"http://{host}:8080/lessons/01-first-hit")
    assert nginx.prometheus.targets == []


def test_prometheus_may_come_and_go(nginx: Watched) -> None:
    nginx.prometheus.close()
    try:
        answer = nginx.request("/user/", port=nginx.observe)
    finally:
        nginx.prometheus.listen()
    assert (answer.status, answer.text) == (503, "Prometheus does not answer.\n")
    assert nginx.request("/user/", port=nginx.observe).status == 200


def test_nginx_starts_before_there_is_a_prometheus() -> None:
    with Watched() as server:
        server.settings["OBSERVE_ADDRESS"] = "prometheus.invalid:9090"
        server.start()
        assert server.request("/user/", port=server.observe).status == 503


def test_a_client_over_its_limit_still_sees_the_page_that_shows_it(nginx: Watched) -> None:
    def limited() -> bool:
        return nginx.request("/stages/demo", source="127.0.0.77").status == 429

    wait_until(limited, within=30, every=0)
    assert nginx.request("/user/", source="127.0.0.77", port=nginx.observe).status == 200
