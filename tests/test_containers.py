"""Containers: hardening, networks, and what happens when one is stopped, frozen, killed or re-created."""

import json
import re
import socket
import subprocess
import time
import uuid

import pytest

from tests.stack import REPO, SITES, Stack
from tests.support.wait import wait_until

pytestmark = pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session")
SERVICES = ("nginx", "varnish", "backend", "policyd", "locust")


def inspect(stack: Stack, service: str) -> dict:  # type: ignore[type-arg]
    container = stack.compose("ps", "-q", service).strip()
    return json.loads(subprocess.check_output(["docker", "inspect", container], text=True))[0]  # type: ignore[no-any-return]


def root_processes(stack: Stack, service: str) -> set[str]:
    """Return root's processes now, including a health check that the engine is just starting."""
    command = "grep -H ^Uid: /proc/[0-9]*/status || true"  # a process may end meanwhile
    found = re.findall(
        r"^/proc/(\d+)/status:Uid:\s+(\d+)", stack.compose("exec", "-T", service, "sh", "-c", command), re.M
    )
    assert "1" in {number for number, _ in found}
    return {number for number, user in found if user == "0"}


@pytest.mark.parametrize("service", SERVICES)
def test_hardened(stack: Stack, service: str) -> None:
    """This inspects the running container, because an engine may ignore options it does not support."""
    found = inspect(stack, service)
    host = found["HostConfig"]
    assert found["State"]["Health"]["Status"] == "healthy"
    assert host["ReadonlyRootfs"]
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert not host["Privileged"]
    assert any(option.startswith("no-new-privileges") for option in host["SecurityOpt"])
    assert 0 < host["PidsLimit"] <= 512
    assert 0 < host["Memory"] <= 1 << 30
    assert host["Init"]
    assert host["LogConfig"]["Config"]["max-size"]
    assert not (seen := root_processes(stack, service)) or not seen & root_processes(stack, service)
    with pytest.raises(AssertionError, match=r"(?i)read-only"):
        stack.compose("exec", "-T", service, "sh", "-c", "touch /proof")


def test_plain_compose_commands_work(stack: Stack) -> None:
    """`make up` exports the names of offline images; for plain Compose, compose.override.yaml gives them."""
    exported = re.findall(r"^(\w+)=(.*)$", (REPO / "offline" / "images.env").read_text(), re.M)
    variables = dict(stack.environment.items() - set(exported))
    override = [name for name in ("compose.override.yaml",) if (REPO / name).exists()]
    variables["COMPOSE_FILE"] = ":".join([*stack.compose_files, *override])

    def compose(*arguments: str) -> str:
        return subprocess.check_output(["docker", "compose", *arguments], cwd=REPO, env=variables, text=True)

    before = compose("ps", "-q")
    compose("up", "-d", *SERVICES)
    assert compose("ps", "-q") == before
    assert "locust" in compose(
        "run", "--rm", "-T", "--no-deps", "--entrypoint", "locust", "locust", "--version"
    )


# Prints those of the given addresses, each HOST:PORT, that can be reached.
REACHED = """
import socket, sys
from concurrent.futures import ThreadPoolExecutor

def is_reached(address):
    host, port = address.split(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True

with ThreadPoolExecutor() as pool:
    found = list(pool.map(is_reached, sys.argv[1:]))
print(*(address for address, yes in zip(sys.argv[1:], found) if yes))
"""


@pytest.mark.parametrize(
    ("source", "reached", "others"),
    [
        (
            *("locust", "nginx:8000 nginx:8001 direct.localhost:8081"),
            "backend:8081 varnish:8080 policyd:3000 EDGE:8080",
        ),
        ("backend", "varnish:8082", "locust:8089 EDGE:8080"),
        ("policyd", "", "varnish:8082"),
    ],
)
def test_networks(stack: Stack, source: str, reached: str, others: str) -> None:
    """Internal networks have no way out, not even to nginx's address on the published network, EDGE."""
    networks = inspect(stack, "nginx")["NetworkSettings"]["Networks"]
    edge = networks[f"{stack.project}_edge"]["IPAddress"]
    addresses = f"{reached} {others}".replace("EDGE", edge).split()
    # A name that is not on the network is looked up outside, where no server answers.
    soon = "RES_OPTIONS=timeout:1 attempts:1"
    found = stack.compose("exec", "-T", "-e", soon, source, "python", "-c", REACHED, *addresses)
    assert found.split() == reached.split()


def every_listener_answers(stack: Stack) -> bool:
    """Return whether every site, both stage transports and the policy port answer."""
    for host in (*SITES, "direct.localhost"):
        assert stack.get(f"/admin/id?{uuid.uuid4().hex}", host).status_code == 200, host
    for stage in (stack.stage_client(), stack.web_stage_client()):
        stage.join()
        stage.close()
    with socket.create_connection(("127.0.0.1", stack.ports["POLICY_FILE_PORT"]), timeout=5) as policy:
        policy.sendall(b"<policy-file-request/>\0")
        assert b"cross-domain-policy" in policy.recv(4096)
    return True


@pytest.mark.slow
def test_containers_may_come_back_in_any_order(stack: Stack) -> None:
    """After a reboot the engine starts containers without knowing their dependencies."""
    services = ("locust", "nginx", "varnish", "policyd", "backend")  # each before its dependencies
    containers = [inspect(stack, service)["Id"] for service in services]
    subprocess.run(["docker", "stop", *containers], check=True, stdout=subprocess.DEVNULL)
    for container in containers:
        subprocess.run(["docker", "start", container], check=True, stdout=subprocess.DEVNULL)
        time.sleep(1)
    wait_until(lambda: every_listener_answers(stack), within=60)


def test_the_log_of_the_inspector_names_the_real_client(stack: Stack) -> None:
    marker = f"/nowhere-{uuid.uuid4().hex}"
    stack.get(marker, headers={"X-Forwarded-For": "192.0.2.66"})

    def lines(service: str) -> list[str]:
        log = stack.compose("logs", "--tail", "50", service).splitlines()
        return [line for line in log if marker in line]

    # Neither of the two writes a line immediately.
    wait_until(lambda: lines("inspect"))
    wait_until(lambda: lines("nginx"))
    [inspected] = lines("inspect")
    client = lines("nginx")[0].split("|")[1].split()[0]
    assert client in inspected
    assert "192.0.2.66" not in inspected
