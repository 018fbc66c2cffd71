"""What can be said about the files without running them."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from stack import REPO

BIN = Path(sys.executable).parent


def tracked(*patterns: str) -> list[str]:
    """The files of this checkout that git knows or would add."""
    listed = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=REPO,
        text=True,
    )
    return [name for name in listed.splitlines() if (REPO / name).exists()]


def check(*command: str | Path, **kwargs: object) -> str:
    """Run a checker; its whole output when it is not content."""
    done = subprocess.run(
        command,
        cwd=REPO,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **kwargs,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, done.stdout
    return str(done.stdout)


def test_ruff() -> None:
    check(BIN / "ruff", "check", ".")
    check(BIN / "ruff", "format", "--check", ".")


@pytest.mark.parametrize(
    "part",
    ["policyd/src", "backend/src", "loadtest", "varnish/tests", "nginx/tests", "tests", "native", "labs"],
)
def test_mypy(part: str) -> None:
    check(BIN / "mypy", part)


def test_shellcheck() -> None:
    # A bash library is checked where the commands in bin/ source it.
    scripts = [
        name
        for name in tracked(":(glob)bin/*", "*.sh", ".ci/run")
        if not (REPO / name).read_text().startswith("# shellcheck shell=bash")
    ]
    assert len(scripts) > 6
    check("shellcheck", *scripts)


def test_hadolint() -> None:
    files = tracked("*Dockerfile")
    assert len(files) == 6
    check(BIN / "hadolint", *files)


def rendered_nginx_config(folder: Path) -> Path:
    """The configuration as start.sh writes it; `folder` is its prefix, too."""
    settings = {
        "PATH": os.environ["PATH"] + ":/usr/sbin",
        "GENERATED_FOLDER": str(folder),
        "CERTIFICATE_FOLDER": str(folder),
        "PREFIX": str(folder),
    }
    check("sh", "-c", '. "$(dirname "$0")/scripts/render.sh"', REPO / "nginx" / "start.sh", env=settings)
    return folder / "nginx.conf"


def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    assert nginx, "nginx is missing; make test installs it as root"
    assert "successful" in check(
        nginx, "-t", "-e", "stderr", "-p", tmp_path, "-c", rendered_nginx_config(tmp_path)
    )


def test_gixy(tmp_path: Path) -> None:
    # default_server_flag: the server for unknown names is read first, and says so.
    # proxy_pass_normalized: a URL is to go on in one spelling (sites/default.conf.template).
    skipped = "default_server_flag,proxy_pass_normalized"
    command: list[str | Path] = [
        BIN / "gixy",
        "--format",
        "json",
        "--skips",
        skipped,
        rendered_nginx_config(tmp_path),
    ]
    found = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
    # nginx escapes what a rewrite has decoded; test_a_url_goes_on_in_one_spelling tries it with a line break.
    unexpected = [problem for problem in found if "rewrite ^ $uri break;" not in problem["config"]]
    assert not unexpected, unexpected


EXTRAS = tuple(tracked("extras/*/compose.yaml"))


def merged(environment: dict[str, str], *files: str) -> dict[str, Any]:
    """What Compose makes of these files together, without the .env of this checkout."""
    options = ("--env-file=/dev/null", *(f"--file={file}" for file in files))
    command = ("docker", "compose", *options, "config", "--format", "json")
    return json.loads(check(*command, env=environment))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def composed() -> dict:  # type: ignore[type-arg]
    if os.environ.get("ENGINE") == "no":
        pytest.skip("Compose comes with the engine, and none can run here")
    names = {"COMPOSE_PROJECT_NAME": "x", "BACKEND_IMAGE": "", "POLICYD_IMAGE": ""}
    return merged({**os.environ, **names}, "compose.yaml", *EXTRAS)


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_compose_accepts_each_extra_without_a_warning(extra: str) -> None:
    if os.environ.get("ENGINE") == "no":
        pytest.skip("Compose comes with the engine, and none can run here")
    files = [f"--file={file}" for file in ("compose.yaml", extra) if file]
    assert check("docker", "compose", *files, "config", "-q") == ""


def test_every_service_is_hardened(composed: dict) -> None:  # type: ignore[type-arg]
    for name, service in composed["services"].items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not re.match(r"(0|root)\b", service["user"]), name
        assert 0 < service["pids_limit"] <= 512, name
        assert 0 < int(service["mem_limit"]) <= 1 << 30, name
        assert service["init"], name
        assert service["restart"] == "unless-stopped", name
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}, name
        assert service["healthcheck"]["test"], name
        assert service["healthcheck"]["start_period"], name
        assert not service.get("privileged"), name
        assert "cap_add" not in service, name
        for port in service.get("ports", []):
            assert port["host_ip"] == "127.0.0.1", name
    assert composed["networks"]["back"]["internal"]


def test_both_files_with_the_offline_names_agree() -> None:
    """One for the scripts, one for plain Compose commands; with either, no official image is left."""
    if os.environ.get("ENGINE") == "no":
        pytest.skip("Compose comes with the engine, and none can run here")
    ours = {name: value for name, value in os.environ.items() if not name.endswith("_IMAGE")}
    offline = dict(re.findall(r"^(\w+)=(.*)$", (REPO / "offline" / "images.env").read_text(), re.M))

    def services(environment: dict[str, str], *files: str) -> dict[str, Any]:
        return merged(environment, "compose.yaml", *files)["services"]  # type: ignore[no-any-return]

    assert services(ours | offline) == services(ours, "offline/compose.yaml")
    official = services(ours, *EXTRAS)
    for name, service in services(ours | offline, *EXTRAS).items():
        assert "build" in service or service["image"] != official[name]["image"], name
        assert "build" not in service or service["build"]["args"] != official[name]["build"]["args"], name


def test_each_copy_of_the_stack_has_images_of_its_own(composed: dict) -> None:  # type: ignore[type-arg]
    built = {name: service["image"] for name, service in composed["services"].items() if "build" in service}
    backends = dict.fromkeys(("backend", "mirror", "second"), "x-backend")
    assert built == {**backends, "policyd": "x-policyd"}


def test_nginx_is_stopped_by_sigterm(composed: dict) -> None:  # type: ignore[type-arg]
    """SIGQUIT, which is in the official image, waits for every open WebSocket and stage socket."""
    services = composed["services"]
    by_nginx = {
        name: service
        for name, service in services.items()
        if service.get("image") == services["nginx"]["image"]
    }
    assert by_nginx.keys() == {"nginx", "webcam"}
    assert {service.get("stop_signal") for service in by_nginx.values()} == {"SIGTERM"}


def test_only_tmp_is_a_tmpfs_and_it_has_no_owner(composed: dict) -> None:  # type: ignore[type-arg]
    """Podman refuses an owner (`unknown mount option "uid=101"`). runc before 1.1.8 gives a mount the mode of
    the folder below it when a container is started again (runc#3911); every image has /tmp open to all."""
    for name, service in composed["services"].items():
        for mount in service.get("tmpfs", []):
            assert re.match(r"/tmp:", mount), name
            assert not re.search(r"[ug]id=", mount), name


def test_no_argument_of_a_health_check_has_white_space(composed: dict) -> None:  # type: ignore[type-arg]
    """Podman splits the arguments there (podman#26519)."""
    for name, service in composed["services"].items():
        kind, *arguments = service["healthcheck"]["test"]
        assert kind == "CMD", name
        assert not [argument for argument in arguments if re.search(r"\s", argument)], name


def test_no_engines_name_server_is_written_down() -> None:
    """Docker's is 127.0.0.11, Podman's are others: nginx learns them when it starts."""
    for name in tracked("*.conf", "*.sh", "*.vcl", "*compose.yaml"):
        for line in (REPO / name).read_text().splitlines():
            assert "127.0.0.11" not in line.split("#")[0], name


def test_every_image_and_host_port_is_a_setting_and_documented() -> None:
    source = "".join((REPO / name).read_text() for name in ("compose.yaml", *EXTRAS))
    for line in source.splitlines():
        if re.match(r"\s+image:", line):
            assert "_IMAGE:-" in line, line
        if re.match(r'\s+- ".*:\d+"$', line):
            assert re.search(r"\$\{BIND_ADDR:-127\.0\.0\.1}:\$\{\w+_PORT:-\d+}:\d+", line), line
    example = (REPO / ".env.example").read_text()
    for name, default in re.findall(r"\$\{(\w+):-([^}]*)}", source):
        default = re.sub(r"/dev/null|\$.*", "", default)  # how a mount says "none"; what Compose works out
        if name.endswith("_IMAGE"):
            default = ""  # the version stands in compose.yaml only
        if (name, default) == ("LOADTEST_WORKERS", "1"):
            continue  # `replicas` must be a number; empty means one
        assert re.search(rf"^#?{name}={re.escape(default)}$", example, re.M), (
            f"{name}={default} is not in .env.example"
        )


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_page_of_an_extra_has_its_commands_and_settings(extra: str) -> None:
    folder = Path(extra).parent
    page = (REPO / folder / "README.md").read_text()
    assert f"make up EXTRAS={folder.name}" in page
    assert f"docker compose -f compose.yaml -f {extra} up -d" in page
    settings = set(re.findall(r"\$\{(\w+)", (REPO / extra).read_text())) - {"BIND_ADDR"}
    assert {name for name in settings if f"`{name}`" not in page} == set()
    assert f"{folder.name}/README.md" in (REPO / "extras" / "README.md").read_text()


def test_the_version_of_an_image_is_written_once() -> None:
    pinned = re.findall(r"\$\{\w+_IMAGE:-([^$}]+)}", (REPO / "compose.yaml").read_text())
    assert len(pinned) == 4
    texts = {name: (REPO / name).read_text(errors="replace") for name in tracked(":!*.md")}
    for image in pinned:
        assert {name: text.count(image) for name, text in texts.items() if image in text} == {
            "compose.yaml": 1
        }


def test_native_mode_sets_every_address() -> None:
    """A default that fits containers only would be missed by a test that happens not to use it."""

    def names(pattern: str, *files: str) -> set[str]:
        return {name for file in files for name in re.findall(pattern, (REPO / file).read_text(), re.M)}

    settings = names(r"\$\{([A-Z_]+):-", "nginx/scripts/settings.sh", "varnish/settings.sh")
    for_people = names(r"^([A-Z_]+)=", ".env.example") | {"NAME_SERVERS"}
    native = names(r"^([A-Z_]+)=", "native/addresses.env", *tracked("extras/*/native.env"))
    assert len(settings - for_people) > 20
    assert settings - for_people <= native


def test_locks_hold_together() -> None:
    """One virtual environment holds all of them, so a package has one version, or one for each Python."""
    found: dict[str, set[frozenset[str]]] = {}
    for lock in tracked("*requirements.lock"):
        pins: dict[str, set[str]] = {}
        for name, version in re.findall(r"^([\w.-]+)==(\S+)", (REPO / lock).read_text(), re.M):
            pins.setdefault(name, set()).add(version)
        for name, versions in pins.items():
            found.setdefault(name, set()).add(frozenset(versions))
    assert found
    assert {name: versions for name, versions in found.items() if len(versions) > 1} == {}


def requirements(distribution: str) -> set[str]:
    """What it needs to be installed here, without extras."""
    needed = [Requirement(line) for line in requires(distribution) or []]
    return {
        canonicalize_name(each.name)
        for each in needed
        if each.marker is None or each.marker.evaluate({"extra": ""})
    }


def third_party_imports() -> set[str]:
    """The modules that the load test imports and neither it nor Python brings."""
    loadtest = REPO / "loadtest"
    parts = [part for part in loadtest.rglob("*.py") if "tests" not in part.parts]
    imported = set()
    for part in parts:
        for node in ast.walk(ast.parse(part.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.split(".")[0])
    return imported - sys.stdlib_module_names - {path.stem for path in loadtest.iterdir()}


def test_the_official_locust_image_brings_what_the_load_test_imports() -> None:
    """Our lock is not in that image: it has Locust, and what Locust needs."""
    of = packages_distributions()
    used = {canonicalize_name(of[name][0]) for name in third_party_imports()}

    brought, new = {"locust"}, {"locust"}
    while new:
        new = set[str]().union(*(requirements(name) for name in new)) - brought
        brought |= new
    assert used <= brought
    # Only by way of engineio and simple-websocket; if that changes, the image must get it from us.
    assert used - requirements("locust") - {"locust"} == {"wsproto"}


def test_the_files_have_unix_line_ends() -> None:
    for name in tracked():
        content = (REPO / name).read_bytes()
        assert b"\0" in content or b"\r\n" not in content, name
