"""A copy of the checkout on a machine that has nothing but the basics, and its commands."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

from tests.stack import REPO
from tests.support.checks import ran

BASICS = shlex.split("""
    bash sh env id dirname readlink cat grep sed awk find mkdir timeout sleep rm df printf tail date uname
    cksum tr xargs sort numfmt
""")
LIBRARIES = ("bin/lib/common.sh", "bin/lib/containers.sh", "native/native.sh", "bin/lib/settings.sh")


NOBODY = 65534 if os.getuid() == 0 else None  # the user: nothing is installed for it


def files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}


def bare_checkout(tmp_path: Path) -> Path:
    """A world-readable copy of the checkout, and a bin folder with nothing but the basics."""
    copy = tmp_path / "stack"
    left_out = (
        *(".git", ".venv", ".env", "compose.override.yaml", ".run", "backups", "test-results", ".*_cache"),
        "__pycache__",
    )
    shutil.copytree(REPO, copy, ignore=shutil.ignore_patterns(*left_out))
    subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
    # nginx and varnishd live there, outside a user's PATH; this machine may have them.
    native = copy / "native" / "native.sh"
    assert "PATH=$PATH:/usr/sbin\n" in native.read_text()
    native.write_text(native.read_text().replace("PATH=$PATH:/usr/sbin\n", ""))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in BASICS:
        found = shutil.which(name)
        if found:
            (programs / name).symlink_to(found)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o755)
    return copy


def run(
    copy: Path, script: str, *arguments: str, user: int | None = None, **settings: str
) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(copy.parent / "bin"), "HOME": "/nonexistent", **settings}
    return ran(copy / "bin" / script, *arguments, env=environment, user=user, timeout=300)


def functions(
    copy: Path, commands: str, typed: str | None = None, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run functions of bin/lib, with the test's `docker` and this machine's other programs."""
    libraries = "".join(f". {name}; " for name in LIBRARIES)
    environment = {"PATH": f"{copy.parent / 'bin'}:{os.environ['PATH']}", **settings}
    return ran("bash", "-c", libraries + commands, cwd=copy, env=environment, input=typed, timeout=300)


def compose_file(copy: Path, **settings: str) -> str:
    """Return the COMPOSE_FILE that the commands give to Compose."""
    return functions(copy, "echo $COMPOSE_FILE", **settings).stdout.strip()


# What `docker compose config --format json` may print.
BACKEND = {"build": {"args": {"PYTHON_IMAGE": "python:3"}}}
CONFIG = json.dumps({"services": {"nginx": {"image": "nginx:1"}, "backend": BACKEND}}, indent=2)


def program(path: Path, text: str) -> None:
    """Write a shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def engine(bare: Path, *answers: str) -> Path:
    """An engine with a container of this stack, in which nothing works; return the log of its commands.

    `answers` are further branches of a shell's `case` over its command.
    """
    log = bare.parent / "docker.log"
    program(
        bare.parent / "bin" / "docker",
        f"echo \"$*\" >>'{log}'\n"
        'case "$*" in ' + "\n".join(f"{answer} ;;" for answer in answers) + "\n"
        "info | 'compose version --short') ;;\n"
        f"*working_dir*) echo '{bare}' ;; ps*status=paused*|ps*health=*|ps*stack.namespace=*) ;;\n"
        "ps*) echo 1 ;;\n"
        "'compose ps'*|'compose config'*) ;; *) exit 1 ;; esac",
    )
    return log


def note(bare: Path, name: str, text: str) -> None:
    """Write a note as an earlier `make up` would have left it."""
    (bare / ".run" / "proscenium").mkdir(parents=True, exist_ok=True)
    (bare / ".run" / "proscenium" / name).write_text(text)
