"""`make` reads `.env` as Compose does, or refuses a line and names it."""

import json
import os
import random
import subprocess
from pathlib import Path

import pytest

from tests.stack import REPO

NAMES = ("A", "B", "C", "lower", "Z9")
PIECES = (
    *("word", "8080", " ", "  ", "\t", "#", " # comment", "'", '"', "\\", "\\n", '\\"', "\\'"),
    *("=", ":", "/", "é", "$A", "${B}", "${C:-d}", "$$", "`", "!", "\u00a0", "\r", "*", "?", "(x)"),
    *("~", ";", "&", "%20", "<", ">", "|", "{", "}", "[", "]", "^", "@"),
)
READ = """set -euo pipefail
die() { echo "$*" >&2; exit 1; }
. bin/lib/environment.sh
cd "$1"
load_env
printf '%s\\0' "${A-unset}" "${B-unset}" "${C-unset}" "${lower-unset}" "${Z9-unset}"
"""
WITHOUT = "docker() { false; }"  # where Compose is not installed
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}


def ours(
    folder: Path, before: str = "", environment: dict[str, str] = ENVIRONMENT, after: str = ""
) -> list[str] | str:
    """Return the values that the commands read, or why they refuse the file; and the output of `after`."""
    script = f"{before}\n{READ}{after}"
    # Bytes, not text, because a carriage return may be a part of a value.
    done = subprocess.run(
        ["bash", "-c", script, "read", folder], cwd=REPO, env=environment, capture_output=True
    )
    if done.returncode:
        return done.stderr.decode()
    return done.stdout.decode().split("\0")[: None if after else -1]


def theirs(folder: Path) -> list[str]:
    """Return the values that Compose reads; none if it refuses the file."""
    asked = "services: {}\nx-values:\n" + "".join(f'  - "${{{name}-unset}}"\n' for name in NAMES)
    done = subprocess.run(
        ["docker", "compose", "-f", "-", "config", "--format", "json"],
        cwd=folder,
        env=ENVIRONMENT,
        input=asked.encode(),
        capture_output=True,
    )
    if done.returncode:
        return []
    values: list[str] = json.loads(done.stdout)["x-values"]
    return [value.replace("$$", "$") for value in values]  # `config` prints a file for Compose


def draw(lines: random.Random) -> str:
    """Return a random line that sets one of the names."""
    text = "".join(lines.choices(PIECES, k=lines.randint(0, 5)))
    value = lines.choice([text, text, f'"{text}"', f"'{text}'", f'"{text}" # comment', f"'{text}'x"])
    before = lines.choice(["", "", "", "export ", "  ", "\t", "export\t"])
    return before + lines.choice(NAMES) + lines.choice(["=", "=", "=", " = ", "= ", ": "]) + value


@pytest.fixture(scope="module", autouse=True)
def _compose() -> None:
    if subprocess.run(["docker", "compose", "version"], capture_output=True).returncode:
        pytest.skip("Compose is not installed")


@pytest.mark.parametrize("seed", range(10))
def test_both_read_the_same_values(seed: int, tmp_path: Path) -> None:
    """Each of these files has five lines."""
    lines = random.Random(seed)
    end = lines.choice(["\n", "\n", "\r\n"])
    for _ in range(4):
        text = lines.choice(["", "\ufeff"]) + end.join(draw(lines) for _ in range(5)) + end
        (tmp_path / ".env").write_bytes(text.encode())
        read = ours(tmp_path)
        if isinstance(read, list):
            assert read == theirs(tmp_path), text
        elif theirs(tmp_path):  # only for this reason
            assert "the value of " in read, text
            assert "\\n" in text, text


@pytest.mark.parametrize(
    "line", ['A="C:\\\\new"', 'A="x" # of \\n', "export EDITOR", "A='\\'", 'A="\\""', "A", "\tA=1"]
)
def test_both_read_a_line_that_looks_odd(line: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"{line}\nB=2\n")
    read = ours(tmp_path)
    assert read == theirs(tmp_path) or (isinstance(read, str) and not theirs(tmp_path))


def test_the_name_of_the_stack_is_read_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("COMPOSE_PROJECT_NAME=two # the second copy\nA=$COMPOSE_PROJECT_NAME\n")
    read = ours(tmp_path, after="echo $COMPOSE_PROJECT_NAME")
    assert (read[0], read[-1]) == ("two", "two\n"), read


def test_of_two_lines_the_last_counts_without_compose_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# a comment\n\nA=first\nB='two words'\nC=\nA=last\n")
    hidden = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    for environment, first in ((hidden, "last"), (hidden | {"A": ""}, "")):
        assert ours(tmp_path, WITHOUT, environment) == [first, "two words", "", "unset", "unset"]


def test_a_line_that_only_compose_can_read_is_refused_without_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1 # comment\n")
    assert ours(tmp_path, WITHOUT) == (
        ".env, line 1: only Compose can read it, and it is not installed: write NAME=value or NAME='value'.\n"
    )
