"""The configuration on other versions than this machine's: the stack's, and the newest there are."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from stack import REPO
from test_static import check, rendered_nginx_config

NEWEST = "proscenium/newest"
VTCS = len(list((REPO / "varnish" / "tests").glob("*.vtc")))

pytestmark = pytest.mark.skipif(os.environ.get("ENGINE") == "no", reason="no container engine can run here")


@pytest.fixture(scope="module")
def newest() -> str:
    """An image with nginx and Vinyl Cache from Debian unstable."""
    here = subprocess.run(["docker", "image", "inspect", "proscenium/base:trixie"], capture_output=True)
    base = "proscenium/base:trixie" if here.returncode == 0 else "debian:trixie-slim"
    check("docker", "build", "-q", "-t", NEWEST, "--build-arg", f"BASE={base}", REPO / "tests" / "newest")
    return NEWEST


def image_of(service: str) -> str:
    """The image that compose.yaml has for a service."""
    composed = json.loads(check("docker", "compose", "config", "--format", "json"))
    return str(composed["services"][service]["image"])


def every_rule(image: str) -> None:
    """Run all VTCs with the varnishtest of an image."""
    script = "cd /etc/varnish/tests && varnishtest -j 8 -k -t 60 *.vtc"
    done = subprocess.run(
        [
            "docker",
            "run",
            "--rm",
            "--entrypoint",
            "sh",
            "-v",
            f"{REPO}/varnish:/etc/varnish:ro",
            image,
            "-c",
            script,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert done.stdout.count(" passed ") == VTCS, done.stdout[-8000:]


def test_every_rule_in_the_stacks_varnish() -> None:
    every_rule(image_of("varnish"))


def test_every_rule_in_the_newest_vinyl_cache(newest: str) -> None:
    every_rule(newest)


def nginx_accepts(image: str, folder: Path) -> None:
    """Run nginx -t in an image, on the files as start.sh writes them."""
    config = rendered_nginx_config(folder)
    check(
        *("docker", "run", "--rm", "--entrypoint", "sh", "-v", f"{folder}:{folder}", image, "-c"),
        f"ln -sfn /usr/lib/nginx/modules {folder}/modules; nginx -t -e stderr -p {folder} -c {config} 2>&1"
        " | tee /dev/stderr | grep -q successful",
    )


def test_the_stacks_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    nginx_accepts(image_of("nginx"), tmp_path)


def test_the_newest_nginx_accepts_its_configuration(tmp_path: Path, newest: str) -> None:
    nginx_accepts(newest, tmp_path)
