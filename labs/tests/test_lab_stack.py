"""The labs' house on a real engine: mostly the generator alone, and once the whole way of a lab."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from bench import __main__ as command
from bench import house
from bench.house import House, Problem
from bench.results import Measured, Results

PROJECT = "proscenium-test-bench"

pytestmark = pytest.mark.skipif(os.environ.get("ENGINE") == "no", reason="no container engine can run here")


@pytest.fixture(autouse=True)
def beside_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "PROJECT", PROJECT)


def remains() -> str:
    """Containers, networks and volumes of the project."""
    label = f"label=com.docker.compose.project={PROJECT}"
    kinds = (["ps", "-a"], ["network", "ls"], ["volume", "ls"])
    return "".join(
        subprocess.check_output(["docker", *kind, "-q", "--filter", label], text=True) for kind in kinds
    )


def test_a_house_is_opened_looked_into_and_removed(tmp_path: Path) -> None:
    with House(tmp_path, ["generator"]) as opened:
        assert opened.run("generator", "echo", "good evening") == "good evening\n"
        with pytest.raises(Problem, match="sh in generator ended with 3: the last word"):
            opened.run("generator", "sh", "-c", "echo more; echo the last word >&2; exit 3")
        assert 0 < opened.memory_bytes("generator") < 1 << 30
        before = opened.cpu_seconds(["generator"])["generator"]
        spent = json.loads(
            opened.run(
                "generator",
                "python3",
                "-c",
                "import time\nwhile time.process_time() < 1: pass\nprint(time.process_time())",
            )
        )
        # More by the interpreter's start and the engine's own hand; the two clocks differ a little.
        assert 0.95 * spent < opened.cpu_seconds(["generator"])["generator"] - before < spent + 5
        published = [container.ports for container in opened.containers.values()]
        assert not any(port for ports in published for port in ports.values())
    assert remains() == ""


def test_a_server_that_has_stopped_has_no_figures(tmp_path: Path) -> None:
    with House(tmp_path, ["generator"]) as opened:
        opened.containers["generator"].kill()
        opened.containers["generator"].wait()
        with pytest.raises(RuntimeError, match="generator has stopped"):
            opened.cpu_seconds(["generator"])


def test_an_interrupted_house_is_removed(tmp_path: Path) -> None:
    def interrupted() -> None:
        with House(tmp_path, ["generator"]):
            assert remains()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert remains() == ""


LAB = """
title = "The whole way"
tool = "ab"
services = ["nginx", "varnish", "backend", "generator"]
repetitions = 2
primary = "requests_per_second"
baseline = { way = "direct" }

[settings]
path = "/media/bench/small.swf"
clients = 2
keepalive = false
requests = 500
seconds = 60

[[cells]]
way = ["direct", "default", "astray"]

[ways.direct]
url = "http://backend:8081"
bytes = 75_000

[ways.default]
url = "http://nginx:8000"
host = "upstage.localhost"
bytes = 75_000

[ways.astray]
url = "http://nginx:8000"
host = "nobody.localhost"
"""


def backend_seconds(cell: Measured) -> float:
    return sum(sample["cpu_percent.backend"] / 100 * sample["seconds"] for sample in cell.samples)


def test_a_lab_from_beginning_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "lab.toml").write_text(LAB)
    monkeypatch.setattr(command, "LABS", tmp_path)
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    monkeypatch.setattr(command, "report", lambda console: None)
    monkeypatch.setattr("sys.argv", ["bench", "lab", "whole"])
    assert command.main() == 1, capsys.readouterr().out
    results = Results.read(tmp_path / "whole.json")
    assert results is not None
    direct, default, astray = results.cells
    assert astray.problem == "the first answer was not 2xx"
    assert (len(direct.samples), len(default.samples)) == (2, 2)
    # Who did the work, each time: Varnish keeps the file, so the backend rests.
    assert backend_seconds(direct) > 3 * backend_seconds(default)
    assert default.median["cpu_percent.nginx"] > 0
    assert results.versions.keys() == {"nginx", "varnish", "backend", "generator"}
    assert results.machine["cores"] >= 1
    assert remains() == ""


def test_a_server_that_does_not_start_is_named_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(
        """
services:
  broken:
    image: ${GENERATOR_IMAGE:-proscenium-generator}
    command: [sh, -c, "echo no such directive; exit 1"]
    depends_on: [generator]
"""
    )
    with pytest.raises(RuntimeError, match=r"broken does not become healthy(.|\n)*no such directive"):
        House(tmp_path, ["broken"]).__enter__()
    assert remains() == ""
