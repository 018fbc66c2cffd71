"""What is only true of containers: how they are locked up, and who can reach whom."""

import json
import subprocess

import pytest

from house import House, eventually

pytestmark = pytest.mark.parametrize("house", ["containers"], indirect=True, scope="session")
SERVICES = ("nginx", "varnish", "backend", "policyd", "locust")


def inspect(house: House, service: str) -> dict:  # type: ignore[type-arg]
    container = house.compose("ps", "-q", service).strip()
    return json.loads(subprocess.check_output(["docker", "inspect", container], text=True))[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("service", SERVICES)
def test_hardened(house: House, service: str) -> None:
    """The running container, not the file: an engine may ignore what it does not know."""
    found = inspect(house, service)
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
    uids = house.compose("exec", "-T", service, "sh", "-c", "cat /proc/[0-9]*/status | grep ^Uid:").split(
        "\n"
    )
    assert all(line.split()[1] != "0" for line in uids if line), uids
    with pytest.raises(AssertionError, match=r"(?i)read-only"):
        house.compose("exec", "-T", service, "sh", "-c", "touch /proof")


def test_only_the_loopback_is_published(house: House) -> None:
    for service in SERVICES:
        for bindings in inspect(house, service)["NetworkSettings"]["Ports"].values():
            for binding in bindings or []:
                assert binding["HostIp"] == "127.0.0.1", service
                assert int(binding["HostPort"]) in house.ports.values(), service


REACHES = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=2).close()
except OSError:
    sys.exit("exit: nobody there")
"""


@pytest.mark.parametrize(
    ("source", "host", "port", "reached"),
    [
        ("locust", "nginx", 8000, True),
        ("locust", "backend", 8081, False),
        ("locust", "varnish", 8080, False),
        ("backend", "policyd", 3000, True),
        ("backend", "locust", 8089, False),
    ],
)
def test_networks(house: House, source: str, host: str, port: int, reached: bool) -> None:
    def connect() -> None:
        house.compose("exec", "-T", source, "python", "-c", REACHES, host, str(port))

    if reached:
        connect()
    else:
        with pytest.raises(AssertionError, match="exit"):
            connect()


def test_the_back_network_has_no_way_out(house: House) -> None:
    """Not by name, as above, and not by address either: Locust's, on the other network."""
    (edge,) = inspect(house, "locust")["NetworkSettings"]["Networks"].values()
    with pytest.raises(AssertionError, match="exit"):
        house.compose("exec", "-T", "backend", "python", "-c", REACHES, edge["IPAddress"], "8089")


def test_a_dead_varnish_is_answered_by_our_own_page(house: House) -> None:
    house.compose("stop", "varnish")
    try:
        answer = house.get("/")
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "5"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "nginx" not in answer.text
    finally:
        house.compose("start", "varnish")
        eventually(lambda: house.get("/").status_code == 200)


def test_nginx_finds_a_recreated_varnish(house: House) -> None:
    before = inspect(house, "varnish")["Id"]
    house.compose("up", "-d", "--no-deps", "--force-recreate", "--wait", "varnish")
    assert inspect(house, "varnish")["Id"] != before
    eventually(lambda: house.get("/media/bench/tiny.html").status_code == 200)
