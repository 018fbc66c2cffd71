"""A lab's containers on a real engine: the generator alone, and one small lab from start to end."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from labs.bench import __main__ as command
from labs.bench import lab_stack
from labs.bench.lab_stack import LabStack, Problem
from labs.tests.running_lab import PROJECT, needs_engine

pytestmark = needs_engine


@pytest.fixture(autouse=True)
def own_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_stack, "PROJECT", PROJECT)


def remains() -> str:
    """Return the containers, networks and volumes of the project."""
    label = f"label=com.docker.compose.project={PROJECT}"
    kinds = (["ps", "-a"], ["network", "ls"], ["volume", "ls"])
    return "".join(
        subprocess.check_output(["docker", *kind, "-q", "--filter", label], text=True) for kind in kinds
    )


COMPUTE = "import time\nwhile time.process_time() < 1: pass\nprint(time.process_time())"


@pytest.mark.slow  # twenty seconds, like each lab of `make test-all`
def test_a_stack_runs_commands_reports_its_use_and_is_removed_even_when_interrupted(tmp_path: Path) -> None:
    def interrupted() -> None:
        with LabStack(tmp_path, ["generator"]) as stack:
            assert stack.run("generator", "echo", "hello") == "hello\n"
            with pytest.raises(Problem, match="sh in generator ended with 3: the last line"):
                stack.run("generator", "sh", "-c", "echo more; echo the last line >&2; exit 3")
            before = stack.usage(["generator"])["generator"]
            spent = json.loads(stack.run("generator", "python3", "-c", COMPUTE))
            after = stack.usage(["generator"])["generator"]
            # The interpreter's start and the engine's own work are added; the two clocks differ slightly.
            assert 0.95 * spent < after.cpu_seconds - before.cpu_seconds < spent + 5
            assert 0 < after.memory_bytes < after.memory_limit
            published = [container.ports for container in stack.containers.values()]
            assert not any(port for ports in published for port in ports.values())
            stack.restart("generator")
            assert stack.usage(["generator"])["generator"].cpu_seconds < spent
            assert stack.run("generator", "echo", "again") == "again\n"
            stack.containers["generator"].kill()
            stack.containers["generator"].wait()
            with pytest.raises(RuntimeError, match="generator-1 has stopped"):
                stack.usage(["generator"])
            assert remains()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert remains() == ""


LAB = """
title = "The smallest lab"
driver = "ab"
services = ["nginx", "varnish", "backend", "generator"]
repetitions = 2
primary = "requests_per_second"
baseline = { topology = "direct" }

[settings]
path = "/media/bench/small.swf"
clients = 2
keepalive = false
requests = 500
seconds = 60

[[cells]]
topology = ["direct", "default"]

[topology.direct]
url = "http://backend:8081"
bytes = 75_000

[topology.default]
url = "http://nginx:8000"
host = "upstage.localhost"
bytes = 75_000
"""


def backend_seconds(cell: dict[str, Any]) -> float:
    samples = cell["samples"]
    return float(sum(sample["cpu_percent.backend"] / 100 * sample["seconds"] for sample in samples))


@pytest.mark.slow  # twenty seconds; bench/tests test the parts of a run
def test_a_lab_from_beginning_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "labs" / "smallest").mkdir(parents=True)
    (tmp_path / "labs" / "smallest" / "lab.toml").write_text(LAB)
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    monkeypatch.setattr(command, "REPO", tmp_path)
    monkeypatch.setattr("sys.argv", ["bench", "smallest"])
    assert command.main() == 0, capsys.readouterr().out
    results = json.loads((tmp_path / "smallest.json").read_text())
    direct, default = results["cells"]
    assert (len(direct["samples"]), len(default["samples"])) == (2, 2)
    # Varnish keeps the file, so the backend has little work.
    assert backend_seconds(direct) > 3 * backend_seconds(default)
    assert default["median"]["cpu_percent.nginx"] > 0
    assert 0 < default["median"]["memory_percent.varnish"] < 100
    assert results["versions"].keys() == {"nginx", "varnish", "backend", "generator"}
    assert (tmp_path / "smallest.md").read_text().startswith("# Results: The smallest lab")
    assert remains() == ""
