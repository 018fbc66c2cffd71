"""The commands on machines without an engine, images or programs, simulated by a PATH of the test's own."""

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from bare import bare_checkout, engine, run
from support.ports import free_port_range, free_ports


# The programs that the scripts may expect on any system.
@pytest.fixture
def bare(tmp_path: Path) -> Path:
    return bare_checkout(tmp_path)


def files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}


def test_nothing_usable_is_one_clear_line_and_changes_nothing(bare: Path) -> None:
    before = files(bare)
    done = run(bare, "up", user=65534 if os.getuid() == 0 else None)
    assert done.returncode == 1
    lines = (done.stdout + done.stderr).splitlines()
    assert len(lines) == 1, lines
    assert "no container engine answers" in lines[0]
    assert "Type: " in lines[0]
    assert "nginx" in lines[0]
    assert files(bare) == before


def test_mode_containers_without_an_engine_fails(bare: Path) -> None:
    done = run(bare, "up", user=65534 if os.getuid() == 0 else None, MODE="containers")
    assert done.returncode == 1
    assert "MODE=native" in done.stderr


def test_an_unknown_mode_is_rejected(bare: Path) -> None:
    done = run(bare, "up", MODE="cloud")
    assert done.returncode == 1
    assert "MODE is 'cloud'" in done.stderr


@pytest.mark.parametrize("closed", ["nginx/sites", "varnish/start.sh"])
def test_a_checkout_with_a_strict_umask_is_rejected_with_the_remedy(bare: Path, closed: str) -> None:
    """Containers read the files as other users. A private key beside them keeps its mode."""
    docker = bare.parent / "bin" / "docker"
    docker.write_text("#!/bin/sh\n")  # an engine that accepts every command
    docker.chmod(0o755)
    (bare / "nginx" / "a-users-own.key").touch(mode=0o600)
    (bare / closed).chmod(0o700)
    done = run(bare, "up")
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert f"cannot read '{closed}'" in line
    command = line.split("Type: ")[1]
    assert f"Type: {command}" in run(bare, "doctor").stdout
    subprocess.run(["sh", "-c", command], cwd=bare, check=True)
    assert "cannot read" not in run(bare, "doctor").stdout


def test_doctor_names_what_is_missing_and_what_to_type(bare: Path) -> None:
    before = files(bare)
    taken, free = free_ports(2)
    with socket.create_server(("127.0.0.1", taken)):
        done = run(
            bare,
            "doctor",
            HTTP_PORT=str(taken),
            SWF_PORT=str(free),
            user=65534 if os.getuid() == 0 else None,
        )
    report = done.stdout.splitlines()
    assert any("container engine" in line and "sudo make up" in line for line in report), done
    assert any("varnish" in line and "apt-get install" in line for line in report)
    assert any("chromium" in line and "make test" in line for line in report)
    assert any(
        f"HTTP_PORT {taken}" in line and "taken" in line and "Type: make up HTTP_PORT=" in line
        for line in report
    )
    assert any(f"SWF_PORT {free}" in line and "free" in line for line in report)
    assert files(bare) == before


@pytest.mark.parametrize("mode", ["", "containers", "native"])
def test_a_command_for_a_running_stack_fails_without_one(bare: Path, mode: str) -> None:
    """Never started, or stopped."""
    if mode:
        (bare / ".run" / "proscenium").mkdir(parents=True)
        (bare / ".run" / "proscenium" / "mode").write_text(mode)
    for command in ("status", "logs", "load", "compare", "reload", "purge", "reset"):
        done = run(bare, "stack", command, URL="/")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "The stack 'proscenium' is not running. Type: make up\n"


def test_there_is_nothing_to_stop_on_a_stack_that_was_never_started(bare: Path) -> None:
    for command in ("down", "clean"):
        done = run(bare, "stack", command)
        assert (done.returncode, done.stderr) == (0, "")
        assert "nothing to do" in done.stdout


def test_a_stack_that_compose_has_started_is_known(bare: Path) -> None:
    log = engine(bare)
    assert run(bare, "stack", "status").returncode == 0
    assert "compose ps" in log.read_text()


