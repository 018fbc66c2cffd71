"""The stores of labs/stores: each keeps values under keys; a key may have several values.

A flat file, as programs without a database keep their data; SQLite with a journal or a write-ahead log, with
and without a busy timeout, and with a connection shared by threads. Each worker has a `Store`; `open_stores`
opens those of one process.
"""

import ctypes
import fcntl
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Protocol

SINGLE_THREAD = 1  # SQLITE_CONFIG_SINGLETHREAD: https://www.sqlite.org/threadsafe.html


class Store(Protocol):
    """One worker's access to a store. Every method may raise the library's errors."""

    def add(self, key: bytes, value: bytes) -> None:
        """Keep one more value under this key. Neither contains a tab or a line feed."""

    def take(self, key: bytes) -> bytes | None:
        """Remove one value of this key and return it; return None if there is none."""

    def sound(self) -> bool:
        """Return whether the library's own check finds the files intact; nothing else may use them then."""

    def close(self) -> None:
        """Release the store's resources; does nothing if it keeps no file open between two calls."""
        return


@contextmanager
def exclusive(file: Path) -> Iterator[None]:
    """Hold a lock that only one worker can hold; each opens the file itself, so threads wait, too."""
    with file.open("a") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield


class Flat(Store):
    """`add` appends a line; `take` reads the file and writes it again without one line."""

    def __init__(self, folder: Path, locked: bool) -> None:
        self._file, self._lock, self._locked = folder / "records", folder / "lock", locked
        self._file.touch()

    def _exclusive(self) -> Any:
        return exclusive(self._lock) if self._locked else nullcontext()

    def add(self, key: bytes, value: bytes) -> None:
        with self._exclusive(), self._file.open("ab") as file:
            file.write(key + b"\t" + value + b"\n")

    def take(self, key: bytes) -> bytes | None:
        with self._exclusive():
            lines = self._file.read_bytes().splitlines(keepends=True)
            for index, line in enumerate(lines):
                if line.startswith(key + b"\t"):
                    self._file.write_bytes(b"".join(lines[:index] + lines[index + 1 :]))
                    return line.partition(b"\t")[2].removesuffix(b"\n")
        return None

    def sound(self) -> bool:
        """Return whether every line is complete."""
        lines = self._file.read_bytes().splitlines(keepends=True)
        return all(line.count(b"\t") == 1 and line.endswith(b"\n") for line in lines)


def without_mutexes() -> None:
    """Switch off SQLite's own locks, as in a library compiled without threads."""
    library = ctypes.CDLL("libsqlite3.so.0")
    library.sqlite3_shutdown()
    if library.sqlite3_config(SINGLE_THREAD) != sqlite3.SQLITE_OK:
        raise RuntimeError("this SQLite cannot run without mutexes")
    library.sqlite3_initialize()


class Sqlite(Store):
    """One connection. `busy_timeout` is in seconds; `begin` is the type of transactions.

    A transaction that begins DEFERRED requests the right to write only when it first writes; by then another
    worker may have the right: https://www.sqlite.org/lang_transaction.html
    """

    def __init__(self, folder: Path, journal: str, busy_timeout: float, begin: str) -> None:
        self._begin = begin
        self._sql = sqlite3.connect(
            folder / "records.db", timeout=busy_timeout, isolation_level=None, check_same_thread=False
        )
        # The first connection, before the workers start, creates the file; others change nothing by this.
        [[now]] = self._sql.execute("PRAGMA journal_mode")
        if now != journal:
            self._sql.execute(f"PRAGMA journal_mode = {journal}")
        self._sql.execute(
            "CREATE TABLE IF NOT EXISTS task (number INTEGER PRIMARY KEY, key BLOB, value BLOB)"
        )

    def add(self, key: bytes, value: bytes) -> None:
        self._sql.execute("INSERT INTO task (key, value) VALUES (?, ?)", (key, value))

    def take(self, key: bytes) -> bytes | None:
        self._sql.execute(f"BEGIN {self._begin}")
        try:
            found = self._sql.execute(
                "SELECT number, value FROM task WHERE key = ? LIMIT 1", (key,)
            ).fetchone()
            if found:
                self._sql.execute("DELETE FROM task WHERE number = ?", found[:1])
            self._sql.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # SQLite may have rolled back already
                self._sql.execute("ROLLBACK")
            raise
        return found[1] if found else None

    def sound(self) -> bool:
        """Return whether SQLite's own check finds no error."""
        try:
            return self._sql.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        except sqlite3.DatabaseError:
            return False

    def close(self) -> None:
        self._sql.close()


class OneWriter(Store):
    """One connection in a separate thread, which does the workers' operations, as in the backend."""

    def __init__(self, store: Sqlite) -> None:
        self._store, self._thread = store, ThreadPoolExecutor(1)

    def add(self, key: bytes, value: bytes) -> None:
        self._thread.submit(self._store.add, key, value).result()

    def take(self, key: bytes) -> bytes | None:
        return self._thread.submit(self._store.take, key).result()

    def sound(self) -> bool:
        return self._store.sound()

    def close(self) -> None:
        self._thread.shutdown()
        self._store.close()


def open_stores(settings: Mapping[str, Any], folder: Path, workers: int) -> Sequence[Store]:
    """Return a store for each of a process's workers; several may be the same object.

    Settings of kind "flat": `locked`, whether a lock keeps the workers apart. Of kind "sqlite": the arguments
    of Sqlite, and `connections`: "each" worker has one; or one connection serves all, which use it at the
    same time ("shared"), at the same time in an SQLite without mutexes ("unprotected"), or through one thread
    ("one writer").
    """
    if settings["kind"] == "flat":
        return [Flat(folder, settings["locked"]) for _ in range(workers)]
    connections = settings["connections"]
    if connections == "unprotected":
        without_mutexes()

    def connect() -> Sqlite:
        return Sqlite(folder, settings["journal"], settings["busy_timeout"], settings["begin"])

    if connections == "one writer":
        return [OneWriter(connect())] * workers
    return [connect() for _ in range(workers)] if connections == "each" else [connect()] * workers
