"""A class of two on this machine, from opening to closing: two learners, who do not meet."""

import csv
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import requests

from lessons.checking.checks import questions
from lessons.lesson import lessons
from tests.stack import NOT_INHERITED, PORTS, PROJECT
from tests.support.checkout import copy_checkout
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow  # three minutes
CLASS = f"{PROJECT}-two"
SETTINGS = {
    "COMPOSE_PROJECT_NAME": CLASS,
    "CLASS_PORTS": "31000",
    "CLASS_SUBNETS": "10.212.64.0/18",  # beside a class that is open on this machine
}
URLS = ("/media/fox.svg", "/admin/id", "/slow")  # of lesson 1
LESSON_20 = "lessons/20-the-header-from-the-other-side"


def run(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run bin/class as `make` does; return the finished process."""
    environment = {**os.environ, **SETTINGS, **settings}
    command = ["bin/class", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def type_in(folder: Path, *command: str, **settings: str) -> str:
    """Return the output of a command that a learner types in a copy, whose settings are in .env."""
    left_out = {*SETTINGS, *NOT_INHERITED, *PORTS}
    own = {name: value for name, value in os.environ.items() if name not in left_out}
    done = subprocess.run(command, cwd=folder, env=own | settings, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr  # 1: a lesson is not done yet
    return done.stdout


def docker(*arguments: str) -> str:
    """Return the output of a Docker command."""
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True).stdout


def left_over() -> list[str]:
    """Return the containers, networks, volumes and images of the class's copies."""
    found = docker("ps", "--all", "--format", "{{.Names}}").split()
    for kind in ("network", "volume"):
        found += docker(kind, "ls", "--format", "{{.Name}}").split()
    found += docker("image", "ls", "--format", "{{.Repository}}").split()
    return [name for name in found if name.startswith(f"{CLASS}-class-")]


def started(number: int) -> str:
    """Return when a copy's Varnish was started."""
    return docker("inspect", "-f", "{{.State.StartedAt}}", f"{CLASS}-class-{number:02}-varnish-1")


def get(number: int, path: str, host: str = "localhost") -> requests.Response:
    """Send a request to a copy; return the response."""
    return requests.get(f"http://127.0.0.1:31{number}80{path}", headers={"Host": host}, timeout=20)


def signs_in(number: int, password: str) -> bool:
    """Return whether the admin can sign in to a copy with this password."""
    form = {"username": "admin", "password": password}
    page = f"http://127.0.0.1:31{number}80/admin/login"
    headers = {"Host": "localhost"}
    response = requests.post(page, data=form, headers=headers, allow_redirects=False, timeout=20)
    return response.status_code < 400


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """Yield a teacher's checkout; its class is closed afterwards."""
    if os.environ.get("ENGINE") == "no":
        pytest.skip("no container engine can run here (make test said why)")
    tmp_path.chmod(0o755)
    copy_checkout(tmp_path)
    yield tmp_path
    run(tmp_path, "down")


def test_two_copies_are_opened_used_reset_and_closed(checkout: Path) -> None:
    folder = checkout / ".run" / "class"
    interrupt_an_opening(checkout)
    assert not (folder / "01.started").exists()
    with socket.create_server(("127.0.0.1", 31280)):
        opened = run(checkout, "open", "2")
    assert opened.returncode == 1
    assert "copy 02 did not start: Port 31280 is taken" in opened.stderr
    first = started(1)
    opened = run(checkout, "open", "2")
    assert opened.returncode == 0, opened.stdout + opened.stderr
    assert started(1) == first

    handout = (folder / "handout.md").read_text()
    assert stat.S_IMODE((folder / "handout.md").stat().st_mode) == 0o600
    one, two = re.findall(r"name `admin`, password `(\w+)`", handout)
    assert f"cd {folder}/02\n" in handout
    assert one not in opened.stdout + opened.stderr
    assert (signs_in(1, one), signs_in(2, two), signs_in(2, one)) == (True, True, False)
    subnet, limit = "{{(index .IPAM.Config 0).Subnet}}", "{{.HostConfig.NanoCpus}}"
    assert docker("network", "inspect", "-f", subnet, f"{CLASS}-class-02_back").strip() == "10.212.65.64/27"
    assert int(docker("inspect", "-f", limit, f"{CLASS}-class-02-locust-1")) == 500_000_000

    do_lesson_1(folder / "01", 1)
    do_lesson_1(folder / "02", 2)
    with ExitStack() as stack:
        ports = {stack.enter_context(application(folder / f"0{number}")) for number in (1, 2)}
        assert len(ports) == 2
        for number in (1, 2):
            assert get(number, "/price", "app.localhost").headers["X-Copy"] == f"0{number}"

    (folder / "02" / "compose.yaml").write_text("broken")
    (folder / "02" / ".env").write_text("HTTP_PORT=banana\n")
    shown = run(checkout, "status").stdout.splitlines()
    begun = [line.split()[:3] for line in shown[1:-1]]
    assert sorted(begun) == [[number, f"1/{len(lessons())}", "1"] for number in ("1", "2")]
    rows = list(csv.DictReader(run(checkout, "status", CSV="1").stdout.splitlines()))
    done = {(row["copy"], row["lesson"]) for row in rows if row["state"] == "done"}
    assert done == {("1", "1"), ("2", "1")}

    before = started(1)
    reset = run(checkout, "reset", "2")
    assert reset.returncode == 0, reset.stdout + reset.stderr
    assert started(1) == before
    assert signs_in(2, two)
    assert (folder / "02.before" / "compose.yaml").read_text() == "broken"
    [second] = re.findall(r"^ +2 .*", run(checkout, "status").stdout, re.M)
    assert second.split() == ["2", f"0/{len(lessons())}", "-", "-", "healthy"]

    closed = run(checkout, "down")
    assert closed.returncode == 0, closed.stderr
    assert left_over() == []
    assert not folder.exists()
    assert (
        f"1,1,{lessons()[0].title},done" in (checkout / ".run" / "class.before" / "results.csv").read_text()
    )


def interrupt_an_opening(checkout: Path) -> None:
    """Press Ctrl-C while the first copy starts."""
    opening = subprocess.Popen(
        ["bin/class", "open", "2"],
        cwd=checkout,
        env={**os.environ, **SETTINGS},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until(lambda: any("-varnish-" in name for name in left_over()), within=200, every=0.5)
    finally:
        os.killpg(opening.pid, signal.SIGINT)
        printed, _ = opening.communicate(timeout=120)
    assert opening.returncode == 130, printed
    assert "Interrupted. To go on: make class N=2" in printed


def do_lesson_1(copy: Path, number: int) -> None:
    """Do what the page of lesson 1 says."""
    begun = type_in(copy, "bin/lesson", "begin", "1")
    word = re.findall(r"word of this attempt is (\w+)", begun)[0]
    for url in URLS:
        for _ in range(2):
            get(number, f"{url}?{word}")
    asked = type_in(copy, "bin/lesson", "check", "1")
    right = re.escape(questions(lessons()[0])[0].right)
    letter = re.findall(rf"^  ([a-d])\) {right}", asked, re.M)
    assert letter, asked
    assert "Lesson 1 is done" in type_in(copy, "bin/lesson", "check", "1", ANSWER=letter[0])


@contextmanager
def application(copy: Path) -> Iterator[str]:
    """Run lesson 20's application in a copy, behind nginx and Varnish; its headers name the copy."""
    headers = copy / LESSON_20 / "headers.toml"
    headers.write_text(headers.read_text().replace('["/price"]', f'["/price"]\nX-Copy = "{copy.name}"'))
    program = [sys.executable, str(copy / LESSON_20 / "application.py")]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout
            line = running.stdout.readline()
            type_in(copy, *line.split())
            yield line
        finally:
            running.terminate()
    type_in(copy, "make", "up")