@pytest.mark.parametrize("command", ["load", "compare"])
def test_a_load_that_fails_to_start_names_no_report(bare: Path, command: str) -> None:
    """An earlier report is not presented as this run's."""
    engine(bare)
    report = bare / ".run" / "proscenium" / command
    report.mkdir(parents=True)
    (report / "report.html").touch()
    done = run(bare, "stack", command)
    assert done.returncode != 0
    assert "The report" not in done.stdout
    assert list(report.iterdir()) == []


def test_compare_names_a_mistake_in_the_number_of_users(bare: Path) -> None:
    engine(bare)
    done = run(bare, "stack", "compare", USERS="many")
    assert done.returncode == 1
    assert "USERS=many is no number of users" in done.stderr


def test_the_environment_wins_over_the_env_file(bare: Path) -> None:
    (bare / ".env").write_text('# ports\nHTTP_PORT=1111\nSWF_PORT="2222"\nexport NOT=this\n')
    done = subprocess.run(
        ["bash", "-c", ". bin/lib/common.sh; echo $HTTP_PORT $SWF_PORT $POLICY_FILE_PORT"],
        cwd=bare,
        env={"PATH": os.environ["PATH"], "HTTP_PORT": "3333"},
        capture_output=True,
        text=True,
        timeout=10,
    )
    assert done.stdout.split() == ["3333", "2222", "3000"], done


