"""labs/static: its files, what a user costs, and its five servers on the engine."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench import cost
from bench.house import REPO, House, Problem
from bench.results import Measured, Results
from bench.tools import hold, sweep

LAB = REPO / "labs" / "static"
NGINX = ["nginx-shipped", "nginx-article", "nginx-today"]
APACHE = ["apache-event", "apache-prefork"]

ASSUMED = {
    "audience": 10_000,
    "seconds_between_files": 10,
    "dollars_per_hour": 0.1,
    "memory_bytes": 1_000_000_000,
    "load": 0.5,
    "hours": 100,
}


def at_rate(rate: int, saturated: bool = False, problem: str | None = None) -> Measured:
    median = {} if problem else {"saturated": float(saturated)}
    return Measured({"server": "x", "rate": rate}, median=median, problem=problem)


def with_connections(connections: int, size: float = 0, problem: str | None = None) -> Measured:
    median = {} if problem else {"bytes_per_connection": size}
    return Measured({"server": "x", "connections": connections}, median=median, problem=problem)


def test_the_file_has_5_kb() -> None:
    assert (LAB / "www" / "programme.html").stat().st_size == 5000


def test_a_server_keeps_up_until_it_is_saturated() -> None:
    assert cost.keeps_up([at_rate(500), at_rate(4000, saturated=True), at_rate(2000)]) == (2000, True)
    assert cost.keeps_up([at_rate(500), at_rate(2000, saturated=True), at_rate(4000)]) == (500, True)
    assert cost.keeps_up([at_rate(500, saturated=True)]) == (0, True)


def test_where_the_generator_was_the_limit_nothing_is_known() -> None:
    assert cost.keeps_up([at_rate(500), at_rate(2000, problem="the generator was the limit")]) == (500, False)
    late_then_saturated = [at_rate(500, problem="late"), at_rate(2000, saturated=True)]
    assert cost.keeps_up(late_then_saturated) == (0, False)


def test_what_was_held() -> None:
    assert cost.held([with_connections(10, 600), with_connections(10_000, 700)]) == (10_000, 700, False)
    assert cost.held([with_connections(10, 600), with_connections(10_000, problem="no")]) == (10, 600, True)
    count, _, in_vain = cost.held([with_connections(10, problem="no")])
    assert (count, in_vain) == (0, True)


def test_what_a_user_costs() -> None:
    # 5,000 by rate, 500,000 by memory: two machines, 0.1 dollars for 100 hours, 10,000 users.
    by_rate = cost.row("x", [at_rate(1000), with_connections(10_000, 1000)], ASSUMED)
    assert by_rate == "| x | at least 1,000 | 1,000 | 5,000 | its rate | 2 | 0.0020 |\n"
    by_memory = cost.row("x", [at_rate(1000), with_connections(10_000, 1_000_000)], ASSUMED)
    assert by_memory == "| x | at least 1,000 | 1,000,000 | 500 | its memory | 20 | 0.0200 |\n"
    limited = [
        at_rate(1000),
        at_rate(2000, True),
        with_connections(10, 1000),
        with_connections(99, problem="no"),
    ]
    assert cost.row("x", limited, ASSUMED) == (
        "| x | 1,000 | 1,000 | 10 | the connections it could hold | 1,000 | 1.0000 |\n"
    )
    assert cost.row("x", [at_rate(1000)], ASSUMED) == "| x | | | | | | |\n"


def test_the_table_goes_into_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [at_rate(1000), with_connections(10_000, 1000)]
    full = Results("static", "t", "full", "p", {}, {}, {}, {}, "begin", "end", {}, cells)
    full.write(tmp_path / "static.json")
    (tmp_path / "assumptions.toml").write_text((LAB / "assumptions.toml").read_text())
    (tmp_path / "README.md").write_text("before\n<!-- cost -->\nold\n<!-- /cost -->\nafter\n")
    monkeypatch.setattr(cost, "LAB", tmp_path)
    monkeypatch.setattr(cost, "RESULTS", tmp_path / "static.json")
    cost.main()
    page = (tmp_path / "README.md").read_text()
    assert page.startswith("before\n<!-- cost -->\n| server |")
    assert page.endswith(" |\n<!-- /cost -->\nafter\n")
    assert "old" not in page
    assert "| x | at least 1,000 | 1,000 | 5,000 | its rate | 2 | 0.0241 |" in page
    assert "| x | at least 1,000 |" in capsys.readouterr().out

    for less in (replace(full, mode="quick"), replace(full, finished=None)):
        less.write(tmp_path / "static.json")
        with pytest.raises(SystemExit, match="make lab LAB=static FULL=1"):
            cost.main()


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
