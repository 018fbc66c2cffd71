"""The names and addresses of the topologies."""

import pytest

import topologies
from loadtest.tests.locust_library import parse

CORE = [f"{name}.localhost" for name in ("upstage", "classic", "nginx", "static", "direct")]


def test_further_theatres_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert topologies.hosts() == CORE
    monkeypatch.setenv("LOADTEST_THEATRES", " second  third ")
    assert topologies.hosts() == [*CORE, "second.localhost", "third.localhost"]
    assert parse("--topology=third.localhost").topology == "third.localhost"
    assert topologies.parse("third") == ["third.localhost"]


def test_each_theatre_has_a_stage_port_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADTEST_THEATRES", "second third")
    assert {topologies.stage_port(host, 17230) for host in CORE} == {17230}
    assert topologies.stage_port("second.localhost", 17230) == 17231
    assert topologies.stage_port("third.localhost", 17230) == 17232


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("direct,classic,nginx,static,default", [CORE[4], *CORE[1:4], CORE[0]]),
        (" default  upstage,upstage.localhost, nginx ", [CORE[0]] * 3 + [CORE[2]]),
    ],
)
def test_a_list_of_names(text: str, expected: list[str]) -> None:
    assert topologies.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default,second", "unknown topology 'second'; known are default, classic, nginx, static, direct"),
        (" , ", "1 to 20 topologies, not 0"),
        ("nginx " * 21, "1 to 20 topologies, not 21"),
    ],
)
def test_a_mistake_in_the_list(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        topologies.parse(text)


@pytest.mark.parametrize(
    ("target", "host", "expected"),
    [
        ("http://nginx:8000", "classic.localhost", "http://nginx:8000"),
        ("http://nginx:8000", "direct.localhost", "http://nginx:8081"),
        ("http://127.42.0.1:8000/", "direct.localhost", "http://127.42.0.1:8081"),
        ("http://[::1]:8000", "direct.localhost", "http://[::1]:8081"),
        ("http://nginx:8000", "alone.app", "http://nginx:18000"),
        ("http://nginx:8000", "nginx.app", "http://nginx:18001"),
        ("http://nginx:8000", "app.localhost", "http://nginx:8000"),
    ],
)
def test_some_topologies_have_a_port_of_their_own(target: str, host: str, expected: str) -> None:
    assert topologies.base_url(target, host, 8081, 18000) == expected


def test_the_metrics_of_the_direct_topology_come_through_nginx() -> None:
    assert topologies.metrics_host("direct.localhost") == "upstage.localhost"
    assert topologies.metrics_host("second.localhost") == "second.localhost"
