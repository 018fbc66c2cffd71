"""Berkeley DB as a plain file, which Perl's DB_File opens, and with its Concurrent Data Store.

Reference: https://docs.oracle.com/cd/E17276_01/html/programmer_reference/cam.html
"""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from bsddb3 import db  # type: ignore[import-not-found]  # from Debian's packages, in the lab's container only

from bench.clients.store import Store
from bench.clients.store.flat import exclusive

NAME = "filt.db"  # the post's


def sound(file: Path) -> bool:
    """Whether Berkeley DB's own check finds nothing."""
    try:
        db.DB().verify(str(file))
    except db.DBError:
        return False
    return True


@contextmanager
def locked(descriptor: int) -> Iterator[None]:
    """Lock an open file; the lock ends here even if the library has failed and keeps the file open."""
    copy = os.dup(descriptor)
    try:
        fcntl.flock(copy, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(copy, fcntl.LOCK_UN)
        os.close(copy)


class PlainFile(Store):
    """The library without an environment: no locks, and a cache of pages for each handle.

    It is opened for each operation, as a program of many short processes does. `lock` is "none"; "late", the
    lock of the open file, which DB_File's manual once recommended; or "early", a lock of another file, taken
    before the library reads anything: https://perldoc.perl.org/DB_File#Locking:-The-Trouble-with-fd
    """

    def __init__(self, folder: Path, lock: str) -> None:
        self._file, self._lock_file, self._lock = folder / NAME, folder / "lock", lock

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with exclusive(self._lock_file) if self._lock == "early" else nullcontext():
            opened = db.DB()
            opened.set_flags(db.DB_DUP)
            opened.open(str(self._file), dbtype=db.DB_BTREE, flags=db.DB_CREATE)
            # Closing writes the changed pages, so the lock ends after it.
            with locked(opened.fd()) if self._lock == "late" else nullcontext(), closing(opened):
                yield opened

    def add(self, key: bytes, value: bytes) -> None:
        with self._opened() as opened:
            opened.put(key, value)

    def take(self, key: bytes) -> bytes | None:
        with self._opened() as opened:
            return take_at(opened.cursor(), key)

    def sound(self) -> bool:
        return sound(self._file)


class Concurrent(Store):
    """The post's way: an environment in which the library locks, one writer at a time.

    `delete` is "record", at a write cursor, which is also what the post's cds_lock() holds; or "key", the
    simple call, which deletes every record of the key.
    """

    def __init__(self, folder: Path, delete: str) -> None:
        self._file, self._delete = folder / NAME, delete
        self._environment = db.DBEnv()
        flags = db.DB_INIT_CDB | db.DB_INIT_MPOOL | db.DB_CREATE | db.DB_THREAD
        self._environment.open(str(folder), flags)
        self._db = db.DB(self._environment)
        self._db.set_flags(db.DB_DUP)
        self._db.open(NAME, dbtype=db.DB_HASH, flags=db.DB_CREATE | db.DB_THREAD)

    def add(self, key: bytes, value: bytes) -> None:
        self._db.put(key, value)

    def take(self, key: bytes) -> bytes | None:
        if self._delete == "record":
            return take_at(self._db.cursor(None, db.DB_WRITECURSOR), key)
        value: bytes | None = self._db.get(key)
        if value is not None:
            self._db.delete(key)
        return value

    def sound(self) -> bool:
        self._db.sync()
        return sound(self._file)

    def close(self) -> None:
        self._db.close()
        self._environment.close()


def take_at(cursor: Any, key: bytes) -> bytes | None:
    """Remove the first record of a key with a cursor, the only way to remove one of several."""
    try:
        found = cursor.set(key)
        if not found:
            return None
        cursor.delete()
        value: bytes = found[1]
        return value
    finally:
        cursor.close()


def open_stores(settings: Mapping[str, Any], folder: Path, workers: int) -> Sequence[Store]:
    """Settings: `lock` of kind "db", `delete` of kind "cds"."""
    if settings["kind"] == "db":
        return [PlainFile(folder, settings["lock"]) for _ in range(workers)]
    return [Concurrent(folder, settings["delete"]) for _ in range(workers)]
