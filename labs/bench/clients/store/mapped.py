"""LMDB, the nearest living relative of Berkeley DB: a memory-mapped B+ tree, with one writer at a time.

Several values of one key are limited to 511 bytes each (https://lmdb.readthedocs.io/), so what is stored is
the record's key and a random number.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lmdb  # type: ignore[import-not-found]  # from Debian's packages, in the lab's container only

from bench.clients.store import Store

SIZE = 64 << 20  # bytes of address space, more than the lab ever stores


class Mapped(Store):
    """Used by all threads of a process: LMDB must not be opened twice in one."""

    def __init__(self, folder: Path) -> None:
        self._lmdb = lmdb.open(str(folder / "lmdb"), map_size=SIZE)

    def add(self, key: bytes, value: bytes) -> None:
        with self._lmdb.begin(write=True) as transaction:
            transaction.put(key + b"/" + os.urandom(8), value)

    def take(self, key: bytes) -> bytes | None:
        with self._lmdb.begin(write=True) as transaction, transaction.cursor() as cursor:
            if not cursor.set_range(key + b"/") or not cursor.key().startswith(key + b"/"):
                return None
            value: bytes = cursor.value()
            cursor.delete()
            return value

    def sound(self) -> bool:
        """Whether every record can be read: LMDB has no check of its own."""
        with self._lmdb.begin() as transaction, transaction.cursor() as cursor:
            return all(value is not None for _, value in cursor)

    def close(self) -> None:
        self._lmdb.close()


def open_stores(settings: Mapping[str, Any], folder: Path, workers: int) -> Sequence[Store]:
    """No settings."""
    return [Mapped(folder)] * workers
