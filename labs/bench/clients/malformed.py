"""How an SQLite file becomes malformed: the rules that its locks depend on, each broken on purpose.

    python3 -m labs.bench.clients.malformed '{"mistake": "copied", "remedy": false, "trials": 5}'

In each trial a transaction is so large that SQLite writes most of it to the file before the commit; the data
to undo it are in another file, the journal. Then comes the mistake, or its remedy. Nothing depends on timing.
https://www.sqlite.org/howtocorrupt.html lists these mistakes and more.
"""

import json
import multiprocessing
import os
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

ROWS = 400
CACHE = 10  # pages that SQLite caches before it writes some to the file, ahead of the commit
PATIENCE = 30.0  # seconds that a copy may wait for the transaction

forked = multiprocessing.get_context("fork")
spawned = multiprocessing.get_context("spawn")


def connect(file: Path, locks: bool = True, patience: float = 0.0) -> sqlite3.Connection:
    """Return a connection that commits only on COMMIT; if not `locks`, it takes no locks."""
    address = f"file:{file}" + ("" if locks else "?nolock=1")
    return sqlite3.connect(address, uri=True, timeout=patience, isolation_level=None)


def create(file: Path) -> None:
    """Create the file with which each trial begins: rows of a kilobyte, with an index."""
    with closing(connect(file)) as sql:
        sql.execute("CREATE TABLE task (number INTEGER PRIMARY KEY, value BLOB)")
        sql.execute("CREATE INDEX task_value ON task (value)")
        insert(sql, ROWS)


def insert(sql: sqlite3.Connection, rows: int) -> None:
    """Add rows, in the open transaction if there is one."""
    counting = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
    sql.execute(f"INSERT INTO task (value) {counting} SELECT randomblob(1000) FROM n", (rows,))  # noqa: S608  # a constant


def write(file: Path, locks: bool = True) -> None:
    """Act as another writer, which gives up if the locks work and the database is locked."""
    try:
        with closing(connect(file, locks)) as sql:
            insert(sql, ROWS)
    except sqlite3.OperationalError as error:
        print(f"the other writer: {error}", file=sys.stderr)


def elsewhere(file: Path, locks: bool = True) -> None:
    """Run the other writer in a process that shares nothing with this one."""
    process = spawned.Process(target=write, args=(file, locks))
    process.start()
    process.join()


def copied(sql: sqlite3.Connection, file: Path, remedy: bool) -> Path:
    """Copy the database like any other file. The remedy: let SQLite, which waits for the transaction."""
    copy = file.with_name("copy.db")
    if not remedy:
        shutil.copyfile(file, copy)
        return copy

    def vacuum() -> None:
        with closing(connect(file, patience=PATIENCE)) as reader:
            reader.execute("VACUUM INTO ?", (str(copy),))

    with ThreadPoolExecutor(1) as thread:
        copying = thread.submit(vacuum)
        sql.execute("COMMIT")
        copying.result()
    return copy


def closed(sql: sqlite3.Connection, file: Path, remedy: bool) -> Path:
    """Open the file again in the same process and close it, which drops all locks of the process.

    POSIX requires this: https://pubs.opengroup.org/onlinepubs/9799919799/functions/fcntl.html
    The remedy: access the file only through SQLite, which keeps such descriptors open.
    """
    if not remedy:
        os.close(os.open(file, os.O_RDONLY))
    elsewhere(file)
    return file


def nolock(sql: sqlite3.Connection, file: Path, remedy: bool) -> Path:
    """Write from a second process that takes no locks. The remedy: it takes them."""
    elsewhere(file, locks=remedy)
    return file


def forked_while_open(sql: sqlite3.Connection, file: Path, remedy: bool) -> Path:
    """Fork, as a daemon does, and use the connection on both sides. The remedy: the child opens its own."""

    def child() -> None:
        if remedy:
            write(file)
        else:
            with suppress(sqlite3.Error):  # the rows are committed, but the lock belongs to the parent
                insert(sql, ROWS)
                sql.execute("COMMIT")

    process = forked.Process(target=child)
    process.start()
    process.join()
    return file


# Each returns the file that is to be checked.
MISTAKES: dict[str, Callable[[sqlite3.Connection, Path, bool], Path]] = {
    "copied": copied,
    "closed": closed,
    "nolock": nolock,
    "forked": forked_while_open,
}


def trial(mistake: str, remedy: bool) -> str:
    """Make one trial with a new file; return "ok", or the error with which SQLite rejects the file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tasks.db"
        create(file)
        locks = remedy or mistake != "nolock"
        with closing(connect(file, locks)) as sql:
            sql.execute(f"PRAGMA cache_size = {CACHE}")
            sql.execute("BEGIN IMMEDIATE")
            sql.execute("UPDATE task SET value = randomblob(1200)")
            left = MISTAKES[mistake](sql, file, remedy)
            try:
                if sql.in_transaction:
                    sql.execute("COMMIT")
            except sqlite3.Error as error:
                print(f"the writer: {error}", file=sys.stderr)
        try:
            with closing(connect(left)) as sql:
                sql.execute("SELECT max(value) FROM task").fetchall()
                [[first], *_] = sql.execute("PRAGMA integrity_check").fetchall()
                return "ok" if first == "ok" else "integrity_check finds errors"
        except sqlite3.DatabaseError as error:
            return str(error)


def main() -> None:
    settings = json.loads(sys.argv[1])
    found = Counter(trial(settings["mistake"], settings["remedy"]) for _ in range(settings["trials"]))
    print(dict(found), file=sys.stderr)
    whole, trials = found["ok"], settings["trials"]
    print(json.dumps({"completed_percent": whole / trials * 100, "malformed_files": trials - whole}))


if __name__ == "__main__":
    main()
