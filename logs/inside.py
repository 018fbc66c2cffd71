"""The logs where the services run: `bin/inside` finds them in containers and in native mode."""

import os
import subprocess
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
# The checkout whose stack is asked: this one, or a copy that an instructor judges (make class-check).
CHECKOUT = Path(os.environ.get("JUDGED_CHECKOUT", REPO))
LINES = "20000"  # of a service's log


class NotRunning(Exception):
    """A tool has failed; the text is its message."""


def inside(*arguments: str) -> str:
    """Return the output of `bin/inside`. Raise NotRunning if it fails."""
    done = subprocess.run(
        ["bin/inside", *arguments], cwd=REPO, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode:
        raise NotRunning(done.stderr.decode(errors="replace").strip())
    return done.stdout.decode(errors="replace")


def follow(*arguments: str, errors: int | None = None) -> "subprocess.Popen[str]":
    """Start a tool. It ends when its standard input closes, even if this process is killed."""
    return subprocess.Popen(
        ["bin/inside", *arguments],
        cwd=REPO,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C must reach only this process, which ends the tool and its children
    )
