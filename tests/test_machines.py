"""Several machines: container engines in network namespaces, by the steps of docs/several-machines.md."""

import json
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.stack import REPO
from tests.support.checkout import copy_checkout
from tests.support.checks import ran
from tests.support.wait import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("ENGINE") == "no", reason="no container engine can run here"),
    pytest.mark.skipif(os.getuid() != 0, reason="engines of their own need root"),
]
PAGE = (REPO / "docs" / "several-machines.md").read_text()
SCRIPT = REPO / "labs" / "edge" / "machines.sh"
PROBER = REPO / "labs" / "edge" / "prober.py"
PREFIX = "tests"  # the lab's machines may run beside these


@dataclass
class Probe:
    """The visitors' report, which is filled in when they have left."""

    report: dict[str, Any] = field(default_factory=dict)

    def total(self, outcome: str) -> int:
        return sum(second.get(outcome, 0) for second in self.report["seconds"])

    def p99(self, first: int) -> float:
        """Return the p99, in seconds, of the requests from that second on."""
        times = sorted(t for each in self.report["seconds"] if each["second"] >= first for t in each["times"])
        return float(times[int(0.99 * (len(times) - 1))])


class Machines:
    """Three machines with an engine and a checkout each, and a visitor elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def script(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = {name: os.environ[name] for name in ("PATH", "HOME")} | {"MACHINES_PREFIX": PREFIX}
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return ran(SCRIPT, *arguments, env=environment, cwd=cwd, timeout=300, **both)

    def on(self, machine: int, command: str) -> str:
        """Type a command in the checkout of a machine; return its output."""
        done = self.script("on", str(machine), "bash", "-ec", command, cwd=self.folder / str(machine))
        assert done.returncode == 0, done.stdout
        return done.stdout

    def ask(self, machine: int, path: str, host: str = "stage.example.org") -> tuple[int, str]:
        """Send a visitor's request; return the status, and the whole response."""
        url = f"http://10.77.0.1{machine}:8080{path}"
        said = self.script("client", "curl", "-si", "-m", "10", "-H", f"Host: {host}", url).stdout
        return int(said.split()[1]), said

    @contextmanager
    def visited(self, machines: tuple[int, ...], seconds: int) -> Iterator[Probe]:
        """Send visitors to these machines while the block runs; yield their report."""
        addresses = [f"10.77.0.1{machine}:8080" for machine in machines]
        options = ("--host=stage.example.org", f"--seconds={seconds}")
        command = (str(SCRIPT), "client", "python3", str(PROBER), *addresses, *options)
        environment = os.environ | {"MACHINES_PREFIX": PREFIX}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as prober:
            probe = Probe()
            yield probe
            probe.report = json.loads(prober.communicate(timeout=seconds + 30)[0])


def steps(title: str) -> list[tuple[str, str]]:
    """Return the blocks of commands in a section of the page, and what each must print."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    fences = re.findall(r"^```sh\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", section, re.M | re.S)
    return [
        (commands.replace("192.0.2.", "10.77.0.1"), text.replace("192.0.2.", "10.77.0.1"))
        for commands, text in fences
    ]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Yield the three machines, with the images of this one."""
    machines = Machines(tmp_path_factory.mktemp("machines"))
    for machine in (1, 2, 3):
        copy_checkout(machines.folder / str(machine))
    try:
        started = machines.script("up", "3")
        assert started.returncode == 0, started.stdout
        yield machines
    finally:
        machines.script("down")


@pytest.fixture(scope="module")
def edge(machines: Machines) -> Machines:
    """Do the page's steps, on the first machine last: it learns of the second when that one has copies."""
    (settings, _), (up, _), (question, answer) = steps("Three machines, step by step")
    said = {}
    for machine in (3, 2, 1):
        own = re.sub(r"^MACHINE=.*", f"MACHINE=10.77.0.1{machine}", settings, flags=re.M)
        if machine == 1:
            own = own.replace("10.77.0.12 ", "")
        (machines.folder / str(machine) / ".env").write_text(own)
        said[machine] = machines.on(machine, up)
    assert "10.77.0.11 does not answer yet. Type there: make up" in said[2]
    assert "10.77.0.13 knows other machines: 10.77.0.11 10.77.0.12 10.77.0.13." in said[1]
    assert "Building the image for backend" not in said[3]
    outcomes_of(machines, 3, "/media/diva.svg")
    machines.on(1, "make purge TAG=media")
    env = machines.folder / "1" / ".env"
    env.write_text(env.read_text().replace("OTHER_MACHINES=", "OTHER_MACHINES=10.77.0.12 "))
    said[1] = machines.on(1, up)
    assert "Starting the new backend beside the old one" in said[1]
    assert "knows other machines" not in said[1]
    assert outcomes_of(machines, 3, "/media/diva.svg") == {"fwd=uri-miss"}  # no old copy
    shown = machines.script("client", "bash", "-c", question).stdout.replace("\r", "")
    assert re.fullmatch(re.escape(answer).replace("…", ".*").replace("0\\.13", "0\\.1[123]"), shown)
    return machines


