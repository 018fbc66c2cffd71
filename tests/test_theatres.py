"""THEATRES on running containers: a theatre is added, hangs, is removed and comes back with its data."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.stack import REPO, Stack
from tests.support.wait import wait_until

pytestmark = [
    pytest.mark.slow,  # nginx: test_theatres.py, Varnish: test_addresses.py, backend: test_data_lock.py
    pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session"),
]


def volumes(stack: Stack) -> set[str]:
    """Return the volumes of a stack, without the project's name."""
    mine = f"label=com.docker.compose.project={stack.project}"
    found = subprocess.check_output(["docker", "volume", "ls", "-q", "--filter", mine], text=True).split()
    return {name.removeprefix(f"{stack.project}_") for name in found}


def services(stack: Stack) -> set[str]:
    return set(stack.compose("ps", "--all", "--services").split())


@pytest.fixture
def restored(stack: Stack) -> Iterator[Stack]:
    """Yield the stack; afterwards give it the theatres that it had before the test."""
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
    assert "theatre_third-hall answered 200" in trace
    assert "backend page" in trace

    stack.settings["THEATRES"] = "second"
    assert stack.make("reload").endswith('To change that, type: make up THEATRES="second"\n')
    assert "The theatre third-hall is no longer in THEATRES" in stack.make("up")
    assert "third-hall" not in services(stack)
    assert status(stack, "/", host) == 421
    assert {"third-hall-data", "third-hall-media"} <= volumes(stack)

    stack.settings["THEATRES"] = "second third-hall"
    stack.make("up")
    assert status(stack, "/stages/dunsinane", host) == 200
