"""Run commands, such as checkers, on the files of this checkout."""

import subprocess
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]


def tracked(*patterns: str) -> list[str]:
    """Return the files of this checkout that Git knows or would add."""
    listed = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns], cwd=REPO, text=True
    )
    return [name for name in listed.splitlines() if (REPO / name).exists()]


def ran(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command, in this checkout unless `cwd` says otherwise; return its exit code and output."""
    if "stderr" not in options:
        options["capture_output"] = True
    return subprocess.run(command, **{"cwd": REPO, "text": True, **options})


def check(*command: str | Path, **options: Any) -> str:
    """Run a command; return its output. Raise AssertionError with the output if it fails."""
    done = ran(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout
