"""THEATRES on running containers: a theatre is added, hangs, is removed and comes back with its data."""

import subprocess
import time
from collections.abc import Iterator
from functools import partial

import pytest

from stack import REPO, Stack
from support.ports import free_port_range
from support.wait import wait_until

pytestmark = [
    pytest.mark.slow,  # nginx: test_theatres.py, Varnish: test_addresses.py, backend: test_data_lock.py
    pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session"),
]


def volumes(stack: Stack) -> set[str]:
    """The volumes of a stack, without the project's name."""
    command = [
        "docker",
        "volume",
        "ls",
        "-q",
        "--filter",
        f"label=com.docker.compose.project={stack.project}",
    ]
    found = subprocess.check_output(command, text=True).split()
    return {name.removeprefix(f"{stack.project}_") for name in found}


def services(stack: Stack) -> set[str]:
    return set(stack.compose("ps", "--all", "--services").split())


@pytest.fixture
def restored(stack: Stack) -> Iterator[Stack]:
    """The stack, with the theatres it had before the test at the end."""
    before = stack.settings["THEATRES"]
    yield stack
    stack.settings["THEATRES"] = before
    stack.make("up")
    stack.wait_until_ready()


def status(stack: Stack, path: str, host: str) -> int:
    return stack.get(path, host).status_code


def test_one_word_adds_a_theatre_and_without_it_the_data_are_kept(restored: Stack) -> None:
    stack, host = restored, "third-hall.localhost"
    stack.settings["THEATRES"] = "second third-hall"
    [line] = [line for line in stack.make("up").splitlines() if f"http://{host}" in line]
    printed = ["docker", "compose", "exec", "-T", "third-hall", "upstage", "admin-password"]
    password = subprocess.check_output(printed, cwd=REPO, env=stack.environment, text=True).strip()
    assert line.endswith(f"admin password: {password}")
    assert "third-hall" in stack.make("status")
    stack.compose("exec", "-T", "third-hall", "upstage", "stage", "add", "dunsinane")
    wait_until(lambda: status(stack, "/stages/dunsinane", host) == 200)
    for client in (stack.web_stage_client(host), stack.stage_client(theatre=1)):
        client.join(stage="dunsinane")
        client.close()
    assert status(stack, "/stages/dunsinane", "second.localhost") == 404
    trace = stack.make("trace", f"URL=http://{host}:1/admin/id")
    assert "to theatre_third-hall" in trace
    assert '"path": "/admin/id"' in trace.split("\nthird-hall\n")[1]

    stack.settings["THEATRES"] = "second"
    assert stack.make("reload").endswith('To change that, type: make up THEATRES="second"\n')
    assert "The theatre third-hall is no longer in THEATRES" in stack.make("up")
    assert "third-hall" not in services(stack)
    assert status(stack, "/", host) == 421
    assert {"third-hall-data", "third-hall-media"} <= volumes(stack)

    stack.settings["THEATRES"] = "second third-hall"
    stack.make("up")
    assert status(stack, "/stages/dunsinane", host) == 200


def test_a_taken_port_of_a_new_theatre_is_named_and_nothing_is_changed(restored: Stack) -> None:
    stack = restored
    first, port = free_port_range(2)
    image = stack.compose("images", "-q", "backend").split()[0]
    command = [
        "docker",
        "run",
        "-d",
        "--rm",
        "-p",
        f"127.0.0.1:{port}:80",
        "--entrypoint",
        "sleep",
        image,
        "60",
    ]
    container = subprocess.check_output(command, text=True).strip()
    nginx = stack.compose("ps", "-q", "nginx")
    try:
        stack.settings["THEATRES"] = "second third-hall"
        with pytest.raises(AssertionError, match=rf"Port {port} is taken.*THEATRES_SWF_PORT"):
            stack.make("up", f"THEATRES_SWF_PORT={first}")
        assert stack.compose("ps", "-q", "nginx") == nginx
        assert status(stack, "/admin/id", "second.localhost") == 200
    finally:
        subprocess.run(["docker", "kill", container], stdout=subprocess.DEVNULL, check=True)


def test_a_theatre_that_hangs_costs_the_others_nothing(stack: Stack) -> None:
    stack.compose("pause", "second")
    try:
        for _ in range(5):
            assert status(stack, "/admin/id", "localhost") == 200
            started = time.monotonic()
            assert status(stack, "/stages/nowhere", "second.localhost") == 503
            assert time.monotonic() - started < 4
    finally:
        stack.compose("unpause", "second")
        wait_until(partial(answers, stack, "second.localhost"), within=30)


def answers(stack: Stack, host: str) -> bool:
    return status(stack, "/admin/id", host) == 200


def test_a_second_backend_over_the_same_data_says_what_to_do_and_waits(stack: Stack) -> None:
    """`--scale backend=2`: it is not restarted again and again, is unhealthy, and takes over at the end."""

    def inspect(number: int, field: str) -> str:
        container = f"{stack.project}-backend-{number}"
        return subprocess.check_output(["docker", "inspect", "-f", field, container], text=True).strip()

    scale = ("up", "-d", "--no-deps", "--no-recreate", "backend")
    try:
        stack.compose(*scale, "--scale", "backend=2")
        wait_until(lambda: "backend-2" in stack.compose("logs", "backend"))
        time.sleep(5)
        lines = [
            line for line in stack.compose("logs", "backend").splitlines() if line.startswith("backend-2")
        ]
        assert len(lines) == 1
        assert "make up THEATRES=second" in lines[0]
        assert inspect(2, "{{.RestartCount}} {{.State.Running}}") == "0 true"
        assert status(stack, "/admin/id", "localhost") == 200
        wait_until(lambda: inspect(2, "{{.State.Health.Status}}") == "unhealthy", within=90)

        subprocess.run(["docker", "stop", f"{stack.project}-backend-1"], check=True)
        wait_until(partial(answers, stack, "localhost"), within=30)
    finally:
        subprocess.run(["docker", "start", f"{stack.project}-backend-1"], check=True)
        stack.compose(*scale, "--scale", "backend=1")
        stack.wait_until_ready()


def test_clean_removes_the_data_of_theatres_that_are_no_longer_listed(stack: Stack) -> None:
    other = Stack("containers", stack.project + "-theatres")
    try:
        other.settings["THEATRES"] = "second"
        other.make("up")
        other.settings["THEATRES"] = ""
        other.make("up")
        assert {"second-data", "data"} <= volumes(other)
    finally:
        other.make("clean")
    assert volumes(other) == set()