def varnish_of(said: str) -> tuple[str, str]:
    """Return the Varnish that has answered, and its outcome: `hit` or `fwd=…`."""
    [(name, outcome)] = re.findall(r"^Cache-Status: (varnish-[\d.]+); ([\w=-]+)", said, re.M)
    return name, outcome


def outcomes_of(machines: Machines, machine: int, path: str) -> set[str]:
    """Return the outcomes of thirty files at Varnish; wait until nginx's own copies have expired."""
    found = {varnish_of(machines.ask(machine, f"{path}?{file}")[1])[1] for file in range(30)}
    time.sleep(1.1)
    return found


def test_a_request_is_followed_from_every_machine(edge: Machines) -> None:
    for machine in (1, 2, 3):
        said = edge.on(machine, "make trace URL=/media/captain.svg?of-$RANDOM HEADER='Cookie: a=b'")
        there = dict(re.findall(r"^(varnish|backend): .*?(10\.77\.0\.1\d)\D.*make trace ID=\w+$", said, re.M))
        [identity] = set(re.findall(r"make trace ID=(\w+)$", said, re.M)) or {""}
        assert identity or machine == 1
        for service, address in there.items():
            told = edge.on(int(address[-1]), f"make trace ID={identity}")
            assert re.search(rf"^ +{service} ", told, re.M), told
        missing = {"varnish", "backend"} - there.keys()
        assert all(re.search(rf"^ +{service} ", said, re.M) for service in missing), said


def test_each_file_is_fetched_once_for_all_machines(edge: Machines) -> None:
    asked = [
        varnish_of(edge.ask(each, f"/media/fox.svg?{file}")[1]) for each in (1, 2, 3) for file in range(30)
    ]
    assert Counter(outcome for _, outcome in asked) == {"fwd=uri-miss": 30, "hit": 60}
    assert min(Counter(name for name, _ in asked[:30]).values()) >= 3


def test_pages_and_sockets_of_every_machine_reach_the_backend(edge: Machines) -> None:
    with edge.visited((1, 2, 3), seconds=3) as probe:
        assert [edge.ask(each, "/stages/demo")[0] for each in (1, 2, 3)] == [200] * 3
    assert set(probe.report["held"].values()) == {None}
    assert edge.ask(2, "/", host="static.localhost")[0] == 421
    assert (
        "for the first machine, 10.77.0.11"
        in edge.script("on", "2", "make", "purge", cwd=edge.folder / "2").stdout
    )


def test_a_varnish_is_killed_and_a_purge_says_so(edge: Machines) -> None:
    def outcomes() -> set[str]:
        return outcomes_of(edge, 2, "/media/diva.svg")

    outcomes()
    with edge.visited((1, 2), seconds=8) as probe:
        edge.on(3, "docker compose kill varnish")
        lost = edge.script("on", "1", "make", "purge", "URL=/media/diva.svg", cwd=edge.folder / "1")
        assert lost.returncode != 0
        assert "10.77.0.13:18082" in lost.stdout
        edge.on(3, "make up")
        wait_until(lambda: outcomes() == {"hit"}, within=10)
        edge.on(1, "make purge URL=/media/diva.svg")
        assert outcomes() == {"fwd=uri-miss"}
    assert (probe.total("failed"), probe.total("repeated")) == (0, 0)


def test_a_cable_is_cut(edge: Machines) -> None:
    with edge.visited((1, 2), seconds=22) as probe:
        edge.script("cut", "3")
    edge.script("plug", "3")
    assert (probe.total("failed"), set(probe.report["held"].values())) == (0, {None})
    assert probe.p99(first=10) <= 1


def test_a_machine_is_lost_and_comes_back(edge: Machines) -> None:
    with edge.visited((1, 2), seconds=25) as probe:
        edge.script("kill", "3")
        edge.script("start", "3")
        folder = edge.folder / "3"
        wait_until(lambda: edge.script("on", "3", "make", "status", cwd=folder).returncode == 0, within=60)
    assert (probe.total("failed"), set(probe.report["held"].values())) == (0, {None})
    assert edge.ask(3, "/stages/demo")[0] == 200


def test_the_first_machine_is_lost_and_what_is_cached_goes_on(edge: Machines) -> None:
    [edge.ask(2, f"/media/fox.svg?{file}") for file in range(30)]
    edge.script("kill", "1")
    try:
        responses = [edge.ask(2, f"/media/fox.svg?{file}") for file in range(30)]
    finally:
        edge.script("start", "1")
    # The files of the first machine's Varnish are lost with it.
    assert Counter(status for status, _ in responses)[200] >= 10
