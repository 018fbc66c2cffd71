"""The stack on the newest versions: nginx and Vinyl Cache from Debian unstable, Locust without our lock.

offline/Dockerfile builds these images, too; only the packages differ.
"""

import os
import sys
from pathlib import Path

import pytest

from tests.stack import PROJECT, REPO
from tests.support.checks import check, ran

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("ENGINE") == "no", reason="no container engine can run here"),
]

SID = "proscenium/base:sid"
INSTALLABLE = "apt-get update && apt-get install -y --download-only --no-install-recommends nginx vinyl-cache"


def build(target: str, **arguments: str) -> str:
    """Build one image of offline/Dockerfile; return its name. Skip the test if sid's mirror is at fault."""
    image = f"proscenium/{target}:newest"
    options = [option for name, value in arguments.items() for option in ("--build-arg", f"{name}={value}")]
    file = ("-f", "offline/Dockerfile", "--target", target)
    built = ran("docker", "build", "-t", image, *file, *options, "loadtest")
    if built.returncode and arguments["BASE"] == SID:
        installed = ran("docker", "run", "--rm", SID, "sh", "-c", INSTALLABLE)
        if installed.returncode:
            pytest.skip(f"Debian unstable cannot be installed from its mirror today:\n{installed.stderr}")
    assert built.returncode == 0, built.stdout + built.stderr
    return image


@pytest.fixture(scope="module")
def newest() -> dict[str, str]:
    """Build the newest images; return the environment that names them and their own stack."""
    base = "proscenium/base:trixie"
    offline = ran("docker", "image", "inspect", base).returncode == 0
    stable, unstable = (base, base) if offline else ("debian:trixie-slim", "debian:sid-slim")
    check("docker", "build", "-q", "-t", SID, "--build-arg", f"BASE={unstable}", REPO / "tests" / "newest")
    return {
        "NGINX_IMAGE": build("nginx", BASE=SID),
        "VARNISH_IMAGE": build("varnish", BASE=SID, VARNISH="vinyl-cache"),
        "PYTHON_IMAGE": build("python", BASE=stable),
        "LOCUST_IMAGE": build("locust", BASE=stable, LOCUST="locust==2.47.0"),
        "COMPOSE_PROJECT_NAME": f"{PROJECT}-newest",
    }


def passes(newest: dict[str, str], *selection: str) -> None:
    """Run other tests of this folder with the newest images."""
    check(sys.executable, "-m", "pytest", "-q", "--maxfail=5", *selection, env=os.environ | newest)


def test_the_newest_images_keep_the_contract_and_every_rule(newest: dict[str, str]) -> None:
    passes(newest, "tests/test_images.py")


def test_the_starter_keeps_its_promises_on_the_newest_images(newest: dict[str, str]) -> None:
    passes(newest, "starter/tests")


def test_the_whole_stack_works_on_the_newest_images(newest: dict[str, str]) -> None:
    names = ("caching_rules", "http", "load", "open", "policy", "purge", "stage", "tls", "trace")
    passes(newest, *(f"tests/test_{name}.py" for name in names), "-m", "not slow", "-k", "containers")


def test_kubernetes_runs_the_newest_images(newest: dict[str, str]) -> None:
    passes(newest, "extras/kubernetes/proof")


def test_the_newest_nginx_follows_the_names_of_a_ring(newest: dict[str, str], tmp_path: Path) -> None:
    """nginx follows names since 1.27.3. The tests of nginx/ run the first nginx in PATH, here the image's."""
    container = check("docker", "create", newest["NGINX_IMAGE"]).strip()
    check("sh", "-c", f"docker export {container} | tar -x -C '{tmp_path}' usr/lib")
    check("docker", "rm", container)
    (loader,) = tmp_path.glob("usr/lib/*/ld-linux-*.so.*")
    folder = tmp_path / "usr" / "lib" / "nginx"
    program = tmp_path / "nginx"
    program.write_text(f"""#!/bin/sh
[ "$1" != -g ] || shift 2  # the module of another nginx (native/bin/nginx)
exec '{loader}' --library-path '{loader.parent}' '{folder}/nginx' \\
    -g "load_module {folder}/modules/ngx_stream_module.so;" "$@"
""")
    program.chmod(0o755)
    passes({**newest, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, "nginx/tests/test_ring.py")
