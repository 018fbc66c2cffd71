"""A copy of the checkout on a machine with only the programs of any system, and the commands there."""

import os
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

from tests.stack import REPO
from tests.support.checks import ran

BASICS = shlex.split("""
    bash sh env id dirname basename readlink cat cmp grep sed awk find mkdir timeout sleep rm df printf tail
    date uname cksum tr xargs sort numfmt paste
""")
LIBRARIES = ("bin/lib/common.sh", "bin/lib/modes.sh", "bin/lib/containers.sh", "bin/lib/settings.sh")


UNPRIVILEGED = 65534 if os.getuid() == 0 else None  # the user: nothing is installed for it


def files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}


def bare_checkout(tmp_path: Path) -> Path:
    """Make a world-readable copy of the checkout, and a bin folder with only the programs of any system."""
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


class Kept:
    """A folder that is put back as it was after each test: a copy takes twenty times as long as a command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        self.contents = {str(path): path.read_bytes() for path in files}
        self.states = self.read()

    def read(self) -> dict[str, tuple[int, ...]]:
        """Return the state of each path below the folder; of a folder only the mode."""
        found: dict[str, tuple[int, ...]] = {}
        for folder, folders, files in os.walk(self.folder):
            for path in (os.path.join(folder, name) for name in (*folders, *files)):
                state = os.lstat(path)
                found[path] = (state.st_mode, state.st_mtime_ns, state.st_size)
                if stat.S_ISDIR(state.st_mode):
                    found[path] = (state.st_mode,)
        return found

    def restore(self) -> None:
        """Remove what is new, and write what has changed."""
        now = self.read()
        for path in sorted(now.keys() - self.states.keys(), reverse=True):
            if Path(path).is_dir() and not Path(path).is_symlink():
                Path(path).rmdir()
            else:
                Path(path).unlink()
        for path, state in self.states.items():
            if now.get(path) != state:
                assert not stat.S_ISLNK(state[0]), f"{path} is a program of this machine"
                if path in self.contents:
                    Path(path).write_bytes(self.contents[path])
                    os.utime(path, ns=(state[1], state[1]))
                Path(path).chmod(state[0] & 0o7777)
        assert self.read() == self.states


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


def program(path: Path, text: str) -> None:
    """Write a shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def engine(bare: Path, *answers: str) -> Path:
    """Make an engine with a container of this stack in which no command works; return its log of commands.

    `answers` are further branches of a shell's `case` over its command.
    """
    log = bare.parent / "docker.log"
    program(
        bare.parent / "bin" / "docker",
        f"echo \"$*\" >>'{log}'\n"
        'case "$*" in ' + "\n".join(f"{answer} ;;" for answer in answers) + "\n"
        "info | 'compose version --short') ;;\n"
        f"*working_dir*) echo '{bare}' ;; ps*status=paused*|ps*health=*|ps*stack.namespace=*) ;;\n"
        "ps*.State}}*) printf '%s 1 running\\n' nginx backend ;; ps*) echo 1 ;;\n"
        "'inspect -f {{.Image}} '*) echo image ;;\n"
        "'compose ps'*|'compose config'*) ;; *) exit 1 ;; esac",
    )
    return log


def note(bare: Path, name: str, text: str) -> None:
    """Write a note as an earlier `make up` would have left it."""
    file = bare / ".run" / "proscenium" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
