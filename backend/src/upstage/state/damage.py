"""A damaged database: found before the server opens it, and kept because parts may be readable."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from upstage.state.database import FILE, LOCK_TIME

DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def find_damage(folder: Path) -> str:
    """Return a description of the damage to the database in `folder`; empty if it is sound or missing.

    It reads the whole file: 10 ms for each MB. Raise sqlite3.Error if it cannot be read.
    """
    if not (folder / FILE).exists():
        return ""
    try:
        with closing(sqlite3.connect(folder / FILE, timeout=LOCK_TIME)) as sql:
            [found, *_] = sql.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in DAMAGED:
            raise
        found = str(error)
    return "" if found == "ok" else " ".join(found.split())


def set_aside(folder: Path) -> Path:
    """Rename the database and SQLite's files beside it; return the new path."""
    kept = folder / f"damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}.db"
    for suffix in ("-wal", "-shm", ""):  # the database last: until it is renamed, all can be repeated
        if (folder / f"{FILE}{suffix}").exists():
            (folder / f"{FILE}{suffix}").rename(f"{kept}{suffix}")
    return kept
