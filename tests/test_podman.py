"""The whole stack on Podman, with Docker's Compose: a smoke test. Podman runs in a Docker container."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.stack import PROJECT, REPO, SITES, Stack
from tests.support.checks import check, ran
from tests.support.wait import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("ENGINE") == "no", reason="no container engine can run here"),
]

NAME = PROJECT + "-podman"
# Less than --privileged, which takes every capability; a sandbox may not have all of them.
CAPABILITIES = ("SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE", "SYS_CHROOT", "MKNOD", "SYSLOG")
RIGHTS = (
    *(f"--cap-add={name}" for name in CAPABILITIES),
    *(f"--security-opt={part}=unconfined" for part in ("seccomp", "apparmor", "systempaths")),
    "--cgroupns=private",
)


def docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a Docker command; return its output and exit code."""
    return ran("docker", *arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)


@pytest.fixture
def podman() -> Iterator[tuple[Stack, str]]:
    """A stack on Podman, not started yet, and the address its ports are published on."""
    base = "debian:trixie-slim"
    if docker("image", "inspect", "proscenium/base:trixie").returncode == 0:
        base = "proscenium/base:trixie"
    check("docker", "build", "-q", "-t", NAME, "--build-arg", f"BASE={base}", REPO / "tests" / "podman")
    stack = Stack("containers", NAME)
    stack.settings |= {"EXTRAS": "webcam,inspect,edge", "BIND_ADDR": "0.0.0.0", "COMPARISON_NAMES": "on"}
    machines = dict.fromkeys(("FIRST_MACHINE", "OTHER_MACHINES", "MACHINE"), "192.0.2.1")
    stack.settings |= machines
    stack.compose("build", "-q")
    images = sorted(set(stack.compose("config", "--images").split()))

    docker("rm", "-fv", NAME)
    run = Path(tempfile.mkdtemp(prefix="podman-", dir="/tmp"))
    mounts = (f"-v={REPO}:{REPO}:ro", f"-v={run}:/run/podman", "-v=/var/lib/containers", "--tmpfs=/run/lock")
    try:
        started = docker("run", "-d", f"--name={NAME}", *RIGHTS, *mounts, NAME)
        if started.returncode != 0:
            pytest.skip(f"Podman's container cannot run here: {started.stdout}")
        wait_until(lambda: (run / "podman.sock").is_socket())
        check("sh", "-c", f"docker save {' '.join(images)} | docker exec -i {NAME} podman load -q")
        limits = ("--memory=64m", "--pids-limit=16", "--read-only", "--entrypoint=true")
        alone = docker("exec", NAME, "podman", "run", "--rm", *limits, images[0])
        if alone.returncode != 0:
            pytest.skip(f"Podman cannot run a container here: {alone.stdout}")
        stack.settings["DOCKER_HOST"] = f"unix://{run}/podman.sock"
        where = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        address = docker("inspect", "-f", where, NAME).stdout.strip()
        stack.settings |= dict.fromkeys(machines, address)
        yield stack, address
    finally:
        docker("rm", "-fv", NAME)
        docker("image", "rm", f"{NAME}-backend", f"{NAME}-policyd")
        shutil.rmtree(run)


def test_the_whole_stack_runs_on_podman(podman: tuple[Stack, str]) -> None:
    stack, address = podman
    stack.compose("up", "-d", "--no-build", "--wait", "--wait-timeout", "120")
    services = set(stack.compose("config", "--services").split())
    assert set(stack.compose("ps", "--services").split()) == services

    # classic reaches Varnish by name, which nginx looks up every 2 s at one of two name servers.
    for _ in range(3):
        for host in SITES:
            url = f"http://{address}:{stack.ports['HTTP_PORT']}/admin/id?{uuid.uuid4().hex}"
            answer = requests.get(url, headers={"Host": host}, timeout=10)
            assert answer.status_code == 200, host
        time.sleep(2.1)
    # extras/edge: nginx reaches Varnish at the port that the machine publishes.
    url = f"http://{address}:{stack.ports['HTTP_PORT']}/media/fox.svg"
    answer = requests.get(url, headers={"Host": "localhost"}, timeout=10)
    assert answer.headers["Cache-Status"].startswith(f"varnish-{address}; ")
    with socket.create_connection((address, stack.ports["POLICY_FILE_PORT"]), timeout=5) as policy:
        policy.sendall(b"<policy-file-request/>\0")
        assert b"cross-domain-policy" in policy.recv(4096)
    with socket.create_connection((address, stack.ports["SWF_PORT"]), timeout=5) as stage:
        stage.sendall(b"stage_ID=demo&mode=JOIN\0")
        assert b"mode=" in stage.recv(4096)
