"""`make cluster-images`: the nodes get the images from a registry, or from this machine's engine."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from stack import NOT_INHERITED, PROJECT, REPO
from support.ports import free_ports
from support.wait import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("ENGINE") == "no", reason="no container engine can run here"),
]
SERVICES = ("backend", "locust", "nginx", "policyd", "varnish")
CONFIGURATION = """\
version: 0.1
storage: {{ filesystem: {{ rootdirectory: {folder} }} }}
http: {{ addr: "127.0.0.1:{port}" }}
"""


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """The address of an empty registry: Debian's, unpacked, because its package would start a public one."""
    subprocess.run(["apt-get", "download", "-qq", "docker-registry"], cwd=tmp_path, check=True)
    [package] = tmp_path.glob("docker-registry_*.deb")
    subprocess.run(["dpkg", "-x", package, tmp_path], check=True)
    address = f"127.0.0.1:{(port := free_ports(1)[0])}"
    (tmp_path / "config.yml").write_text(CONFIGURATION.format(folder=tmp_path / "images", port=port))
    with (tmp_path / "log").open("w") as log:
        serving = subprocess.Popen(
            [tmp_path / "usr/bin/docker-registry", "serve", "config.yml"],
            cwd=tmp_path,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: answers(address), within=20)
        yield address
    finally:
        serving.kill()
        serving.wait()


def answers(address: str) -> bool:
    try:
        return requests.get(f"http://{address}/v2/", timeout=2).ok
    except requests.ConnectionError:
        return False


def cluster_images(**settings: str) -> "subprocess.CompletedProcess[str]":
    inherited = {key: value for key, value in os.environ.items() if key not in NOT_INHERITED}
    return subprocess.run(
        ["make", "--no-print-directory", "cluster-images"],
        cwd=REPO,
        env={**inherited, "COMPOSE_PROJECT_NAME": PROJECT, **settings},
        capture_output=True,
        text=True,
    )


def test_they_are_pushed_to_a_registry(registry: str) -> None:
    done = cluster_images(CLUSTER_REGISTRY=f"{registry}/theatre")
    assert done.returncode == 0, done.stderr
    for service in SERVICES:
        name = f"theatre/proscenium-{service}"
        [tag] = requests.get(f"http://{registry}/v2/{name}/tags/list", timeout=5).json()["tags"]
        assert f"Pushing {registry}/{name}:{tag}" in done.stdout
        subprocess.run(["docker", "rmi", f"{registry}/{name}:{tag}"], check=True, stdout=subprocess.PIPE)


def test_they_are_copied_to_an_engine() -> None:
    done = cluster_images(CONTEXTS="default")
    assert done.returncode == 0, done.stderr
    assert "Loading the images into default" in done.stdout


def test_without_a_place_it_says_what_to_type() -> None:
    done = cluster_images()
    assert done.returncode != 0
    assert "CLUSTER_REGISTRY=registry.example.org/theatre" in done.stderr
