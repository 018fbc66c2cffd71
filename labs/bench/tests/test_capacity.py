"""Capacity: what the driver makes of Locust's report, and a climb of a real Locust."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench import cpu as cpu_module
from bench import machine
from bench.cpu import MACHINE, Cpu, interpolated
from bench.drivers import capacity
from bench.experiment import load
from bench.lab_stack import LabStack, Problem, Usage
from fake_site import FakeSite
from stack import REPO
from support.origin import response
from support.ports import free_ports
from support.wait import wait_until

SETTINGS = {"topology": "x", "most": 2, "rate": 20, "seconds": 1, "warm_up": 0, "processes": 2, "cores": 1}


class Stack:
    """A stack whose services each use half a core; Locust answers with the next report."""

    def __init__(self, *reports: dict[str, Any]) -> None:
        self.services = ["backend", "locust"]
        self.reports = list(reports)
        self.commands: list[tuple[str, ...]] = []

    def run(self, service: str, *command: str) -> str:
        assert service == "locust"
        self.commands.append(command)
        return json.dumps(self.reports.pop(0))

    def usage(self, services: list[str]) -> dict[str, Usage]:
        return {name: Usage(time.time() / 2, 0, 1) for name in services}

    @property
    def stack(self) -> LabStack:
        return cast(LabStack, self)


@pytest.fixture(autouse=True)
def levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the levels."""
    monkeypatch.setattr(capacity, "LEVELS", tmp_path / "levels")
    return tmp_path / "levels"


def level(users: int, carried: bool, limited: bool = False, **changes: Any) -> dict[str, Any]:
    figures = {
        "requests_per_second": 2.0 * users,
        "p95_ms": 40,
        "hit_ratio": 0.9,
        "backend_requests_per_second": 7.0,
        "generator_cpu_percent": 55.0,
    }
    when = {"began": time.time() - 10, "seconds": 8.0}
    return {"users": users, "carried": carried, "limited": limited, **when, **figures, **changes}


def report(*levels: dict[str, Any], outcome: str = "") -> dict[str, Any]:
    return {"outcome": outcome, "measurements": list(levels)}


def measured(*levels: dict[str, Any]) -> dict[str, float]:
    return capacity.measure(Stack(report(*levels)).stack, SETTINGS)


def test_the_figures_are_those_of_the_highest_level_that_was_carried() -> None:
    found = measured(
        level(50, True), level(100, True), level(200, False), level(150, False), level(125, True)
    )
    assert found["visitors_carried"] == 125
    assert found["visitors_failing"] == 150
    assert found["generator_was_the_limit"] == 0
    assert found["requests_per_second"] == 250
    assert found["p95_milliseconds"] == 40
    assert (found["hit_ratio"], found["backend_requests_per_second"]) == (0.9, 7)
    assert found["generator_cpu_percent"] == 55


def test_a_figure_that_was_not_measured_is_left_out() -> None:
    found = measured(level(50, True, backend_requests_per_second=None))
    assert "backend_requests_per_second" not in found
    assert "visitors_failing" not in found, "even the highest level was carried"


def test_the_limit_is_locusts_if_it_failed_at_the_lowest_level_that_was_too_high() -> None:
    limited = level(100, False, limited=True)
    assert measured(level(50, True), level(200, False), limited)["generator_was_the_limit"] == 1
    assert measured(level(50, True), limited, level(75, False))["generator_was_the_limit"] == 0


def test_a_topology_that_carries_nobody_is_rejected_with_locusts_reason() -> None:
    outcome = "direct carries fewer than 1 visitors. At 1: errors"
    with pytest.raises(Problem, match=outcome):
        capacity.measure(Stack(report(level(1, False), outcome=outcome)).stack, SETTINGS)
    with pytest.raises(Problem, match="Locust measured nothing"):
        measured()


def test_every_level_is_kept(levels: Path) -> None:
    measured(level(50, True, reason=""), level(100, False, reason="p95 of GET /media/*"))
    kept = json.loads((levels / "x.json").read_text())["measurements"]
    assert [(one["users"], one["reason"]) for one in kept] == [(50, ""), (100, "p95 of GET /media/*")]


