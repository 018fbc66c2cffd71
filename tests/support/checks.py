"""Run a command-line checker on the files of this checkout."""

import subprocess
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


def tracked(*patterns: str) -> list[str]:
    """The files of this checkout that git knows or would add."""
    listed = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns], cwd=REPO, text=True
    )
    return [name for name in listed.splitlines() if (REPO / name).exists()]


def check(*command: str | Path, **kwargs: object) -> str:
    """Run a checker; raise AssertionError with its whole output if it fails."""
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
