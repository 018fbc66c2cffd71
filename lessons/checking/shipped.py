"""The files as they were shipped, and the files on the disk that differ from them.

Git's index is not used: it can be told to overlook a change.
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from proscenium.running import REPO

from .errors import StartAgain

CONFIGURATION = ("varnish", "nginx", "starter/varnish", "starter/nginx")  # the folders that a learner changes


@cache
def commit() -> str:
    """Return the commit that counts as shipped: the last one that this checkout shares with its origin or,
    without an origin, the one that was checked out when the first lesson began; never a learner's commit.

    Raise StartAgain.
    """
    try:
        return _git("merge-base", "HEAD", "refs/remotes/origin/HEAD").strip()
    except StartAgain:
        pinned = REPO / ".run" / os.environ["COMPOSE_PROJECT_NAME"] / "lessons" / "shipped"
        if not pinned.exists():
            head = _git("rev-parse", "HEAD")
            pinned.parent.mkdir(parents=True, exist_ok=True)
            pinned.write_text(head)
        return pinned.read_text().strip()


def shipped(path: str) -> str:
    """Return the shipped version of a file of nginx or Varnish. Raise StartAgain if there is none."""
    try:
        return _shipped()[path]
    except KeyError:
        raise StartAgain(f"{path} was not shipped.") from None


@cache
def _shipped() -> dict[str, str]:
    """Return all shipped files, by path; `git cat-file --batch` needs one command for all forty."""
    paths = (
        _git("ls-tree", "-r", "-z", "--name-only", commit(), "--", *CONFIGURATION).rstrip("\0").split("\0")
    )
    wanted = "".join(f"{commit()}:{path}\n" for path in paths)
    packed = _git_bytes("cat-file", "--batch", given=wanted)
    found = {}
    for path in paths:
        head, _, packed = packed.partition(b"\n")
        size = int(head.split()[-1])
        found[path], packed = packed[:size].decode(errors="replace"), packed[size + 1 :]
    return found


def changed_files(paths: Iterable[str]) -> list[str]:
    """Return which of these files, or of the files in these folders, differ from the shipped ones or are new.

    Raise StartAgain.
    """
    listed = _git("ls-tree", "-r", "-z", commit(), "--", *paths).split("\0")
    sums = {path: head.split()[2] for head, _, path in (line.partition("\t") for line in listed if line)}
    here = [REPO / path for path in paths]
    found = [path for one in here for path in (one, *one.rglob("*")) if path.is_file()]
    names = {str(path.relative_to(REPO)) for path in found if "__pycache__" not in path.parts}
    return sorted(path for path in sums.keys() | names if path not in names or _sum(path) != sums.get(path))


def _sum(path: str) -> str:
    """Return Git's name for a file's content with Unix line ends, without the filters of Git's settings."""
    content = (REPO / path).read_bytes().replace(b"\r\n", b"\n")
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def restore(patch: Path) -> list[str]:
    """Restore the configuration; keep the removed changes as a patch. Return the files that differed.

    Raise StartAgain.
    """
    changed = changed_files(CONFIGURATION)
    if changed:
        new = [path for path in changed if not _git("ls-tree", commit(), "--", path)]
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": f"{folder}/index"}  # the learner's index keeps its own marks
            _git("read-tree", commit(), **index)
            if new:
                _git("add", "--force", "--intent-to-add", "--", *new, **index)
            patch.parent.mkdir(parents=True, exist_ok=True)
            patch.write_bytes(_git_bytes("diff", commit(), "--", *changed, **index))
            _git("checkout-index", "--force", "--", *(path for path in changed if path not in new), **index)
        for path in new:
            (REPO / path).unlink(missing_ok=True)
    return changed


def _git(*arguments: str, **environment: str) -> str:
    """Return the output of a Git command. Raise StartAgain with its message if it fails."""
    return _git_bytes(*arguments, **environment).decode(errors="surrogateescape")


def _git_bytes(*arguments: str, given: str = "", **environment: str) -> bytes:
    settings = {**os.environ, "GIT_NO_REPLACE_OBJECTS": "1", **environment}
    done = subprocess.run(
        ["git", *arguments], cwd=REPO, env=settings, input=given.encode(), capture_output=True
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        if "not a git repository" in said:
            said = "The lessons compare files with the shipped ones: that needs a clone, not an archive."
        raise StartAgain(said)
    return done.stdout
