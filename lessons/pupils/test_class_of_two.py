"""A class of two on this machine, from opening to closing, and what an interrupted opening leaves behind."""

import csv
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from lessons.classroom.engine import docker
from tests.stack import PROJECT
from tests.support.checkout import copy_checkout
from tests.support.wait import wait_until

CLASS = f"{PROJECT}-two"
SETTINGS = {
    "COMPOSE_PROJECT_NAME": CLASS,
    "CLASS_PORTS": "31000",
    "CLASS_SUBNETS": "10.212.64.0/20",  # beside a class that is open on this machine
}


def run(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run bin/class as `make` does."""
    environment = {**os.environ, **SETTINGS, **settings}
    command = ["bin/class", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def left_over() -> list[str]:
    """Containers, networks, volumes and images of the class's copies."""
    found = []
    for kind, line in (("ps --all", "{{.Names}}"), ("network ls", "{{.Name}}"), ("volume ls", "{{.Name}}")):
        found += docker(*kind.split(), "--format", line).split()
    found += docker("image", "ls", "--format", "{{.Repository}}").split()
    return [name for name in found if name.startswith(f"{CLASS}-class-")]


def started(number: int) -> str:
    """When a copy's Varnish was started."""
    return docker("inspect", "-f", "{{.State.StartedAt}}", f"{CLASS}-class-{number:02}-varnish-1")


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """A teacher's checkout; its class is closed afterwards."""
    if os.environ.get("ENGINE") == "no":
        pytest.skip("no container engine can run here (make test said why)")
    tmp_path.chmod(0o755)
    copy_checkout(tmp_path)
    yield tmp_path
    run(tmp_path, "down")


def test_two_copies_are_opened_used_reset_and_closed(checkout: Path) -> None:
    opened = run(checkout, "open", "2")
    assert opened.returncode == 0, opened.stdout + opened.stderr
    folder = checkout / ".run" / "class"
    handout = list(csv.DictReader((folder / "handout.csv").read_text().splitlines()))
    assert [row["stack"] for row in handout] == ["http://localhost:31180/", "http://localhost:31280/"]
    for row, other in zip(handout, reversed(handout), strict=True):
        assert signs_in(row["stack"], row["admin password"])
        assert not signs_in(row["stack"], other["admin password"])
    subnet, limit = "{{(index .IPAM.Config 0).Subnet}}", "{{.HostConfig.NanoCpus}}"
    assert docker("network", "inspect", "-f", subnet, f"{CLASS}-class-02_back").strip() == "10.212.65.64/27"
    assert int(docker("inspect", "-f", limit, f"{CLASS}-class-02-locust-1")) == 500_000_000

    lessons = folder / "02" / ".run" / f"{CLASS}-class-02" / "lessons"
    lessons.mkdir()
    (lessons / "01.json").write_text(json.dumps({"began": 5, "done": 9, "answers": 1}))
    (folder / "02" / "varnish" / "media.vcl").write_text("mine")
    (folder / "02" / "compose.yaml").write_text("broken")
    (folder / "02" / "lessons" / "checking" / "judging.py").write_text("easier")
    first, second = json.loads(run(checkout, "status", JSON="1").stdout)
    assert (first["health"], done(first), first["note"]) == ("healthy", [], "")
    assert (second["health"], done(second)) == ("healthy", [1])
    assert "changed what checks" in second["note"]
    assert 50 < second["memory"] < 400

    easier = folder / "01" / "lessons" / "01-first-hit" / "check.py"
    easier.write_text(easier.read_text().replace("    fox =", "    return\n    fox ="))
    subprocess.run(["bin/lesson", "begin", "1"], cwd=folder / "01", env=plain(), check=True)
    subprocess.run(["bin/lesson", "judge", "1"], cwd=folder / "01", env=plain(), check=True)
    judged = run(checkout, "judge", "1")
    assert judged.returncode == 1, judged.stderr
    assert judged.stdout.startswith("Lesson 1: Not done: You have not requested /media")

    before = started(1), started(2)
    reset = run(checkout, "reset", "2")
    assert reset.returncode == 0, reset.stdout + reset.stderr
    assert started(1) == before[0]
    assert started(2) != before[1]
    assert signs_in(handout[1]["stack"], handout[1]["admin password"])
    assert (folder / "02.before" / "varnish" / "media.vcl").read_text() == "mine"
    second = json.loads(run(checkout, "status", JSON="1").stdout)[1]
    assert (second["health"], done(second), second["note"]) == ("healthy", [], "")

    closed = run(checkout, "down")
    assert closed.returncode == 0, closed.stderr
    assert left_over() == []
    assert not folder.exists()
    assert json.loads((checkout / ".run" / "class.before" / "results.json").read_text())[0]["number"] == 1


def plain() -> dict[str, str]:
    """The environment of a learner, whose settings are in .env."""
    return {name: value for name, value in os.environ.items() if name != "COMPOSE_PROJECT_NAME"}


def done(copy: dict[str, Any]) -> list[int]:
    """The lessons that are done in a copy, of `make class-status JSON=1`."""
    return [lesson["lesson"] for lesson in copy["lessons"] if lesson["state"] == "done"]


def signs_in(stack: str, password: str) -> bool:
    """Whether the admin's password opens the copy's own pages."""
    form = {"username": "admin", "password": password}
    return (
        requests.post(f"{stack}admin/login", data=form, allow_redirects=False, timeout=20).status_code < 400
    )


def test_an_interrupted_opening_leaves_nothing(checkout: Path) -> None:
    opening = subprocess.Popen(
        ["bin/class", "open", "2"],
        cwd=checkout,
        env={**os.environ, **SETTINGS},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_until(
            lambda: any(re.search(r"-varnish-\d", name) for name in left_over()), within=200, every=0.5
        )
    finally:
        opening.send_signal(signal.SIGINT)
        opening.send_signal(signal.SIGINT)  # an impatient second one
        printed, _ = opening.communicate(timeout=120)
    assert opening.returncode == 130, printed
    assert left_over() == []
    assert not (checkout / ".run" / "class").exists()
