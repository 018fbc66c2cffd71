"""The files as they were shipped, and what differs from them on the disk.

Git's index is not asked: it can be told to overlook a change.
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from logs.inside import CHECKOUT, REPO

from .errors import StartAgain

CONFIGURATION = ("varnish", "nginx")  # the folders that a learner changes


@cache
def commit() -> str:
    """The commit that counts as shipped: the last one that this checkout shares with its origin. Without an
    origin, the one that was checked out when the first lesson began. Commits of the learner are neither.

    Raise StartAgain.
    """
    if CHECKOUT != REPO:  # the instructor's own commit that the copy was made from
        copied = _git("-C", str(CHECKOUT), "rev-parse", "refs/remotes/origin/HEAD").strip()
        return _git("merge-base", "HEAD", copied).strip()
    try:
        return _git("merge-base", "HEAD", "refs/remotes/origin/HEAD").strip()
    except StartAgain:
        pinned = CHECKOUT / ".run" / os.environ["COMPOSE_PROJECT_NAME"] / "lessons" / "shipped"
        if not pinned.exists():
            head = _git("rev-parse", "HEAD")
            pinned.parent.mkdir(parents=True, exist_ok=True)
            pinned.write_text(head)
        return pinned.read_text().strip()


@cache
def shipped(path: str) -> str:
    """The shipped version of a file. Raise StartAgain if there is none."""
    return _git("show", f"{commit()}:{path}")


def changed_files(folders: Iterable[str]) -> list[str]:
    """The files in these folders that differ from the shipped ones, including new files. Raise StartAgain."""
    listed = _git("ls-tree", "-r", "-z", commit(), "--", *folders).split("\0")
    sums = {path: head.split()[2] for head, _, path in (line.partition("\t") for line in listed if line)}
    here = {
        str(path.relative_to(CHECKOUT))
        for folder in folders
        for path in (CHECKOUT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    return sorted(path for path in sums.keys() | here if path not in here or _sum(path) != sums.get(path))


def _sum(path: str) -> str:
    """Git's name for the content of a file with Unix line ends, without the filters of its settings."""
    content = (CHECKOUT / path).read_bytes().replace(b"\r\n", b"\n")
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def restore(patch: Path) -> list[str]:
    """Restore the configuration; keep what is removed as a patch. Return the files that differed.

    Raise StartAgain.
    """
    changed = changed_files(CONFIGURATION)
    if changed:
        new = [path for path in changed if not _git("ls-tree", commit(), "--", path)]
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": f"{folder}/index"}  # the learner's own may have marks, and keeps them
            _git("read-tree", commit(), **index)
            if new:
                _git("add", "--force", "--intent-to-add", "--", *new, **index)
            patch.parent.mkdir(parents=True, exist_ok=True)
            patch.write_text(_git("diff", commit(), "--", *changed, **index))
            _git("checkout-index", "--force", "--", *(path for path in changed if path not in new), **index)
        for path in new:
            (REPO / path).unlink(missing_ok=True)
    return changed


def _git(*arguments: str, **environment: str) -> str:
    """Return what a Git command prints. Raise StartAgain with its message if it fails."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=REPO,
        env={**os.environ, "GIT_NO_REPLACE_OBJECTS": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip()
        if "not a git repository" in said:
            said = "The lessons compare files with the shipped ones: that needs a clone, not an archive."
        raise StartAgain(said)
    return done.stdout