def compose_file(bare: Path, **settings: str) -> str:
    """What the commands give to Compose as COMPOSE_FILE."""
    done = subprocess.run(
        ["bash", "-c", ". bin/lib/common.sh; echo $COMPOSE_FILE"],
        cwd=bare,
        env={"PATH": str(bare.parent / "bin"), **settings},
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return done.stdout.strip()


def test_extras_become_compose_files(bare: Path) -> None:
    assert compose_file(bare) == "compose.yaml"
    chosen = "compose.yaml:extras/mirror/compose.yaml:extras/inspect/compose.yaml"
    for separated in ("mirror,inspect", "mirror inspect", "mirror, inspect"):
        assert compose_file(bare, EXTRAS=separated) == chosen
    (bare / ".env").write_text("EXTRAS=mirror,inspect\n")
    assert compose_file(bare) == chosen
    assert compose_file(bare, EXTRAS="") == "compose.yaml"
    assert compose_file(bare, COMPOSE_FILE="mine.yaml") == "mine.yaml"

    override = bare / "compose.override.yaml"
    override.symlink_to("offline/compose.yaml")  # as `make up` links it for plain Compose commands
    assert compose_file(bare) == chosen
    override.unlink()
    override.touch()
    assert compose_file(bare) == f"{chosen}:compose.override.yaml"


def test_an_unknown_extra_is_rejected_with_the_known_ones(bare: Path) -> None:
    done = run(bare, "up", EXTRAS="mirror,curtain")
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "'curtain'" in line
    assert line.endswith(" inspect mirror webcam workers.")


def test_the_ports_of_chosen_extras_and_theatres_are_checked(bare: Path) -> None:
    stage, ftp = free_ports(2)
    passive, last = free_port_range(2)
    settings = {
        "THEATRES_SWF_PORT": str(stage - 1),
        "FTP_PORT": str(ftp),
        "FTP_PASSIVE_PORTS": f"{passive}-{last}",
    }
    with socket.create_server(("127.0.0.1", stage)), socket.create_server(("127.0.0.1", passive)):
        without = run(bare, "doctor", user=None, **settings).stdout
        chosen = {"EXTRAS": "webcam", "THEATRES": "second third"}
        report = run(bare, "doctor", user=None, **chosen, **settings).stdout.splitlines()
    assert "THEATRES_SWF_PORT" not in without
    assert "FTP" not in without
    moved = f"make up FTP_PASSIVE_PORTS={passive + 1000}-{passive + 1001}"
    for port, remedy in ((stage, f"make up THEATRES_SWF_PORT={stage + 999}"), (passive, moved)):
        [line] = [line for line in report if f" {port} " in line]
        assert "taken by another program" in line
        assert line.split("Type: ")[1] == remedy
    [line] = [line for line in report if f"FTP_PORT {ftp} " in line]
    assert "free" in line


REGISTRY = """#!/bin/sh
# An engine. The file `registry` says whether a registry answers; an image's label is in the file of its name.
for last; do :; done
case "$*" in
*" config") echo "image: ${NGINX_IMAGE:-nginx:1}" && echo "PYTHON_IMAGE: ${PYTHON_IMAGE:-python:3}" ;;
"image inspect proscenium/"*) ;;
"image inspect -f {{.RootFS.Layers}}"*) echo base ;;
"image inspect -f"*) cat "built-${last##*/}" ;;
"build --label "*) echo "${3#content=}" >"built-${9##*/}" ;;
*inspect*) [ -e registry ] ;;
esac
"""


def choose_images(bare: Path, **images: str) -> str:
    done = subprocess.run(
        ["bash", "-c", ". bin/lib/common.sh; . offline/images.sh; choose_images; echo ${NGINX_IMAGE:-}"],
        cwd=bare,
        env={"PATH": f"{bare.parent / 'bin'}:{os.environ['PATH']}", **images},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=20,
    )
    return done.stdout


def install_registry(bare: Path) -> None:
    docker = bare.parent / "bin" / "docker"
    docker.write_text(REGISTRY)
    docker.chmod(0o755)


def test_the_offline_images_are_built_when_their_files_change(bare: Path) -> None:
    install_registry(bare)
    assert choose_images(bare).count("Building") == 4
    assert choose_images(bare).count("Building") == 0
    with (bare / "offline" / "Dockerfile").open("a") as dockerfile:
        dockerfile.write("# changed\n")
    assert choose_images(bare).count("Building") == 4


def test_the_images_can_be_built_as_the_readme_says(bare: Path) -> None:
    [printed] = re.findall(r"```sh\n(.*?)```", (bare / "offline" / "README.md").read_text(), re.S)
    docker = bare.parent / "bin" / "docker"
    docker.write_text('#!/bin/sh\necho "$@" >>commands\n')
    docker.chmod(0o755)
    (bare / "offline" / "base.sh").write_text('#!/bin/sh\necho base "$@" >>commands\n')
    (bare / "compose.override.yaml").unlink(missing_ok=True)
    path = f"{docker.parent}:{os.environ['PATH']}"
    subprocess.run(["bash", "-ec", printed], cwd=bare, env={"PATH": path}, check=True, timeout=20)
    commands = (bare / "commands").read_text()
    names = re.findall(r"^\w+=(.*)$", (bare / "offline" / "images.env").read_text(), re.M)
    assert sorted(re.findall(r"(?:-t|^base) (\S+)", commands, re.M)) == sorted(names)
    targets = re.findall(r"AS (\w+)", (bare / "offline" / "Dockerfile").read_text())
    assert re.findall(r"--target (\w+)", commands) == targets
    assert (bare / "compose.override.yaml").resolve() == bare / "offline" / "compose.yaml"


def test_plain_compose_hears_of_the_offline_images(bare: Path) -> None:
    install_registry(bare)
    override = bare / "compose.override.yaml"
    override.unlink(missing_ok=True)
    for _ in range(2):
        assert choose_images(bare).endswith("proscenium/nginx:offline\n")
        assert override.resolve() == bare / "offline" / "compose.yaml"
    # Images that the user has named say nothing about the official ones.
    choose_images(bare, NGINX_IMAGE="proscenium/nginx:newest", PYTHON_IMAGE="proscenium/python:newest")
    assert override.is_symlink()
    (bare / "registry").touch()
    assert choose_images(bare) == "\n"
    assert not override.is_symlink()

    override.write_text("services: {}\n")
    assert choose_images(bare) == "\n"
    (bare / "registry").unlink()
    assert "compose.override.yaml is yours" in choose_images(bare)
    assert override.read_text() == "services: {}\n"


def test_an_engine_that_cannot_start_is_named(bare: Path) -> None:
    """`docker` exists and `dockerd` ends at once: the reason is printed."""
    programs = bare.parent / "bin"
    for name in ("docker", "dockerd"):
        (programs / name).write_text("#!/bin/sh\nexit 1\n")
        (programs / name).chmod(0o755)
    (programs / "setsid").symlink_to(shutil.which("setsid") or "/usr/bin/setsid")
    if os.getuid() != 0:
        pytest.skip("only root starts an engine")
    if Path("/run/systemd/system").is_dir():
        pytest.skip("systemd would be asked, not dockerd")
    done = run(bare, "up", MODE="containers")
    assert done.returncode == 1
    assert "does not start here" in done.stderr
