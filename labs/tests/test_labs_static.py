"""labs/static: its files, and its five servers on the engine."""

import json
import os
import time
from collections.abc import Iterator

import pytest

from bench.house import REPO, House, Problem
from bench.tools import hold, sweep

LAB = REPO / "labs" / "static"
NGINX = ["nginx-shipped", "nginx-article", "nginx-today"]
APACHE = ["apache-event", "apache-prefork"]


def test_the_file_has_5_kb() -> None:
    assert (LAB / "www" / "programme.html").stat().st_size == 5000


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    """The lab's servers on the engine, in a house of our own."""
    if os.environ.get("ENGINE") == "no":
        pytest.skip("no container engine can run here (make test said why)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.house.PROJECT", "proscenium-test-static")
        with House(LAB, [*NGINX, *APACHE, "generator"]) as house:
            yield house


def settings(service: str) -> dict[str, object]:
    return {"host": service, "service": service, "port": 8080, "path": "/programme.html", "bytes": 5000}


@pytest.mark.parametrize("service", NGINX + APACHE)
def test_every_server_has_the_file_and_a_log(house: House, service: str) -> None:
    answer = house.run("generator", "curl", "-si", f"http://{service}:8080/programme.html?{service}")
    head, body = answer.split("\r\n\r\n", 1)
    assert head.startswith("HTTP/1.1 200 OK\r\n")
    assert "\r\nContent-Length: 5000\r\n" in head
    assert body == (LAB / "www" / "programme.html").read_text()
    assert ("nginx" if service in NGINX else "Apache") in head
    # Those as shipped write each line at once. One that could not write would be faster than it is.
    if service in ("nginx-shipped", *APACHE):
        deadline = time.monotonic() + 60
        while f"?{service} " not in house.run(service, "sh", "-c", "cat /var/log/*/access.log"):
            assert time.monotonic() < deadline, "no line in the log"
            time.sleep(0.2)


def test_the_process_models(house: House) -> None:
    found = {
        service: house.containers[service].top(ps_args="-eo pid,args")["Processes"]
        for service in house.services
    }
    assert len([args for _, args in found["nginx-article"] if "worker process" in args]) == 4
    said = {name: house.run(name, "sh", "-c", ". /etc/apache2/envvars && apache2 -V") for name in APACHE}
    models = {name: text.split("Server MPM:")[1].split()[0] for name, text in said.items()}
    assert models == {"apache-event": "event", "apache-prefork": "prefork"}


@pytest.mark.parametrize(
    ("service", "connections"), [(name, 200) for name in NGINX] + [(name, 5) for name in APACHE]
)
def test_held_connections(house: House, service: str, connections: int) -> None:
    # Apache sends away who has not asked for five seconds; the engine needs a second to tell the memory.
    wanted = {"connections": connections, "every": 0.5, "rounds": 6, "pause": 0.2, "patience": 60}
    found = hold.measure(house, {**settings(service), **wanted})
    assert found["errors"] == 0
    assert found["memory_bytes"] > 1_000_000
    assert found["replies_per_second"] > 0


def test_more_than_a_server_is_configured_for_is_refused(house: House) -> None:
    wanted = {"connections": 2000, "every": 1, "rounds": 1, "pause": 0.5, "patience": 60}
    with pytest.raises(Problem, match=r"^\d+ of 2000 connections held, then: "):
        hold.measure(house, {**settings("apache-event"), **wanted})


@pytest.mark.parametrize("service", NGINX + APACHE)
def test_a_slow_sweep(house: House, service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "LATE", float("inf"))  # no matter how busy this machine is
    found = sweep.measure(house, {**settings(service), "rate": 10, "seconds": 1, "timeout": 60})
    assert found["errors"] == 0
    assert found["milliseconds"] >= 0
    assert found["memory_bytes"] > 1_000_000


def test_the_servers_are_hardened(house: House) -> None:
    for service in [*NGINX, *APACHE]:
        config = house.containers[service].attrs
        host = config["HostConfig"]
        assert host["ReadonlyRootfs"], service
        assert host["CapDrop"] == ["ALL"], service
        assert host["SecurityOpt"] == ["no-new-privileges:true"], service
        assert config["Config"]["User"] == "33:33", service
        assert not host["PortBindings"], service
        assert host["Memory"], service
        assert host["PidsLimit"], service
        assert json.dumps(config["NetworkSettings"]["Networks"]).count("NetworkID") == 1, service
