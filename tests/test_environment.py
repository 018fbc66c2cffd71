"""The commands beside other things on a machine: variables, programs, checkouts, the user's rights."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bare import UNPRIVILEGED, engine, files, functions, run
from tests.stack import REPO
from tests.support.ports import free_port_range, free_ports


@pytest.mark.parametrize("closed", ["nginx/sites", "varnish/start.sh", "health.sh"])
def test_a_checkout_with_a_strict_umask_is_rejected_with_the_remedy(bare: Path, closed: str) -> None:
    """Containers read the files as other users. A private key beside them keeps its mode."""
    engine(bare, "*)")  # an engine that accepts every command
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


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_doctor_names_what_is_missing_and_what_to_type(bare: Path, family: socket.AddressFamily) -> None:
    """A program on [::1] takes a port, too: browsers try that address first for localhost."""
    before = files(bare)
    taken, free = free_ports(2)
    address = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}[family]
    with socket.create_server((address, taken), family=family):
        done = run(bare, "doctor", HTTP_PORT=str(taken), SWF_PORT=str(free), user=UNPRIVILEGED)
    report = done.stdout.splitlines()
    assert any("container engine" in line and "sudo make up" in line for line in report), done
    assert any("varnish" in line and "apt-get install" in line for line in report)
    assert any("chromium" in line and "make test" in line for line in report)
    assert any(
        f"HTTP_PORT {taken}" in line and f"{address}" in line and "Type: make up HTTP_PORT=" in line
        for line in report
    )
    assert any(f"SWF_PORT {free}" in line and "free" in line for line in report)
    assert files(bare) == before


def test_a_taken_port_is_named_before_anything_starts(bare: Path) -> None:
    log = engine(bare, "ps*)")
    taken = free_ports(1)[0]
    with socket.create_server(("127.0.0.1", taken)):
        done = functions(bare, "bin/up", MODE="containers", HTTP_PORT=str(taken))
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"Port {taken} is taken by another program, on 127.0.0.1. Put another HTTP_PORT"
    )
    assert not re.search("^compose (up|build)", log.read_text(), re.M)


def test_what_a_shell_exports_for_other_programs_changes_nothing(bare: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", bare], check=True)
    (tmp_path / "bin" / "lib").mkdir(parents=True, exist_ok=True)
    away = dict.fromkeys(
        ("GIT_DIR", "GIT_EXTERNAL_DIFF", "PYTHONPATH", "PYTHONHOME", "PIP_TARGET"), "/nonexistent"
    )
    hostile = {
        **{"CDPATH": str(tmp_path), "LC_ALL": "tr_TR.UTF-8", "LANGUAGE": "de", "MAKEFLAGS": "n", **away},
        **{"PIP_USER": "1", "PIP_REQUIRE_VIRTUALENV": "1", "http_proxy": "http://x:1"},
        **{"COMPOSE_FILE": "compose.yaml;mine.yaml", "COMPOSE_PATH_SEPARATOR": ";"},
    }
    ask = "pwd; git rev-parse --show-toplevel; i=title; echo ${i^^} $PIP_USER $COMPOSE_FILE;"
    ask += """ "${python[@]}" -c 'import urllib.request as u; print(u.proxy_bypass("192.0.2.1"))'; env"""
    done = functions(bare, ask, **hostile)
    top, git_top, word, bypassed, *environment = done.stdout.splitlines()
    assert top == git_top == str(bare)
    assert (word, bool(bypassed)) == ("TITLE 0 compose.yaml:mine.yaml", True)
    left = {line.partition("=")[0] for line in environment}
    gone = "CDPATH GIT_DIR LANGUAGE PYTHONPATH PYTHONHOME PIP_TARGET MAKEFLAGS"
    assert not left & set(gone.split())


@pytest.mark.parametrize(
    ("typed", "refused"),
    [
        (("load", "USERS=3", "CLASSES=Reader", "HTTP_PORT=1"), ""),
        (
            ("soak", "USRES=3"),
            "make soak knows no USRES; it takes MINUTES, USERS and the settings of .env.example",
        ),
        (("status", "URL=/"), "make status knows no URL; it takes the settings of .env.example"),
        (("up", "SITE=http://a:1"), "SITE is gone: it is called APP now"),
        (("clean", "up", "EXTRAS=ring", "no_proxy=x"), ""),
    ],
)
def test_a_variable_that_a_command_does_not_read_is_refused(typed: tuple[str, ...], refused: str) -> None:
    done = subprocess.run(["make", "-n", *typed], cwd=REPO, capture_output=True, text=True)
    assert bool(done.returncode) == bool(refused), done
    assert refused in done.stderr


def test_what_a_shell_exports_for_itself_is_no_variable_of_a_command(bare: Path) -> None:
    """Many shells export HOST, TAG and URL; only settings are taken from the environment, as by Compose."""
    with (bare / "Makefile").open("a") as makefile:
        makefile.write("\nwatch: print\nprint:\n\t@env\n")
    ours = {"HOST": "pc", "LESSON": "2", "APP": "example.org", "EXTRAS": "ring", "HTTP_PORT": "1"}
    environment = {"PATH": os.environ["PATH"], **ours}
    seen = subprocess.run(
        ["make", "print"], cwd=bare, env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {line.partition("=")[0] for line in seen} & {*ours} == {"EXTRAS", "HTTP_PORT"}


def test_a_stack_of_another_checkout_is_left_alone(bare: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    log = engine(bare, f"*working_dir*) echo {other}", "'image inspect'*)")
    (bare.parent / "bin" / "python3").symlink_to(sys.executable)
    for script in (
        ("up",),
        ("stack", "down"),
        ("stack", "clean"),
        ("stack", "reload"),
        ("watch",),
        ("backup",),
    ):
        done = run(bare, *script)
        assert done.returncode == 1
        assert f"belongs to the checkout {other}; this one is {bare}." in done.stderr
    assert not re.search("^(stop|rm|restart|exec|compose (up|down))", log.read_text(), re.M)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    assert functions(bare, f"is_gone {closed}").returncode == 1
    assert "belongs" in run(bare, "fault", "mend").stderr
    other.rmdir()  # that checkout has been moved here
    assert "belongs" not in run(bare, "stack", "status").stderr


def test_a_user_outside_the_group_docker_is_told_just_that(bare: Path) -> None:
    engine(bare, "info|ps*) echo 'permission denied while trying to connect' >&2; exit 1")
    for command in (("up",), ("stack", "status"), ("stack", "down"), ("backup",)):
        done = run(bare, *command, user=UNPRIVILEGED)
        [line] = done.stderr.splitlines()
        assert "is not in the group docker. Type: sudo usermod -aG docker " in line
        assert done.returncode == 1
    assert "is not in the group docker" in run(bare, "doctor", user=UNPRIVILEGED).stdout


def test_what_may_not_be_read_or_written_is_one_line(bare: Path) -> None:
    engine(bare)
    bare.chmod(0o555)
    done = run(bare, "up", user=UNPRIVILEGED)
    assert done.stderr.splitlines()[-1].startswith("make up writes into this folder, and may not: it is")
    bare.chmod(0o755)
    (bare / ".env").touch(0o200)
    [line] = run(bare, "stack", "status", user=UNPRIVILEGED).stderr.splitlines()
    assert " may not read .env. Type: sudo chown " in line


@pytest.mark.parametrize(
    ("version", "outdated"),
    [("2.24.3", True), ("v1.29.2", True), ("2.24.4-desktop.1", False), ("v5.6.1", False)],
)
def test_a_compose_that_is_too_old_is_refused(bare: Path, version: str, outdated: bool) -> None:
    engine(bare, f"'compose version'*) echo {version}")
    done = functions(bare, ". bin/lib/engine.sh; ensure_engine")
    assert bool(done.returncode) == outdated
    assert (f"Compose {version} is too old: 2.24.4 or newer is needed" in done.stderr) == outdated


def test_a_user_who_may_install_nothing_is_told_what_compose_needs(bare: Path) -> None:
    without = "python3() { false; }; compose_answers() { false; }; may_install() { false; };"
    ask = f". bin/lib/engine.sh; engine_answers() {{ :; }}; {without} ensure_engine"
    done = functions(bare, ask, HOME="/nonexistent")
    assert done.returncode == 1
    assert "Type: sudo apt-get install python3-venv\n" in done.stderr


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
    assert f"{stage} " not in without
    assert f"FTP_PORT {ftp}" not in without
    moved = f"make up FTP_PASSIVE_PORTS={passive + 1000}-{passive + 1001}"
    for port, remedy in ((stage, f"make up THEATRES_SWF_PORT={stage + 999}"), (passive, moved)):
        [line] = [line for line in report if f" {port} " in line]
        assert "taken by another program" in line
        assert line.split("Type: ")[1] == remedy
    [line] = [line for line in report if f"FTP_PORT {ftp} " in line]
    assert "free" in line
