"""Starting, stopping and inspecting the stack with the commands of the Makefile."""

import os
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from tests.stack import REPO, Stack
from tests.support.ports import free_ports

OPERATIONS = REPO / "docs" / "operations.md"


@pytest.mark.smoke
def test_up_prints_addresses_and_password(stack: Stack) -> None:
    """The output is as in the README, with this stack's ports and password."""
    [promised] = re.findall(r"```text\n(Proscenium is running.*?)```", (REPO / "README.md").read_text(), re.S)
    defaults = {"8080": "HTTP_PORT", "8443": "HTTPS_PORT", "8089": "LOCUST_PORT", "7230": "SWF_PORT"}
    defaults["3000"] = "POLICY_FILE_PORT"
    for line in promised.splitlines():
        expected = re.sub(r"(?<=localhost:)\d+", lambda port: str(stack.ports[defaults[port[0]]]), line)
        assert expected.replace("…", stack.admin_password) in stack.printed
    assert len(stack.admin_password) >= 12

    [theatre] = [line for line in stack.printed.splitlines() if "second.localhost" in line]
    assert len(theatre.split()[-1]) >= 12
    assert theatre.split()[-1] != stack.admin_password


@pytest.mark.smoke
def test_every_service_is_healthy(stack: Stack) -> None:
    status = stack.make("status")
    services = ("nginx", "varnish", "backend", "policyd", "locust")
    for service in services:
        lines = [line for line in status.splitlines() if line.startswith(service)]
        assert any("healthy" in line for line in lines), status
        assert not any("unhealthy" in line or "NOT" in line for line in lines), status


def test_logs_follow_every_service(stack: Stack) -> None:
    with subprocess.Popen(
        ["make", "logs"],
        cwd=REPO,
        env=stack.environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as logs:
        assert logs.stdout
        missing = {"nginx", "varnish", "backend", "policyd", "locust"}
        deadline = threading.Timer(30, os.killpg, (logs.pid, signal.SIGKILL))
        deadline.start()
        for line in logs.stdout:
            missing = {service for service in missing if service not in line}
            if not missing:
                break
        deadline.cancel()
        os.killpg(logs.pid, signal.SIGINT)  # Ctrl-C
    assert not missing


def second_copy(stack: Stack) -> Stack:
    """Return the stack that the command in docs/operations.md starts, on free ports of its own."""
    [printed] = re.findall(r"## A second copy\n\n```sh\n(.*?)```", OPERATIONS.read_text(), re.S)
    assert printed.endswith(" make up\n")
    project, *ports = re.findall(r"(\w+)=", printed)
    assert project == "COMPOSE_PROJECT_NAME"
    its_own = dict(zip(ports, free_ports(len(ports)), strict=True))
    return Stack(stack.mode, stack.project + "-second", {**stack.ports, **its_own})


def kept_data(stack: Stack) -> list[str]:
    """Return the volumes or the folder of a stack."""
    if stack.mode == "native":
        return [str(path) for path in (stack.native_data,) if path.exists()]
    label = f"label=com.docker.compose.project={stack.project}"
    return subprocess.check_output(["docker", "volume", "ls", "-q", "--filter", label], text=True).split()


@pytest.mark.slow
def test_a_second_copy_beside_the_first(stack: Stack) -> None:
    """Another project name and other ports are enough; down keeps the data, clean removes them."""
    second = second_copy(stack)
    second.settings["SERVER_NAMES"] = "stage.example 192.0.2.7"
    try:
        second.printed = second.make("up")
        assert second.admin_password != stack.admin_password
        for each in (stack, second):
            assert each.get("/stages/demo").status_code == 200
        assert second.get("/stages/demo", "stage.example").status_code == 200
        assert f"http://stage.example:{second.ports['HTTP_PORT']}/" in second.printed
        assert stack.get("/stages/demo", "stage.example").status_code == 421

        second.upstage("stage", "add", "elsinore", "--name", "Elsinore")
        assert "data are kept" in second.make("down")
        assert stack.get("/stages/demo").status_code == 200
        second.settings["UPSTAGE_ADMIN_PASSWORD"] = "chosen-by-the-user"
        second.printed = second.make("up")
        assert second.admin_password == "chosen-by-the-user"
        assert second.get("/stages/elsinore").status_code == 200
    finally:
        assert "removed" in second.make("clean")
    with pytest.raises(AssertionError, match="is not running"):
        second.make("status")
    assert kept_data(second) == []
    assert stack.get("/stages/demo").status_code == 200


@pytest.mark.parametrize("stack", ["native"], indirect=True, scope="session")
def test_without_an_engine_the_stack_runs_natively(stack: Stack, tmp_path: Path) -> None:
    """The engine is hidden behind programs that fail like one that cannot start.

    The user has a strict umask, and nginx's workers and varnishd's child are other users.
    """
    for name in ("docker", "dockerd", "systemctl"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    hidden = Stack("auto", stack.project + "-hidden")
    hidden.settings["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    usual = os.umask(0o077)
    try:
        hidden.printed = hidden.make("up")
        assert "No containers: " in hidden.printed
        assert hidden.get("/stages/demo").status_code == 200
        assert "healthy" in hidden.make("status")
    finally:
        os.umask(usual)
        hidden.make("clean")
