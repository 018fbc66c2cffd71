"""Copies of a running server's data, for backups. The functions block."""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

# Seconds for copying a database, which usually takes milliseconds.
DATABASE_TIME = 3.0


class CopyError(Exception):
    """Data cannot be copied; the message says why."""


def copy_database(file: Path, copy: Path) -> None:
    """Copy a database to a new file that only its owner can read, and check the copy.

    SQLite's backup (https://www.sqlite.org/backup.html) only reads `file`, which keeps no writer waiting
    (WAL). Raise CopyError, sqlite3.Error, OSError.
    """
    copy.unlink(missing_ok=True)
    copy.touch(mode=0o600)  # the copy contains the accounts
    with (
        closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=1)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        target.execute("PRAGMA synchronous = OFF")
        source.backup(target, progress=give_up_after(DATABASE_TIME))
        target.execute("PRAGMA journal_mode = DELETE")
        [verdict] = target.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise CopyError(f"{file} is damaged: {' '.join(verdict.split())}")


def give_up_after(seconds: float) -> Callable[[int, int, int], None]:
    """Return a `progress` function that ends a backup: SQLite would wait for a locked database forever."""
    deadline = time.monotonic() + seconds

    def progress(status: int, remaining: int, total: int) -> None:
        if status != sqlite3.SQLITE_DONE and time.monotonic() > deadline:
            raise CopyError(f"a database was locked for {seconds:.0f} seconds")

    return progress


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the files below a folder by name, with size in bytes and date in ns since 1970; names with a
    leading dot, such as those of files that are being written, are left out.
    """
    found = {}
    for parent, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith("."):
                path = Path(parent, name)
                with suppress(FileNotFoundError):
                    info = path.stat(follow_symlinks=False)
                    found[str(path.relative_to(folder))] = info.st_size, info.st_mtime_ns
    return found


def fail(error: OSError) -> None:
    """Raise the error: a folder that cannot be read is not an empty one."""
    raise error
