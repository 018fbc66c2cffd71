"""A flat file, a record in each line, as programs without a database keep their data."""

import fcntl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from bench.clients.store import Store


@contextmanager
def exclusive(file: Path) -> Iterator[None]:
    """Hold a lock that one worker at a time can have; each opens the file itself, so threads wait as well."""
    with file.open("a") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield


class Flat(Store):
    """`add` appends a line, `take` reads the file and writes it again without one."""

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
        """Whether every line is complete."""
        lines = self._file.read_bytes().splitlines(keepends=True)
        return all(line.count(b"\t") == 1 and line.endswith(b"\n") for line in lines)


def open_stores(settings: Mapping[str, Any], folder: Path, workers: int) -> Sequence[Store]:
    """Settings: `locked`, whether a lock keeps two workers apart."""
    return [Flat(folder, settings["locked"]) for _ in range(workers)]
