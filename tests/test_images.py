"""The configured images, official or not: the terms of offline/contract.toml, and our own files in them."""

import json
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.stack import REPO
from tests.support.checks import check
from tests.test_dependencies import third_party_imports

pytestmark = [
    pytest.mark.skipif(os.environ.get("ENGINE") == "no", reason="no container engine can run here"),
    pytest.mark.slow,  # images change less often than what runs on them; ONLY=images runs it at any time
]

CONTRACT: dict[str, dict[str, Any]] = tomllib.loads((REPO / "offline" / "contract.toml").read_text())
ACCEPTED = [(name, script) for name, terms in CONTRACT.items() for script in terms["accepts"]]
WRITTEN = ("/etc/nginx/generated", "/var/tmp")  # by nginx's start script; volumes in compose.yaml
OPTIONAL = ("THEATRES=second third",)  # so that nginx and Varnish read all files
every_image = pytest.mark.parametrize("name", CONTRACT)


OBSERVE = "extras/observe/compose.yaml"  # the only extra with an image of its own


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """Return the services of compose.yaml and extras/observe, with the configured images."""
    # Without a registry, only `make up EXTRAS=observe` builds Prometheus' image.
    choose = ". bin/lib/common.sh; . bin/lib/engine.sh; . offline/images.sh; choose_images"
    check("bash", "-c", choose, env=os.environ | {"COMPOSE_FILE": "", "EXTRAS": "observe"})
    files = ("--file=compose.yaml", f"--file={OBSERVE}")
    found = json.loads(check("docker", "compose", *files, "config", "--format", "json"))["services"]
    core = json.loads(check("docker", "compose", "config", "--format", "json"))["services"]
    return {**core, "prometheus": found["prometheus"]}


@pytest.fixture(scope="module")
def images(services: dict[str, Any]) -> dict[str, str]:
    """Return the image behind each name of the contract."""
    found = {name: services[name]["image"] for name in CONTRACT if name in services}
    return {**found, "python": services["backend"]["build"]["args"]["PYTHON_IMAGE"]}


def inside(image: str, script: str, *options: str) -> str:
    """Return the output of a shell script in a new container of an image, limited as in compose.yaml."""
    limits = ("--network=none", "--read-only", "--tmpfs=/tmp:exec,mode=1777", "--cap-drop=ALL")
    return check("docker", "run", "--rm", *limits, *options, "--entrypoint=sh", image, "-c", script)


def lines(image: str, script: str) -> list[str]:
    """Return the lines that a script prints in a container of an image."""
    return inside(image, script).splitlines()


@every_image
def test_users(images: dict[str, str], name: str) -> None:
    found = lines(images[name], "cut -d: -f1,3,4,6,7 /etc/passwd")
    assert set(CONTRACT[name]["users"]) <= set(found)


@every_image
def test_configuration(images: dict[str, str], name: str) -> None:
    [inspected] = json.loads(check("docker", "image", "inspect", images[name]))
    found = inspected["Config"]
    for field, value in CONTRACT[name]["config"].items():
        assert (found.get(field) or type(value)()) == value, field
    assert {f"{name}={value}" for name, value in CONTRACT[name]["environment"].items()} <= set(found["Env"])


@every_image
def test_programs(images: dict[str, str], name: str) -> None:
    programs = CONTRACT[name]["programs"]
    found = lines(images[name], f"for path in {' '.join(programs)}; do command -v ${{path##*/}}; done; true")
    assert found == programs


@every_image
def test_programs_that_no_script_may_count_on(images: dict[str, str], name: str) -> None:
    absent = " ".join(CONTRACT[name]["absent"])
    assert lines(images[name], f"for program in {absent}; do command -v $program; done; true") == []


@every_image
def test_folders(images: dict[str, str], name: str) -> None:
    folders = CONTRACT[name]["folders"]
    image = images[name]
    # The container has no limits here, because these mount another /tmp.
    script = f"stat -c '%n %a %F' {' '.join(folders)}"
    found = check("docker", "run", "--rm", "--entrypoint=sh", image, "-c", script).splitlines()
    assert found == [f"{folder} {mode} directory" for folder, mode in folders.items()]


@pytest.mark.parametrize(("name", "script"), ACCEPTED)
def test_accepts(images: dict[str, str], name: str, script: str) -> None:
    inside(images[name], script, f"--user={CONTRACT[name]['runs_as']}")


def test_locust_brings_what_the_load_test_imports(images: dict[str, str]) -> None:
    modules = ", ".join(sorted(third_party_imports()))
    inside(images["locust"], f"python -c 'import {modules}'")


@every_image
def test_the_stack_runs_it_as_the_same_user(services: dict[str, Any], name: str) -> None:
    for service in {"python": ("backend", "policyd")}.get(name, (name,)):
        assert services[service]["user"] == CONTRACT[name]["runs_as"], service


def test_every_service_brings_its_entrypoint(services: dict[str, Any]) -> None:
    """The official images' own entrypoints expect other configuration, or would start other programs."""
    for name, service in services.items():
        assert service["entrypoint"] or "build" in service, name


def test_every_cache_rule_on_the_configured_varnish(images: dict[str, str]) -> None:
    folders = ("varnish", "starter")
    rules = [vtc for folder in folders for vtc in (REPO / folder / "tests").glob("*.vtc")]
    script = "cd /etc/varnish/tests && varnishtest -j 4 -k -t 60 *.vtc /etc/starter/tests/*.vtc"
    mounts = (f"--volume={REPO}/{folder}:/etc/{folder}:ro" for folder in folders)
    done = inside(images["varnish"], script, *mounts)
    assert done.count(" passed ") == len(rules)


def test_the_configured_nginx_accepts_our_configuration(images: dict[str, str]) -> None:
    folder = "/etc/nginx/proscenium"
    script = f"cd {folder} && . scripts/render.sh && nginx -t -e stderr -p $PREFIX -c $configuration"
    starter = f"--volume={REPO}/starter/nginx:/etc/nginx/starter/nginx:ro"
    mounts = (
        f"--volume={REPO}/nginx:{folder}:ro",
        starter,
        *(f"--tmpfs={path}:mode=1777" for path in WRITTEN),
    )
    optional = [f"--env={setting}" for setting in OPTIONAL]
    inside(images["nginx"], script, f"--user={CONTRACT['nginx']['runs_as']}", *mounts, *optional)


def test_policyd_runs_when_built_from_a_checkout_with_a_strict_umask(
    images: dict[str, str], tmp_path: Path
) -> None:
    """COPY keeps the modes of the files, and the container's user does not own them."""
    copy = shutil.copytree(REPO / "policyd", tmp_path / "policyd")
    check("chmod", "-R", "go=", copy)
    image = "proscenium/test-strict-umask"
    check("docker", "build", "-q", "-t", image, "--build-arg", f"PYTHON_IMAGE={images['python']}", copy)
    try:
        assert "Flash socket policy daemon" in check("docker", "run", "--rm", image, "--help")
    finally:
        check("docker", "image", "rm", image)
