"""A Git checkout of the present files, like a user's clone."""

import shutil
import subprocess
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


def copy_checkout(folder: Path) -> None:
    """Copy the project's files, committed or not, into a new checkout in which they count as shipped."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (REPO / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPO / name, folder / name)
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    commit(folder, "as shipped")


def commit(folder: Path, message: str) -> None:
    """Commit every change in the checkout, with this message."""
    author = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    for command in (["add", "-A"], [*author, "commit", "-qm", message]):
        subprocess.run(["git", *command], cwd=folder, check=True)
