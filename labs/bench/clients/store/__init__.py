"""The stores of labs/stores: each keeps values under keys that may occur several times.

A worker has a `Store`. `open_stores` opens those of one process; the settings say which kind it opens and
how: labs/stores/lab.toml has them all.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

MODULES = {"flat": "flat", "db": "berkeley", "cds": "berkeley", "lmdb": "mapped", "sqlite": "sqlite"}


class Store(Protocol):
    """One worker's access to a store. Every method may raise what the library raises."""

    def add(self, key: bytes, value: bytes) -> None:
        """Keep one more value under this key. Neither has a tab or a line feed."""

    def take(self, key: bytes) -> bytes | None:
        """Remove one value of this key and return it; None if there is none."""

    def sound(self) -> bool:
        """Whether the files are intact, by the library's own check; nothing else may use them during it."""

    def close(self) -> None:
        """Release what the store holds; nothing, if it has no file open between two calls."""
        return


def open_stores(settings: Mapping[str, Any], folder: Path, workers: int) -> Sequence[Store]:
    """A store for each of a process's workers; they may be one and the same.

    A kind's library is imported here, in the worker: its state in the process begins with the run.
    """
    module = import_module(f"bench.clients.store.{MODULES[settings['kind']]}")
    stores: Sequence[Store] = module.open_stores(settings, folder, workers)
    return stores