def test_the_cpu_is_that_of_the_knee(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend is busy from the tenth second to the twentieth, and half of the machine all the time."""
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    cpu = Cpu(Stack().stack)
    cpu.samples = [
        (moment, {"backend": min(max(0.0, moment - 10), 10.0), "locust": 0.4 * moment, MACHINE: 2 * moment})
        for moment in (0.0, 10.0, 20.0, 31.0)
    ]
    found = capacity.metrics(report(level(5, True, began=12.0, seconds=6.0)), cpu, 0.25)
    assert found["cpu_percent.backend"] == pytest.approx(100)
    assert found["backend_share_percent"] == pytest.approx(400), "of the quarter of a core that it may use"
    assert found["cpu_percent.locust"] == pytest.approx(40)
    assert found["system_cpu_percent"] == pytest.approx(50)
    assert found["system_without_generator_cpu_percent"] == pytest.approx(40)
    before = capacity.metrics(report(level(5, True, began=3.0, seconds=6.0)), cpu, 0.25)
    assert before["cpu_percent.backend"] == 0


def test_cpu_times_are_read_while_a_load_runs_and_once_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_module, "PAUSE", 0.01)
    with Cpu(Stack().stack) as cpu:
        wait_until(lambda: len(cpu.samples) >= 3, within=60)
        over = time.time()
    assert cpu.samples[-1][0] >= over
    begin, end = cpu.samples[0][0], cpu.samples[-1][0]
    assert cpu.percent(begin, end)["cpu_percent.backend"] == pytest.approx(50, rel=0.2)
    assert cpu.samples[-1][1][MACHINE] >= cpu.samples[0][1][MACHINE] > 0


def test_between_two_points_a_value_is_in_proportion() -> None:
    points = [(1.0, 10.0), (2.0, 20.0), (4.0, 20.0)]
    assert [interpolated(points, x) for x in (0, 1, 1.5, 3, 9)] == [10, 10, 15, 20, 20]


def test_the_listener_of_direct_is_the_stacks_but_for_the_number_of_connections() -> None:
    ours = (REPO / "labs" / "capacity" / "direct.conf.template").read_text()
    assert ours.replace("12000", "2000") == (REPO / "nginx/streams/direct.conf.template").read_text()
    # Three of four visitors are browsers: six connections, two for what the backend holds, a WebSocket.
    assert all(
        0.75 * 9 * cell.settings["most"] <= 12_000 for cell in load(REPO / "labs" / "capacity", "full").cells
    )


def test_a_change_of_locusts_files_is_another_configuration_of_this_lab_alone() -> None:
    stack = cast(LabStack, SimpleNamespace(description=""))
    labs = {name: load(REPO / "labs" / name, "quick") for name in ("capacity", "fan-out")}
    found = {name: machine.configuration(stack, lab).keys() for name, lab in labs.items()}
    assert found["capacity"] - found["fan-out"] == {"locust"}
    assert all((REPO / path).exists() for path in machine.LOCUST)


# Any machine can hold these.
THRESHOLDS = """
[error_ratio]
"*" = 0
[generator]
cpu_percent = 1000
late_ms = 9000
"""


class Native(Stack):
    """Runs Locust here, for a site on loopback."""

    def __init__(self, site: FakeSite, thresholds: Path) -> None:
        super().__init__()
        self.thresholds = thresholds
        [master] = map(str, free_ports(1))
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "LOCUST_HOST": site.url,
            "LOADTEST_STAGE": "demo",
            "LOADTEST_CHAT_RATE": "240",  # so that there are samples in each second
            "LOADTEST_STAGE_PORT": str(site.stage.socket.port),
            "LOADTEST_POLICY_PORT": str(site.stage.policy_socket.port),
            "LOCUST_MASTER_BIND_HOST": "127.0.0.1",
            **dict.fromkeys(("LOCUST_MASTER_BIND_PORT", "LOCUST_MASTER_NODE_PORT"), master),
        }

    def run(self, service: str, *command: str) -> str:
        done = subprocess.run(
            [*command, f"--thresholds={self.thresholds}"],
            cwd=REPO / "loadtest",
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode:
            raise Problem(done.stderr.strip().splitlines()[-1])
        return done.stdout


@pytest.fixture
def native(tmp_path: Path) -> Any:
    site = FakeSite()
    site.instead["/.nginx/backend"] = response("process_cpu_seconds_total 1\nupstage_clients 3\n")
    (tmp_path / "thresholds.toml").write_text(THRESHOLDS)
    yield Native(site, tmp_path / "thresholds.toml")
    site.close()


@pytest.mark.long
def test_a_climb_of_a_real_locust_with_workers(native: Native, levels: Path) -> None:
    [cell] = [
        cell for cell in load(REPO / "labs/capacity", "quick").cells if cell.key["topology"] == "default"
    ]
    found = capacity.measure(native.stack, {**cell.settings, **SETTINGS, "topology": "upstage.localhost"})
    assert (found["visitors_carried"], found["generator_was_the_limit"]) == (2, 0)
    kept = json.loads((levels / "upstage.localhost.json").read_text())
    # Lines of the chat, which a worker has counted. A level is shorter than the time between two pages.
    assert kept["measurements"][-1]["chat_p99_ms"] > 0
    assert [one["users"] for one in kept["measurements"]] == [1, 2]


def test_an_argument_that_locust_rejects_is_reported(native: Native) -> None:
    with pytest.raises(Problem, match="argument --topology: invalid choice: 'nowhere'"):
        capacity.measure(native.stack, {**SETTINGS, "topology": "nowhere"})
