"""Ctrl-C in commands that change a stack: they print its state, or what to type; nothing stays stopped."""

import os
import random
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.bare import engine, functions, program
from tests.stack import draw_ports
from tests.test_backup import RESTORE, old_backups

UP = ("ps*status=paused*|ps*health=*)", "ps*) echo 1", "exec*admin-password) echo secret", "*)")
# A command, and the engine's answers, in addition to the usual ones.
COMMANDS = [
    ("up", UP),
    ("stack down", ["'compose down'*)"]),
    ("stack clean", ["'compose down'*)"]),
    ("stack reload", ["*'/reload.sh'*)"]),
    ("stack purge", ["*'upstage purge'*)"]),
    ("stack reset", ["*'upstage stage reset'*)"]),
    ("backup", ["'exec -i 1 upstage backup') echo data", "*--check) cat >/dev/null; echo the data"]),
    ("restore", RESTORE),
]


@pytest.mark.parametrize(("command", "answers"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_an_interrupt_leaves_things_as_they_were_or_says_what_to_type(
    bare: Path, command: str, answers: list[str]
) -> None:
    (bare / ".run/logs").mkdir(parents=True, exist_ok=True)
    old_backups(bare, "proscenium-2020-01-01_10-00-00.tar.gz")
    settings = {name: str(port) for name, port in draw_ports().items()}
    *_, heard = interrupted(bare, command, answers, 1000, settings)
    for moment in random.sample(range(1, len(heard) + 1), 3):
        code, said, heard = interrupted(bare, command, answers, moment, settings)
        # 0 and 1: Bash has left the signal to a program, which then continued, or failed.
        assert code in (-signal.SIGINT, 0, 1, 130), (moment, heard, said)
        last = re.search(r"^(Interrupted|Failed: make reload).+\n\Z", said, re.M)
        assert code <= 0 or last, (moment, heard, said)
        stopped = [line for line in heard if re.match("stop |start ", line)]
        assert not stopped or stopped[-1].startswith("start"), (moment, heard)


@pytest.mark.parametrize(
    ("there", "again"), [(["bin/python"], True), (["bin/pip", "unfinished"], True), (["bin/pip"], False)]
)
def test_a_half_made_venv_is_made_again(bare: Path, there: list[str], again: bool) -> None:
    heard = bare.parent / "heard"
    (bare / ".venv" / "bin").mkdir(parents=True)
    for file in there:
        program(bare / ".venv" / file, "exit 0")
    makes = "printf '#!/bin/sh\\n' >.venv/bin/pip; chmod +x .venv/bin/pip; rm -f .venv/unfinished"
    python = f'echo "$*" >>{heard}; case $* in *venv*) {makes} ;; esac'
    program(bare.parent / "bin" / "python3", python)
    for _ in range(2):
        assert functions(bare, ". bin/lib/venv.sh; ensure_venv tests/requirements.lock").returncode == 0
    assert heard.read_text().count("-m venv --clear .venv") == again
    assert not (bare / ".venv" / "unfinished").exists()


def interrupted(
    bare: Path, command: str, answers: list[str], at: int, settings: dict[str, str]
) -> tuple[int, str, list[str]]:
    """Press Ctrl-C during the engine's `at`-th command; return status, errors, and the engine's commands."""
    log = engine(bare, f"*working_dir*) echo {bare}", *answers)
    log.write_text("")
    docker = bare.parent / "bin" / "docker"
    works = docker.rename(docker.with_name("works"))
    pressed = log.with_name("pressed")
    pressed.unlink(missing_ok=True)
    program(
        docker,
        f"if [ $(grep -c '' {log}) -ge {at - 1} ] && [ ! -e {pressed} ]; then\n"
        f'    echo "$*" >>{log}; : >{pressed}; kill -INT 0\n'
        f"fi\n. {works}",
    )
    script, *arguments = command.split()
    done = subprocess.run(
        [bare / "bin" / script, *arguments],
        env={"PATH": f"{docker.parent}:{os.environ['PATH']}", "HOME": "/nonexistent", "ALL": "1", **settings},
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    return done.returncode, done.stderr, log.read_text().splitlines()
